"""From tasks to runs that can be started: profile or preset, model, skills, directory and prompt are settled here.

A contradiction in a profile is the caller's mistake and fails the whole call before anything starts. What concerns
one task alone (an unknown profile, preset, model or skill, a bad directory) becomes that task's recorded outcome.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from pi_subagents.delegation.prompts import compose_prompt
from pi_subagents.encoding import as_utf8
from pi_subagents.files import is_below
from pi_subagents.harness import DEFAULT_HARNESS, Harness, harness_named
from pi_subagents.harness.pi.arguments import BUILTIN_TOOLS
from pi_subagents.models import DEFAULT_TIMEOUT_S, FileSpec, Profile, Task, ThinkingLevel
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
from pi_subagents.settings import ResumeMode
from pi_subagents.skills import Skill, UnknownSkill, check_skills, discover_skills, resolve_skills
from pi_subagents.store import read_file
from pi_subagents.text.wording import did_you_mean
from pi_subagents.trust import trust_command


@dataclass(frozen=True)
class Continuation:
    """What a resumed task builds on: earlier runs retold, or the agent's own conversation to go on with.

    The conversation in `run_dir` is used if the profile or else the setting wants that; where there is none, the
    retelling is.
    """

    session_id: str
    previously: str
    run_dir: Path | None = None

    def conversation(self, harness: Harness) -> bytes:
        """What an agent of that harness left there to go on with."""
        if self.run_dir is None or harness.conversation_file is None:
            return b""
        return read_file(self.run_dir / harness.conversation_file)


@dataclass(frozen=True)
class _Configuration:
    """The profile or preset of a task as its agent will get it, or why it cannot have it."""

    profile: Profile | None = None
    summary: str | None = None
    problems: tuple[Problem, ...] = ()
    note: str | None = None
    requested_model: str | None = None

    def with_problem(self, error: Exception) -> _Configuration:
        return replace(self, problems=(*self.problems, Problem(str(error), getattr(error, "hint", ""))))


@dataclass(frozen=True)
class Problem:
    """Why a task cannot be run, as its caller is told; `hint` asks what was meant, where people are told."""

    sentence: str
    hint: str = ""


@dataclass(frozen=True)
class Plan:
    """One task, ready to be run or with the reasons why it cannot be."""

    task: Task
    cwd: Path
    prompt: str
    harness: Harness
    profile: Profile | None = None
    profile_name: str | None = None
    summary: str | None = None
    problems: tuple[Problem, ...] = ()
    continuation: Continuation | None = None
    conversation: bytes = b""
    resume_mode: ResumeMode | None = None
    note: str | None = None
    preset: str | None = None
    requested_model: str | None = None

    @property
    def problem(self) -> str | None:
        """What its run fails with, if it cannot be started."""
        return self.problems[0].sentence if self.problems else None


@dataclass
class Planner:
    """Plans the tasks of a call; each profile is made ready and skills are looked for at most once in each directory.

    `continuations` has what the sessions that tasks resume have come to, by session id. `models` returns who is asked
    about every model that somebody names. A profile may name its harness; `harness` is for the others.
    """

    place: Place
    harness: Harness = field(default_factory=lambda: harness_named(DEFAULT_HARNESS))
    default_profile: str | None = None
    available_tools: Sequence[str] = BUILTIN_TOOLS
    continuations: Mapping[str, Continuation] = field(default_factory=dict)
    resume_mode: ResumeMode = "retell"
    models: Callable[[], Models] = UncheckedModels
    note: str | None = None
    """What to say of every plan with that harness."""
    _skills: dict[tuple[Path, bool], dict[str, Skill]] = field(default_factory=dict)
    _resolved: dict[tuple[str, str, Path], Profile | UnknownSkill] = field(default_factory=dict)

    def plan(self, task: Task) -> Plan:
        """What is to be run; raises ProfileError for a profile that contradicts itself."""
        cwd, cwd_problem = _directory(task.cwd, self.place.cwd)
        preset = as_utf8(task.preset) if task.preset is not None else None
        profile_name = as_utf8(task.profile or self.default_profile or "") or None if preset is None else None
        chosen = self._configuration(task, preset, profile_name, self.place.cwd if cwd_problem else cwd)
        harness = self._harness_for(chosen.profile)
        problems = (*chosen.problems, *_not_heard(task, harness), *([Problem(cwd_problem)] if cwd_problem else []))
        continuation = self.continuations.get(task.resume or "")
        conversation = continuation.conversation(harness) if continuation else b""
        mode, note = self._mode(continuation, conversation, chosen.profile)
        previously = continuation.previously if continuation and mode == "retell" else None
        prompt = task.prompt if problems else compose_prompt(task.prompt, task.files, cwd, previously=previously)
        told = as_utf8(prompt)
        if not problems and not told.strip():
            problems = (Problem("prompt is empty"),)
        return Plan(
            _recordable(task, chosen.profile),
            cwd,
            told,
            harness,
            chosen.profile,
            profile_name,
            chosen.summary,
            problems,
            continuation=continuation,
            conversation=conversation if mode == "native" else b"",
            resume_mode=mode,
            note=_joined(_joined(chosen.note, note), self.note if harness is self.harness else None),
            preset=preset,
            requested_model=chosen.requested_model,
        )

    def _configuration(self, task: Task, preset: str | None, profile: str | None, cwd: Path) -> _Configuration:
        wanted = as_utf8(task.model or "") or None
        if preset is not None:
            chosen = self._with_model(self._resolve(PRESET, preset, cwd), wanted)
        elif profile:
            chosen = self._resolve(PROFILE, profile, cwd)
            chosen = self._with_model(chosen, wanted) if wanted else self._with_own_model(chosen)
        elif wanted:
            chosen = self._with_model(_Configuration(_NOTHING_SAID), wanted)
        else:
            chosen = _Configuration(_NOTHING_SAID if task.thinking_level else None)
        return _with_thinking(chosen, as_utf8(task.thinking_level)) if task.thinking_level else chosen

    def _with_own_model(self, chosen: _Configuration) -> _Configuration:
        if chosen.profile is None:
            return chosen
        try:
            model = check_own_model(chosen.profile, self._models_for(chosen.profile))
        except UnknownModel as unknown:
            return chosen.with_problem(unknown)
        return replace(chosen, profile=model.profile, note=_joined(chosen.note, model.warning))

    def _with_model(self, chosen: _Configuration, wanted: str | None) -> _Configuration:
        if chosen.profile is None:
            # Whoever misspelled both wants to hear of both.
            alone = self._with_model(_Configuration(_NOTHING_SAID), wanted) if wanted else _Configuration()
            return replace(chosen, problems=(*chosen.problems, *alone.problems))
        if wanted is None and "model" not in self._harness_for(chosen.profile).honours:
            return chosen  # not even a preset needs one then
        try:
            model = choose_model(chosen.profile, wanted, self._models_for(chosen.profile).check)
        except UnknownModel as unknown:
            return replace(chosen.with_problem(unknown), requested_model=wanted or chosen.profile.model)
        note = _joined(chosen.note, model.warning)
        return replace(chosen, profile=model.profile, note=note, requested_model=model.requested)

    def _harness_for(self, profile: Profile | None) -> Harness:
        return harness_named(profile.harness) if profile and profile.harness else self.harness

    def _models_for(self, profile: Profile) -> Models:
        return self.models() if self._harness_for(profile).lists_models else UncheckedModels()

    def _mode(
        self, continuation: Continuation | None, conversation: bytes, profile: Profile | None
    ) -> tuple[ResumeMode | None, str | None]:
        if continuation is None:
            return None, None
        wanted = (profile.resume_mode if profile else None) or self.resume_mode
        if wanted == "retell":
            return "retell", None
        if conversation:
            return "native", None
        return "retell", "The earlier agent left no conversation to continue; its runs are retold instead."

    def _resolve(self, asked: Format, name: str, cwd: Path) -> _Configuration:
        """The agent of that name, looked for first among those that the call asks for."""
        place = self.place
        try:
            agent = find_agent(name, asked, place.cwd, place.agent_dir)
        except UnknownProfile as unknown:
            return _Configuration(summary=name).with_problem(unknown)
        profile, summary = agent.profile, profile_summary(agent.profile, asked)
        if objection := objection_to(profile, place.trust):
            return _Configuration(summary=summary, problems=(Problem(refusal(profile, agent.kind, objection)),))
        if fields := _not_honoured(profile, self._harness_for(profile)):
            sentence = _refused(f'{agent.kind.word.capitalize()} "{name}"', fields, self._harness_for(profile))
            return _Configuration(summary=summary, problems=(Problem(sentence),))
        key = (agent.kind.word, name, cwd)
        if key not in self._resolved:
            self._resolved[key] = self._ready(profile, cwd)
        resolved = self._resolved[key]
        if isinstance(resolved, UnknownSkill):
            return _Configuration(profile, summary).with_problem(resolved)
        return _Configuration(resolved, summary, note=_joined(*agent.warnings))

    def _ready(self, profile: Profile, cwd: Path) -> Profile | UnknownSkill:
        check_skills(profile)
        profile = self._harness_for(profile).adapt(profile, self.available_tools)
        if not (profile.suggested_skills or profile.load_skills):
            return profile
        try:
            return resolve_skills(profile, self._skills_for(profile, cwd))
        except UnknownSkill as unknown:
            return unknown

    def _skills_for(self, profile: Profile, cwd: Path) -> dict[str, Skill]:
        """The skills that a profile can name; one of the user's own is not given those of a stranger in their place.

        Of two with one name, `pi` takes what it finds by itself where the agent works before what it is told of.
        """
        place, of_project = self.place, profile.scope == "project"
        trusted = place.trust.trusts(place.project)
        skills = self._skills_in(place.cwd, of_project=of_project or trusted)
        if of_project and not trusted:
            _check_skills_are_below(place.project, profile, skills)
            return skills
        return skills | self._skills_in(cwd, of_project=place.is_approved(cwd))

    def _skills_in(self, cwd: Path, *, of_project: bool) -> dict[str, Skill]:
        if (cwd, of_project) not in self._skills:
            self._skills[cwd, of_project] = discover_skills(cwd, self.place.agent_dir, of_project=of_project)
        return self._skills[cwd, of_project]


def _check_skills_are_below(project: Path, profile: Profile, skills: Mapping[str, Skill]) -> None:
    for name in (*(profile.suggested_skills or ()), *(profile.load_skills or ())):
        path = skills[name].path if name in skills else project
        if not is_below(path, project):
            raise UnknownSkill(
                f'{profile.path}: skill "{name}" ({path}) is outside the project and cannot be used, because '
                f"{project} is not trusted; if you trust it, run: {trust_command(project)}"
            )


_NOTHING_SAID = Profile(name="")
"""Where a call names no agent, but says something of how it should be."""


_KEYS = {field.attribute: field.key for field in FIELDS} | {"system_prompt": "system prompt"}
_FOR_THE_AGENT = frozenset(_KEYS) - {"name", "description", "resume_mode", "harness"}
"""What a profile says to or about an agent; the rest is for us."""


def _not_honoured(profile: Profile, harness: Harness) -> list[str]:
    """The fields that are set and would not reach the agent."""
    return [
        _KEYS[field]
        for field in profile.__struct_fields__
        if field in _FOR_THE_AGENT - harness.honours and getattr(profile, field) not in (None, False)
    ]


def _not_heard(task: Task, harness: Harness) -> Iterator[Problem]:
    said = {"model": task.model, "thinking_level": task.thinking_level}
    if fields := [_KEYS[field] for field, value in said.items() if value and field not in harness.honours]:
        yield Problem(_refused("The task", fields, harness))


def _refused(who: str, fields: Sequence[str], harness: Harness) -> str:
    named = ", ".join(f'"{field}"' for field in fields)
    return f'{who} sets {named}, which agents of the harness "{harness.name}" cannot be given'


def _with_thinking(chosen: _Configuration, level: str) -> _Configuration:
    levels = tuple(ThinkingLevel)
    if level not in levels:
        sentence = f'Unknown thinking level: "{level}". Available levels: {", ".join(levels)}'
        return replace(chosen, problems=(*chosen.problems, Problem(sentence, did_you_mean(level, levels))))
    profile = chosen.profile and msgspec.structs.replace(chosen.profile, thinking_level=level)
    return replace(chosen, profile=profile)


def _joined(*notes: str | None) -> str | None:
    return " ".join(filter(None, notes)) or None


def _recordable(task: Task, profile: Profile | None) -> Task:
    return msgspec.structs.replace(
        task,
        name=as_utf8(task.name),
        prompt=as_utf8(task.prompt),
        files=tuple(_recordable_file(file) for file in task.files),
        timeout=_timeout(task, profile),
    )


def _timeout(task: Task, profile: Profile | None) -> float | None:
    nobody_chose = task.timeout in (None, DEFAULT_TIMEOUT_S)
    return profile.timeout_s if profile and profile.timeout_s and nobody_chose else task.timeout


def _recordable_file(file: FileSpec) -> FileSpec:
    return as_utf8(file) if isinstance(file, str) else msgspec.structs.replace(file, path=as_utf8(file.path))


def _directory(asked: str | None, default: Path) -> tuple[Path, str | None]:
    if not asked:
        return default, None
    path = Path(asked)
    if not path.is_absolute():
        return path, "cwd must be an absolute path"
    if ".." in path.parts:
        return path, "cwd must not contain '..' path segments"
    try:
        is_directory = stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a null byte
        return path, f"cwd does not exist: {as_utf8(asked)}"
    except OSError as error:
        return path, f"cwd cannot be used ({error.strerror}): {as_utf8(asked)}"
    return path, None if is_directory else f"cwd is not a directory: {as_utf8(asked)}"
