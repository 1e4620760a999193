"""The harness for agents that speak ACP: starts each as its entry in `agents.py` says.

Without `inherit` an agent gets its own configuration in the run directory, with a link to the user's login and nothing
else of the user's. Its permission requests are denied by default, as its own mode for scripts would do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.harness.acp.agents import AGENTS, AcpAgent
from pi_subagents.harness.acp.dialogue import AcpDialogue
from pi_subagents.harness.acp.permissions import own_rules, sub_agent_rules
from pi_subagents.harness.acp.setup import OPENING, Brief
from pi_subagents.harness.agent import Agent, Probe, agent_environ
from pi_subagents.harness.contract import (
    AGENT_HOME,
    SYSTEM_PROMPT_FILE,
    Conversation,
    Dialogue,
    Invocation,
    Launch,
    RunFile,
    UnknownTool,
)
from pi_subagents.harness.programs import file_there, named_above, secrets_in_login
from pi_subagents.models.task import Profile
from pi_subagents.text.wording import did_you_mean

if TYPE_CHECKING:
    from pi_subagents.place import Place


class Acp(Agent):
    """The harness for one of these agents, by name."""

    def __init__(self, name: str) -> None:
        agent = self._agent = AGENTS[name]
        self.name, self.honours, self.reports, self.log_in = name, agent.honours, agent.reports, agent.log_in
        private = (name for name, value in agent.private.items() if value.startswith("$home"))
        self.keeps_in = (*Agent.keeps_in, *private, *agent.shared)
        self.conversation_files, self.can_steer = agent.conversation_files, agent.joins_prompts

    def credentials(self, place: Place) -> str | None:
        """A key or a provider in the environment, or a login."""
        if named := next((name for name in self._agent.keys if place.environ.get(name)), None):
            return f"key in {named}"
        for name, said in self._agent.providers.items():
            if (value := place.environ.get(name)) and said in value:
                return f"provider set in {name}"
        return "logged in" if _login(self._agent, place.environ) else None

    def environ(self, place: Place) -> dict[str, str]:
        """With the variables that a run sets too, except those that depend on the run."""
        quiet = {name: value for name, value in self._agent.variables.items() if not value.startswith("$")}
        return {**super().environ(place), **quiet}

    def probe(self) -> Probe:
        """It answers the first request without asking a model."""
        return Probe(self._agent.arguments, OPENING, '"protocolVersion"')

    def refuses(self, profile: Profile) -> str | None:
        """Arguments that could lift a restriction, and contradictions."""
        if profile.extra_args and profile.restricts_tools:
            return 'restricts tools and sets "extraArgs", which could lift the restriction; use profile fields instead'
        if profile.inherit and profile.no_context_files:
            return 'sets "inherit", which loads context files, but also forbids them'
        if profile.api_key and "provider" in self.honours and not profile.model_provider:
            return 'sets "apiKey", but not for which provider: write the model as "provider/model"'
        if profile.inherit and profile.api_key and self._agent.records_keys:
            return (
                f'sets "apiKey" and "inherit"; {self.name} would record what its tools print in your own directory, '
                "where the key would not be removed"
            )
        lost = self._agent.lost_inheriting.items() if profile.inherit else ()
        if names := ", ".join(f'"{key}"' for field, key in lost if getattr(profile, field) not in (None, False)):
            return f'sets {names}, which {self.name} can be told only without "inherit"'
        return None

    def refuses_place(self, profile: Profile | None, place: Place, cwd: Path) -> str | None:
        """A project that is not trusted, where nothing keeps it from running what the project's files name."""
        inherits = profile is not None and profile.inherit
        if self._agent.heeds_project == "never" or (self._agent.heeds_project == "inheriting" and not inherits):
            return None
        names = self._agent.heeded_files
        if (objection := place.objection(cwd)) is None or (names and not named_above(cwd, names, place.environ)):
            return None
        who = f'With "inherit", {self.name}' if self._agent.heeds_project == "inheriting" else self.name
        return f"{who} runs the commands that a project names, which it may not do here, {objection}"

    def can_continue(self, conversation: Conversation, profile: Profile | None) -> bool:
        """If it has an id and an answer, and is where the agent looks for it."""
        is_elsewhere = profile is not None and profile.inherit and not self._agent.keeps_inheriting
        is_answered = any(self._agent.answered_by in file for file in conversation.files.values())
        return bool(conversation.id) and is_answered and not is_elsewhere

    def unknown_tools(self, profile: Profile, cwd: Path, agent_dir: Path) -> Iterator[UnknownTool]:
        """Names that are neither ours nor its own; the agent would read an unknown name as "no tools at all"."""
        for key, names in (("tools", profile.tools), ("excludeTools", profile.exclude_tools)):
            for name in names or ():
                if self._agent.own_name(name) is None:
                    yield UnknownTool(key, name, did_you_mean(name, [tool.name for tool in self._agent.tools.values()]))

    def invocation(self, launch: Launch) -> Invocation:
        """How to start it for one task; the prompt is sent once it is set up."""
        agent, profile = self._agent, launch.profile or Profile(name="")
        values = _values(agent, launch, profile)
        environ = _environ(agent, launch, profile, values)
        settings = _settings(agent, profile, values)
        if agent.settings_in.isupper():
            environ[agent.settings_in] = _with_given(agent, profile, settings, environ.get(agent.settings_in))
        options = (_filled(option, values) for option in agent.options)
        brief = Brief(
            cwd=str(launch.cwd),
            prompt=launch.prompt,
            conversation=launch.conversation.id if launch.conversation else None,
            model=values["model"] if agent.sets_model else None,
            level=profile.thinking_level,
            mode=profile.mode if agent.sets_mode else None,
        )
        return Invocation(
            argv=(
                *launch.program.argv,
                *agent.arguments,
                *(
                    word
                    for option, words in zip(agent.options, options, strict=True)
                    if len(words) == len(option)
                    for word in words
                ),
                *(profile.extra_args or ()),
            ),
            environ=environ,
            cwd=launch.cwd,
            stdin=OPENING,
            interactive=True,
            files=tuple(_files(agent, launch, profile, settings)),
            temporary=(AGENT_HOME,),
            written_by_agent=agent.conversation_files,
            secrets=launch.secrets | secrets_in_login(_login(agent, launch.environ)),
            brief=msgspec.to_builtins(brief),
            approvals=profile.approvals or "deny",
        )

    def dialogue(self, invocation: Invocation) -> Dialogue:
        return AcpDialogue(self._agent, Brief(**invocation.brief))


