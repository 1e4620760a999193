"""From tasks to runs that can be started: profile or preset, model, skills, directory and prompt are settled here.

A contradiction in a profile is the caller's mistake and fails the whole call before anything starts. What concerns
one task alone (an unknown profile, preset, model or skill, a bad directory) becomes that task's recorded outcome.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pi_subagents.delegation.prompts import compose_prompt
from pi_subagents.encoding import as_utf8
from pi_subagents.harness import DEFAULT_HARNESS, Conversation, Harness, harness_named
from pi_subagents.harness.pi.arguments import BUILTIN_TOOLS
from pi_subagents.models import DEFAULT_TIMEOUT_S, FileSpec, Profile, Task
from pi_subagents.place import Place
from pi_subagents.settings import ResumeMode
from pi_subagents.store import read_matching

if TYPE_CHECKING:
    from pi_subagents.delegation.configuration import Configurator
    from pi_subagents.profiles import Models

PROMPT_FILE = "prompt.md"
"""What the agent was told, whichever way it is told it: kept for a run that goes on from this one."""


class Continuation(msgspec.Struct, frozen=True):
    """What a resumed task builds on: earlier runs retold, or the agent's own conversation to go on with.

    The conversation in `run_dir` is used if the profile or else the setting wants that; where there is none, the
    retelling is.
    """

    session_id: str
    previously: str
    run_dir: Path | None = None
    conversation: str | None = None
    """The agent's own id for its conversation."""
    agent: str | None = None
    """The agent of the earlier run, which continues by default; None if it was `pi`."""

    def carried_on(self, task: Task) -> Task:
        """The task with the agent of the earlier run, unless it names an agent, profile or preset itself."""
        is_said = task.agent or task.profile or task.preset
        return task if is_said or self.agent is None else msgspec.structs.replace(task, agent=self.agent)

    def left_for(self, harness: Harness, profile: Profile | None) -> Conversation | None:
        """What an agent of that harness left there, if one with that profile can go on with it."""
        if self.run_dir is None or not harness.conversation_files:
            return None
        files = read_matching(self.run_dir, harness.conversation_files)
        conversation = Conversation(self.conversation or "", files)
        return conversation if any(files.values()) and harness.can_continue(conversation, profile) else None


class Configuration(msgspec.Struct, frozen=True):
    """The profile or preset of a task as its agent will get it, or why it cannot have it."""

    profile: Profile | None = None
    summary: str | None = None
    problems: tuple[Problem, ...] = ()
    note: str | None = None
    requested_model: str | None = None

    def with_problem(self, error: Exception) -> Configuration:
        return msgspec.structs.replace(self, problems=(*self.problems, Problem(str(error), getattr(error, "hint", ""))))


class Problem(msgspec.Struct, frozen=True):
    """Why a task cannot be run, as its caller is told; `hint` asks what was meant, where people are told."""

    sentence: str
    hint: str = ""


class Plan(msgspec.Struct, frozen=True):
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
    conversation: Conversation | None = None
    resume_mode: ResumeMode | None = None
    note: str | None = None
    preset: str | None = None
    requested_model: str | None = None

    @property
    def problem(self) -> str | None:
        """What its run fails with, if it cannot be started."""
        return self.problems[0].sentence if self.problems else None


class Planner(msgspec.Struct):
    """Plans the tasks of a call; each profile is made ready and skills are looked for at most once in each directory.

    `continuations` has what the sessions that tasks resume have come to, by session id. `models` returns who is asked
    about every model that somebody names. A profile may name its harness; `harness` is for the others.
    """

    place: Place
    harness: Harness = msgspec.field(default_factory=lambda: harness_named(DEFAULT_HARNESS))
    default_profile: str | None = None
    available_tools: Sequence[str] = BUILTIN_TOOLS
    continuations: Mapping[str, Continuation] = msgspec.field(default_factory=dict)
    resume_mode: ResumeMode = "retell"
    models: Callable[[], Models] | None = None
    note: str | None = None
    """What to say of every plan with that harness."""
    _configurator: Configurator | None = None

    def plan(self, task: Task) -> Plan:
        """What is to be run; raises ProfileError for a profile that contradicts itself."""
        cwd, cwd_problem = _directory(task.cwd, self.place.cwd)
        preset = as_utf8(task.preset) if task.preset is not None else None
        profile_name = as_utf8(task.profile or self.default_profile or "") or None if preset is None else None
        chosen = self._configuration(task, preset, profile_name, self.place.cwd if cwd_problem else cwd)
        harness = harness_for(chosen.profile, self.harness)
        why_not_here = cwd_problem or harness.refuses_place(chosen.profile, self.place, cwd)
        problems = (*chosen.problems, *([Problem(why_not_here)] if why_not_here else []))
        continuation = self.continuations.get(task.resume or "")
        conversation = continuation.left_for(harness, chosen.profile) if continuation else None
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
            conversation=conversation if mode == "native" else None,
            resume_mode=mode,
            note=joined(joined(chosen.note, note), self.note if harness is self.harness else None),
            preset=preset,
            requested_model=chosen.requested_model,
        )

    def _configuration(self, task: Task, preset: str | None, profile: str | None, cwd: Path) -> Configuration:
        if preset is None and not (profile or task.model or task.thinking_level or task.agent):
            return Configuration()
        if self._configurator is None:
            from pi_subagents.delegation.configuration import Configurator  # many tasks do without

            self._configurator = Configurator(self.place, self.harness, self.available_tools, self.models)
        return self._configurator.configure(task, preset, profile, cwd)

    def _mode(
        self, continuation: Continuation | None, conversation: Conversation | None, profile: Profile | None
    ) -> tuple[ResumeMode | None, str | None]:
        if continuation is None:
            return None, None
        wanted = (profile.resume_mode if profile else None) or self.resume_mode
        if wanted == "retell":
            return "retell", None
        if conversation:
            return "native", None
        return "retell", "The earlier agent left no conversation to continue; its runs are retold instead."


def harness_for(profile: Profile | None, otherwise: Harness) -> Harness:
    """The harness that a profile names."""
    return harness_named(profile.harness) if profile and profile.harness else otherwise


def joined(*notes: str | None) -> str | None:
    """The notes that there are, as one."""
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
