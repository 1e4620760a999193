"""How the agent of a task is to be, where the task names a profile, a preset, a model or a thinking level.

Loaded only for such tasks: profiles and skills take a while to load and to find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from pi_subagents.delegation.planning import Configuration, Problem, harness_for, joined
from pi_subagents.encoding import as_utf8
from pi_subagents.errors import ProfileError
from pi_subagents.files import is_below
from pi_subagents.harness import (
    AGENTS,
    DEFAULT_AGENT,
    DEFAULT_HARNESS,
    PI_HARNESSES,
    Harness,
    agent_of,
    harness_named,
)
from pi_subagents.harness.capabilities import fields_taken
from pi_subagents.harness.pi.arguments import BUILTIN_TOOLS
from pi_subagents.harness.table import harness_for_agent
from pi_subagents.models import Profile, Task, ThinkingLevel
from pi_subagents.place import Place
from pi_subagents.profiles import (
    PRESET,
    PROFILE,
    Format,
    Models,
    UncheckedModels,
    UnknownModel,
    UnknownProfile,
    check_own_model,
    choose_model,
    find_agent,
    objection_to,
    profile_summary,
    refusal,
)
from pi_subagents.profiles.fields import FIELDS
from pi_subagents.skills import Skill, UnknownSkill, check_skills, discover_skills, resolve_skills
from pi_subagents.text.wording import did_you_mean
from pi_subagents.trust import trust_command


class Configurator:
    """Makes each profile of a call ready, and looks for skills, at most once in each directory."""

    def __init__(
        self, place: Place, harness: Harness, available_tools: Sequence[str], models: Callable[[], Models] | None
    ) -> None:
        self._place = place
        self._harness = harness
        self._available_tools = available_tools
        self._models = models or UncheckedModels
        self._skills: dict[tuple[Path, bool], dict[str, Skill]] = {}
        self._resolved: dict[tuple[str, str, str | None, Path], Profile | UnknownSkill] = {}

    def configure(self, task: Task, preset: str | None, profile: str | None, cwd: Path) -> Configuration:
        """What the task's agent will get, or why it cannot have it; raises ProfileError."""
        if task.agent and task.agent not in AGENTS:
            sentence = f'Unknown agent: "{as_utf8(task.agent)}". Available agents: {", ".join(AGENTS)}'
            return Configuration(problems=(Problem(sentence, did_you_mean(task.agent, AGENTS)),))
        chosen = self._chosen(task, preset, profile, cwd)
        harness = self._harness_for(chosen.profile)
        chosen = msgspec.structs.replace(chosen, note=joined(chosen.note, _level_note(chosen.profile, harness)))
        return msgspec.structs.replace(chosen, problems=(*chosen.problems, *_not_heard(task, harness)))

    def _chosen(self, task: Task, preset: str | None, profile: str | None, cwd: Path) -> Configuration:
        wanted = as_utf8(task.model or "") or None
        if preset is not None:
            chosen = self._with_model(self._resolve(PRESET, preset, task.agent, cwd), wanted)
        elif profile:
            chosen = self._resolve(PROFILE, profile, task.agent, cwd)
            chosen = self._with_model(chosen, wanted) if wanted else self._with_own_model(chosen)
        elif wanted:
            chosen = self._with_model(Configuration(self._by(task.agent, _NOTHING_SAID)), wanted)
        elif task.agent or task.thinking_level:
            chosen = Configuration(self._by(task.agent, _NOTHING_SAID))
        else:
            chosen = Configuration()
        return _with_thinking(chosen, as_utf8(task.thinking_level)) if task.thinking_level else chosen

    def _with_own_model(self, chosen: Configuration) -> Configuration:
        if chosen.profile is None:
            return chosen
        try:
            model = check_own_model(chosen.profile, self._models_for(chosen.profile))
        except UnknownModel as unknown:
            return chosen.with_problem(unknown)
        return msgspec.structs.replace(chosen, profile=model.profile, note=joined(chosen.note, model.warning))

    def _with_model(self, chosen: Configuration, wanted: str | None) -> Configuration:
        if chosen.profile is None:
            # Whoever misspelled both wants to hear of both.
            alone = self._with_model(Configuration(_NOTHING_SAID), wanted) if wanted else Configuration()
            return msgspec.structs.replace(chosen, problems=(*chosen.problems, *alone.problems))
        if wanted is None and not self._harness_for(chosen.profile).lists_models:
            return chosen  # not even a preset needs one then
        try:
            model = choose_model(chosen.profile, wanted, self._models_for(chosen.profile).check)
        except UnknownModel as unknown:
            return msgspec.structs.replace(chosen.with_problem(unknown), requested_model=wanted or chosen.profile.model)
        note = joined(chosen.note, model.warning)
        return msgspec.structs.replace(chosen, profile=model.profile, note=note, requested_model=model.requested)

    def _harness_for(self, profile: Profile | None) -> Harness:
        return harness_for(profile, self._harness)

    def _agent_for(self, profile: Profile) -> str:
        return agent_of(self._harness_for(profile).name)

    def _models_for(self, profile: Profile) -> Models:
        return self._models() if self._harness_for(profile).lists_models else UncheckedModels()

    def _by(self, agent: str | None, profile: Profile) -> Profile:
        """The profile with the harness of the agent that the task names, or else of the one that the profile names."""
        wanted = agent or profile.agent
        if wanted is None or (wanted == DEFAULT_AGENT and profile.harness in PI_HARNESSES):
            return profile
        if wanted != DEFAULT_AGENT:
            return msgspec.structs.replace(profile, harness=wanted)
        own = self._harness.name if self._harness.name in PI_HARNESSES else DEFAULT_HARNESS
        return msgspec.structs.replace(profile, harness=own)

    def _resolve(self, asked: Format, name: str, wanted: str | None, cwd: Path) -> Configuration:
        """The agent of that name, looked for first among those that the call asks for."""
        place = self._place
        try:
            agent = find_agent(name, asked, place.cwd, place.agent_dir)
        except UnknownProfile as unknown:
            hint = f"{unknown.hint}{_way_to_agent(name, asked)}"
            return Configuration(summary=name, problems=(Problem(str(unknown), hint),))
        profile, summary = agent.profile, profile_summary(agent.profile, asked)
        if objection := objection_to(profile, place.trust):
            return Configuration(summary=summary, problems=(Problem(refusal(profile, agent.kind, objection)),))
        who = f'{agent.kind.word.capitalize()} "{name}"'
        if why := _contradiction(profile):
            return Configuration(summary=summary, problems=(Problem(f"{who} {why}"),))
        own = self._agent_for(self._by(None, profile))
        note = None
        if wanted and wanted != own:
            if bound := _bound_to(own, profile):
                advice = f" It was written for {own}: choose another profile with -p, or leave out --agent."
                why = f"{who} {bound}, so {wanted} cannot use it"
                return Configuration(summary=summary, problems=(Problem(why, advice),))
            profile, note = _without_model(profile, own, wanted)
        profile = self._by(wanted, profile)
        if why := _refusal(who, profile, self._harness_for(profile)):
            return Configuration(summary=summary, problems=(Problem(why),))
        if lacking := tuple(Problem(why) for why in _lacking(who, profile, self._harness_for(profile))):
            profile = msgspec.structs.replace(profile, tools=None, exclude_tools=None)  # no harness can translate them
        key = (agent.kind.word, name, profile.harness, cwd)
        if key not in self._resolved:
            self._resolved[key] = self._ready(profile, cwd)
        resolved = self._resolved[key]
        if isinstance(resolved, UnknownSkill):
            return Configuration(profile, summary, lacking).with_problem(resolved)
        return Configuration(resolved, summary, lacking, note=joined(*agent.warnings, note))

    def _ready(self, profile: Profile, cwd: Path) -> Profile | UnknownSkill:
        check_skills(profile)
        harness = self._harness_for(profile)
        profile = harness.adapt(profile, self._available_tools)
        if not (profile.suggested_skills or profile.load_skills):
            return profile
        try:
            by_path = "suggested_skills" in harness.honours
            return resolve_skills(profile, self._skills_for(profile, cwd), by_path=by_path)
        except UnknownSkill as unknown:
            return unknown

    def _skills_for(self, profile: Profile, cwd: Path) -> dict[str, Skill]:
        """The skills that a profile can name; one of the user's own is not given those of a stranger in their place.

        Of two with one name, `pi` takes what it finds by itself where the agent works before what it is told of.
        """
        place, of_project = self._place, profile.scope == "project"
        trusted = place.trust.trusts(place.project)
        skills = self._skills_in(place.cwd, of_project=of_project or trusted)
        if of_project and not trusted:
            _check_skills_are_below(place.project, profile, skills)
            return skills
        return skills | self._skills_in(cwd, of_project=place.is_approved(cwd))

    def _skills_in(self, cwd: Path, *, of_project: bool) -> dict[str, Skill]:
        if (cwd, of_project) not in self._skills:
            self._skills[cwd, of_project] = discover_skills(cwd, self._place.agent_dir, of_project=of_project)
        return self._skills[cwd, of_project]