def _values(agent: AcpAgent, launch: Launch, profile: Profile) -> dict[str, Any]:
    """The values that an agent's entry may name as `$name`; whatever is None is left out."""
    model, restricted = profile.model, profile.no_tools or profile.tools is not None
    offered = [agent.own_name(name) for name in profile.tools or ()] if not profile.no_tools else []
    excluded = [agent.own_name(name) for name in profile.exclude_tools or ()]
    switches: dict[str | None, bool] = {"*": False} if restricted else {}
    if profile.inherit:  # sub-agents that the user has configured may do more, and ask where nobody hears it
        switches |= dict.fromkeys(agent.delegating, False)
    switches |= {**dict.fromkeys(offered, True), **dict.fromkeys(excluded, False)}
    has_own_agent = profile.restricts_tools or profile.system_prompt or profile.approvals
    return {
        "home": str(launch.run_dir / AGENT_HOME),
        "model": f"{profile.provider}/{model}" if model and profile.provider and "/" not in model else model,
        "mode": profile.mode,
        "mode_told": profile.mode or agent.default_mode,
        "default_mode": agent.default_mode if profile.mode is None and has_own_agent else None,
        "auth": next((kind for variable, kind in agent.auth if _is_given(agent, launch, profile, variable)), None),
        "system_prompt": profile.system_prompt or None,
        "system_file": str(launch.run_dir / SYSTEM_PROMPT_FILE) if profile.system_prompt else None,
        "appended_file": str(launch.run_dir / agent.appended_in) if profile.append_system_prompt else None,
        "offered_tools": (offered or ["none"]) if restricted else None,
        "excluded_tools": excluded or None,
        "tool_switches": switches or None,
        "max_turns": profile.max_turns,
        "skill_folders": ",".join(launch.skill_folders) or None,
        "own_rules": own_rules(launch, profile, switches),
        "sub_agent_rules": sub_agent_rules(launch, profile, switches),
        "keyed_provider": _keyed_provider(profile, agent.key),
    }


def _keyed_provider(profile: Profile, variable: str | None) -> dict[str, Any] | None:
    """Opencode's settings that take the key of the profile's provider from a variable, as no file may contain it."""
    if profile.api_key is None or profile.model_provider is None:
        return None
    return {profile.model_provider: {"options": {"apiKey": f"{{env:{variable}}}"}}}


