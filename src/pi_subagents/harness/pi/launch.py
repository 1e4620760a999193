"""Starting `pi`: what its modes have in common, from arguments and environment to the files it will look for."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pi_subagents.extension import API_KEY_EXTENSION, COPILOT_EXTENSION
from pi_subagents.harness.contract import Invocation, Launch, RunFile
from pi_subagents.harness.pi.arguments import profile_arguments
from pi_subagents.harness.pi.versions import line_of, mcp_restriction
from pi_subagents.models.profile import Profile
from pi_subagents.redaction import Redactor, secrets_in

SESSION_FILE = "child-session.jsonl"
PROMPT_FILE = "prompt.md"
_MAX_DEPTH_DIGITS = 9
SYSTEM_PROMPT_FILE = "system-prompt.md"
APPENDED_PROMPT_FILE = "append-system-prompt.md"
OVERLAY_DIR = "agent-dir"
"""A private stand-in for the agent directory, made only for a profile with its own API key."""

DEPTH_VARIABLE = "PI_SUBAGENTS_DEPTH"
MAX_DEPTH_VARIABLE = "PI_SUBAGENTS_MAX_DEPTH"
"""Up to which depth agents may start others; the extension in a child registers no tools where that is reached."""
COPILOT = "github-copilot"


def approval_arguments(trusted: bool | None) -> list[str]:
    """What tells `pi` whether to trust the place it works in; nobody can be asked there, which would count as no."""
    return [] if trusted is None else ["--approve" if trusted else "--no-approve"]


def pi_invocation(launch: Launch, mode: tuple[str, ...], stdin: bytes, *, interactive: bool = False) -> Invocation:
    """How to start `pi` for one task in the mode that these arguments choose."""
    profile = launch.profile
    arguments = [*mode, "--session", str(launch.run_dir / SESSION_FILE)]
    # A prompt that begins with `/` would otherwise be taken for a template of that name.
    arguments.append("--no-prompt-templates")
    arguments += approval_arguments(launch.trusted)
    if profile is not None and profile.api_key is not None:
        arguments += ["--extension", str(API_KEY_EXTENSION)]
    if _may_speak_to_copilot(launch):
        arguments += ["--extension", str(COPILOT_EXTENSION)]
    if profile is not None:
        if profile.restricts_tools:
            # First, as the profile's own arguments may end with `--` or with a flag that takes the next word.
            named = () if profile.no_tools else profile.tools or ()
            arguments += mcp_restriction(named, line_of(launch.version))
        arguments += _profile_arguments(profile, launch)
    return Invocation(
        argv=(*launch.program, *arguments),
        environ=_environ(launch),
        cwd=launch.cwd,
        stdin=stdin,
        interactive=interactive,
        files=tuple(_files(launch)),
        temporary=(OVERLAY_DIR,),
        written_by_agent=(SESSION_FILE,),
        secrets=frozenset(_secrets(launch)),
    )


def _profile_arguments(profile: Profile, launch: Launch) -> list[str]:
    system = str(launch.run_dir / SYSTEM_PROMPT_FILE) if profile.system_prompt else None
    appended = str(launch.run_dir / _appended_file(profile)) if profile.append_system_prompt else None
    return profile_arguments(profile, system_prompt=system, append_system_prompt=appended)


def _environ(launch: Launch) -> dict[str, str]:
    environ = dict(launch.environ)
    agent_dir = str(launch.agent_dir)
    profile = launch.profile
    environ.pop("PI_API_KEY", None)
    if profile is not None and profile.api_key is not None:
        agent_dir = str(launch.run_dir / OVERLAY_DIR)
        environ["PI_API_KEY"] = profile.api_key.reveal()
    environ["PI_AGENT_DIR"] = environ["PI_CODING_AGENT_DIR"] = agent_dir
    environ["PI_SUBAGENTS_CHILD"] = "1"
    environ[DEPTH_VARIABLE] = str(depth_in(environ) + 1)
    environ["PI_SKIP_VERSION_CHECK"] = "1"
    environ[MAX_DEPTH_VARIABLE] = str(launch.max_depth)
    return environ


def _may_speak_to_copilot(launch: Launch) -> bool:
    # Without a provider pi chooses the model. The extension looks at what it chose, but loading it costs a start time.
    provider = launch.profile.model_provider if launch.profile else None
    return provider == COPILOT or (provider is None and launch.has_copilot)


def depth_in(environ: Mapping[str, str]) -> int:
    """How many sub-agents are above a process with this environment: 0 for a person's own agent."""
    value = environ.get(DEPTH_VARIABLE, "0")
    return int(value[:_MAX_DEPTH_DIGITS]) if value.isdecimal() else 0


def _secrets(launch: Launch) -> set[str]:
    secrets = secrets_in(launch.environ)
    if launch.profile is not None and launch.profile.api_key is not None:
        secrets.add(launch.profile.api_key.reveal())
    return secrets


def _files(launch: Launch) -> list[RunFile]:
    # The prompt itself goes to standard input; its file is a record like any other.
    prompt = Redactor(_secrets(launch)).record(launch.prompt.encode("utf-8", "replace"))
    # pi keeps the mode of a file that exists, so the session is made here, private from its first byte.
    files = [RunFile(SESSION_FILE, launch.conversation), RunFile(PROMPT_FILE, prompt)]
    profile = launch.profile
    if profile is None:
        return files
    if profile.system_prompt:
        files.append(RunFile(SYSTEM_PROMPT_FILE, profile.system_prompt.encode()))
    if profile.append_system_prompt:
        files.append(RunFile(_appended_file(profile), profile.append_system_prompt.encode()))
    if profile.api_key is not None:
        files += _overlay(profile, launch)
    return files


def _appended_file(profile: Profile) -> str:
    # The instructions of an agent are in one well-known place, unless it has two kinds of them.
    return APPENDED_PROMPT_FILE if profile.system_prompt else SYSTEM_PROMPT_FILE


def _overlay(profile: Profile, launch: Launch) -> list[RunFile]:
    # A stored credential would win over any variable, so this run sees an auth.json of its own. The provider is
    # not always known here; the extension adds it once pi has chosen a model.
    provider = profile.model_provider
    credentials = {provider: {"type": "api_key", "key": "!printenv PI_API_KEY"}} if provider else {}
    files = [RunFile(f"{OVERLAY_DIR}/auth.json", json.dumps(credentials).encode())]
    files += [
        RunFile(f"{OVERLAY_DIR}/{name}", link_to=launch.agent_dir / name)
        for name in launch.agent_dir_entries
        if not name.startswith("auth.json")
    ]
    return files