def _check_skills_are_below(project: Path, profile: Profile, skills: Mapping[str, Skill]) -> None:
    for name in (*(profile.suggested_skills or ()), *(profile.load_skills or ())):
        path = skills[name].path if name in skills else project
        if not is_below(path, project):
            raise UnknownSkill(
                f'{profile.path}: skill "{name}" ({path}) is outside the project and cannot be used, because '
                f"{project} is not trusted; if you trust it, run: {trust_command(project)}"
            )


def _way_to_agent(name: str, asked: Format) -> str:
    """How to start an agent, for whoever took its name for that of a profile; `background start` takes presets."""
    if name not in AGENTS:
        return ""
    background = " --background" if asked is PRESET else ""
    return f' {name} is an agent, not a profile: pi-subagents run{background} --agent {name} "…"'


_NOTHING_SAID = Profile(name="")
"""Where a call names no agent, but says something of how it should be."""


_KEYS = {field.attribute: field.key for field in FIELDS} | {"system_prompt": "system prompt"}
_FOR_THE_AGENT = frozenset(_KEYS) - {"name", "description", "resume_mode", "harness", "agent", "timeout_s"}
"""What a profile says to or about an agent; the rest is for us."""


def why_no_agent_can(profile: Profile, kind: str = "profile") -> str | None:
    """Why every task with this profile would fail: it contradicts itself, or sets what its agent does not support."""
    who = f'{kind.capitalize()} "{profile.name}"'
    if why := _contradiction(profile):
        return f"{who} {why}"
    name = profile.harness or DEFAULT_HARNESS
    if profile.agent not in (None, DEFAULT_AGENT):
        name = profile.agent
    harness = harness_named(name)
    if why := _refusal(who, profile, harness):
        return why
    try:
        check_skills(profile)
        harness.adapt(profile, BUILTIN_TOOLS)
    except ProfileError as error:
        return str(error).rstrip(".")
    return " ".join(_lacking(who, profile, harness)).rstrip(".") or None