def _environ(agent: AcpAgent, launch: Launch, profile: Profile, values: Mapping[str, Any]) -> dict[str, str]:
    """The environment of a run, without what the user says there that would count more than the profile."""
    unheard = {
        *(() if profile.inherit else agent.unheard),
        *(() if profile.inherit and profile.approvals is None else agent.permissive),
    }
    environ = {name: value for name, value in agent_environ(launch).items() if name not in unheard}
    environ["TMPDIR"] = f"{values['home']}/tmp"  # agents leave megabytes in there, and sometimes keys
    environ |= _filled(agent.variables, values)
    if not profile.inherit:
        environ |= _filled(agent.private, values)
    if not profile.inherit or launch.place.objection(launch.cwd):
        environ |= _filled(agent.against_project, values)
    if profile.api_key is not None and (variable := agent.key_in(environ)):
        environ[variable] = profile.api_key.reveal()
    return environ


def _settings(agent: AcpAgent, profile: Profile, values: Mapping[str, Any]) -> dict[str, Any]:
    own: dict[str, Any] = {} if profile.inherit else _filled(agent.private_settings, values)
    said: dict[str, Any] = _filled(agent.settings, values)
    return {**own, **{name: _joined(own.get(name), value) for name, value in said.items()}}


def _joined(first: Any, second: Any) -> Any:
    return {**first, **second} if isinstance(first, dict) and isinstance(second, dict) else second


def _is_given(agent: AcpAgent, launch: Launch, profile: Profile, variable: str) -> bool:
    if not variable:
        return _login(agent, launch.environ) is not None
    return bool(launch.environ.get(variable)) or (variable == agent.key and profile.api_key is not None)


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Part of an agent's entry, with `$name` replaced by the values of the run."""
    if isinstance(template, Mapping):
        filled = {_filled(key, values): _filled(value, values) for key, value in template.items()}
        return {key: value for key, value in filled.items() if value is not None and value != {}}
    if isinstance(template, tuple):
        return [value for item in template if (value := _filled(item, values)) is not None]
    if isinstance(template, str) and template.startswith("$home/"):
        return values["home"] + template.removeprefix("$home")
    return values[template.removeprefix("$")] if isinstance(template, str) and template.startswith("$") else template


def _with_given(agent: AcpAgent, profile: Profile, settings: dict[str, Any], given: str | None) -> str:
    """The settings for a variable, on top of the given ones: with `inherit` all, else those in `given_settings`."""
    before: dict[str, Any] = {}
    if given:
        with suppress(JsonError):  # the agent could not read it either
            before = decode_json(given.encode(), dict[str, Any])
    kept = {key: value for key, value in before.items() if profile.inherit or key in agent.given_settings}
    return msgspec.json.encode(_merged(kept, settings)).decode()


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    both = {
        key: _merged(below[key], above[key]) for key in below.keys() & above if _are_objects(below[key], above[key])
    }
    return {**below, **above, **both}


def _are_objects(*values: Any) -> bool:
    return all(isinstance(value, dict) for value in values)


def _files(agent: AcpAgent, launch: Launch, profile: Profile, settings: dict[str, Any]) -> Iterator[RunFile]:
    yield RunFile(f"{AGENT_HOME}/tmp/.keep")  # created by us, so that it is tidied up even if we are killed
    if instructions := profile.system_prompt or profile.append_system_prompt:
        yield RunFile(SYSTEM_PROMPT_FILE, instructions.encode())
    if profile.append_system_prompt:
        yield RunFile(agent.appended_in, profile.append_system_prompt.encode())
    if agent.settings_in and not agent.settings_in.isupper() and not profile.inherit:
        yield RunFile(f"{AGENT_HOME}/{agent.settings_in}", msgspec.json.encode(settings))
    for name, text in ({} if profile.inherit else agent.files).items():
        yield RunFile(f"{AGENT_HOME}/{name}", text.encode())
    yield from _kept(agent, launch.conversation.files if launch.conversation else {})
    if agent.login and not profile.inherit and profile.api_key is None and (login := _login(agent, launch.environ)):
        yield RunFile(f"{AGENT_HOME}/{agent.login[2]}", link_to=login)


def _kept(agent: AcpAgent, files: Mapping[str, bytes]) -> Iterator[RunFile]:
    """The files of an earlier conversation, with names that the agent does not use again."""
    aged: dict[str, bytes] = {}
    for name, content in files.items():
        name = re.sub(agent.aged, "2000-01-01T00-00", name) if agent.aged else name
        # Gemini goes on in the file that it was given, and begins another one that stays empty.
        aged[name] = max(aged.get(name, b""), content, key=len)
    return (RunFile(name, content) for name, content in aged.items())


def _login(agent: AcpAgent, environ: Mapping[str, str]) -> Path | None:
    """The file of the user's own login, if there is one."""
    if agent.login is None:
        return None
    variable, _, folder = agent.login[0].partition(":")
    path = Path(environ.get(variable) or Path(environ.get("HOME", "/"), folder)) / agent.login[1]
    return path if file_there(path) else None