def _contradiction(profile: Profile) -> str | None:
    """Why a profile's agent and harness do not fit together, as the end of a sentence about the profile."""
    if profile.agent and profile.harness and agent_of(profile.harness) != profile.agent:
        return f'sets the agent "{profile.agent}", but "{profile.harness}" is a harness of {agent_of(profile.harness)}'
    return None


def _refusal(who: str, profile: Profile, harness: Harness) -> str | None:
    """Why the harness cannot do what the profile says."""
    if fields := _not_honoured(profile, harness):
        return _refused(who, fields, harness)
    why = harness.refuses(profile)
    return f"{who} {why}" if why else None


def _lacking(who: str, profile: Profile, harness: Harness) -> Iterator[str]:
    """A sentence for each tool that the profile names and the agent does not have; `pi` starts all the same."""
    if harness.name in PI_HARNESSES:
        return
    for tool in harness.unknown_tools(profile, Path(), Path()):
        yield f'{who} names "{tool.name}" in "{tool.field}", which {harness.name} does not have.{tool.hint}'


_MEANT_FOR_ONE = ("api_key", "program", "mode", "extra_args", "inherit")
"""With another agent these would mean something else, and a key would go to the wrong provider."""


def _bound_to(agent: str, profile: Profile) -> str | None:
    """What a profile sets for its own agent only, as the end of a sentence about the profile."""
    allows = ("approvals",) if profile.approvals == "allow" else ()  # another one may ask for much more
    named = ", ".join(f'"{_KEYS[field]}"' for field in (*_MEANT_FOR_ONE, *allows) if getattr(profile, field))
    return f"sets {named} for {agent}" if named else None


def _without_model(profile: Profile, own: str, wanted: str) -> tuple[Profile, str | None]:
    """The profile without a model that is meant for another agent, and a note that says so."""
    if not (profile.model or profile.provider):
        return profile, None
    named = profile.model or profile.provider
    note = f'The model "{named}" is meant for {own}, so {wanted} uses its default.'
    return msgspec.structs.replace(profile, model=None, provider=None), note


def _not_honoured(profile: Profile, harness: Harness) -> list[str]:
    """The fields that are set and would not reach the agent."""
    lost = _FOR_THE_AGENT - fields_taken(harness)
    # An agent that never asks needs no permission: `approvals: allow` changes nothing for it.
    nothing = (None, False, "allow")
    said = {field: getattr(profile, field) for field in profile.__struct_fields__ if field in lost}
    return [field for field, value in said.items() if value not in nothing]


def _level_note(profile: Profile | None, harness: Harness) -> str | None:
    """A note where the agent has another name for the thinking level, or only a nearby one."""
    if profile is None or not profile.thinking_level or "thinking_level" not in harness.honours:
        return None
    level, own = profile.thinking_level, harness.own_level(profile.thinking_level)
    return f'The thinking level "{level}" becomes "{own}" for {harness.name}.' if own != level else None


def _not_heard(task: Task, harness: Harness) -> Iterator[Problem]:
    said = {"model": task.model, "thinking_level": task.thinking_level}
    if fields := [field for field, value in said.items() if value and field not in harness.honours]:
        yield Problem(_refused("The task", fields, harness))


def _refused(who: str, fields: Sequence[str], harness: Harness) -> str:
    """The sentence about fields that would not reach the agent, with what to do."""
    named, them = ", ".join(f'"{_KEYS[field]}"' for field in fields), "it" if len(fields) == 1 else "them"
    able = [agent for agent in AGENTS if fields_taken(harness_for_agent(agent, DEFAULT_HARNESS)).issuperset(fields)]
    another = f", or choose an agent that supports {them}: {', '.join(able)}" if able else ""
    return f'{who} sets {named}, which the agent "{agent_of(harness.name)}" does not support. Leave {them} out{another}'


def _with_thinking(chosen: Configuration, level: str) -> Configuration:
    levels = tuple(ThinkingLevel)
    if level not in levels:
        sentence = f'Unknown thinking level: "{level}". Available levels: {", ".join(levels)}'
        return msgspec.structs.replace(
            chosen, problems=(*chosen.problems, Problem(sentence, did_you_mean(level, levels)))
        )
    profile = chosen.profile and msgspec.structs.replace(chosen.profile, thinking_level=level)
    return msgspec.structs.replace(chosen, profile=profile)
