"""What tasks name that is not there: agents, models, skills, tools, files, directories.

Models are told of it task by task, while the other tasks run. A person who misspelled something wants to hear of it
before anything is started and paid for, and of everything at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from pi_subagents.delegation.planning import Plan
from pi_subagents.delegation.prompts import file_problems
from pi_subagents.errors import InvalidCall, NothingStarted
from pi_subagents.harness import PI_HARNESSES
from pi_subagents.models import Profile
from pi_subagents.place import Place
from pi_subagents.text.wording import did_you_mean


def require_startable(plans: Sequence[Plan], _place: Place) -> None:
    """Raise InvalidCall with the first reason for which one of the tasks could not be started."""
    for plan in plans:
        if plan.problem:
            raise InvalidCall(plan.problem)


def require_everything(plans: Sequence[Plan], place: Place) -> None:
    """Raise NothingStarted with all that is missing, if anything is."""
    found: dict[str, list[str]] = {}
    for plan in plans:
        for sentence in dict.fromkeys(_missing(plan, place)):
            found.setdefault(sentence, []).append(plan.task.name)
    if found:
        # What concerns every task is said once; else it is said whose it is.
        raise NothingStarted(
            [
                sentence if len(names) == len(plans) else f"{', '.join(names)}: {sentence}"
                for sentence, names in found.items()
            ]
        )


def _missing(plan: Plan, place: Place) -> Iterator[str]:
    for problem in plan.problems:
        yield _asking(problem.sentence, problem.hint)
    for sentence in file_problems(plan.task.files, plan.cwd) if plan.cwd.is_dir() else ():
        yield _asking(sentence, _file_hint(sentence, plan.cwd))
    yield from _unknown_tools(plan, place)


def _asking(sentence: str, hint: str) -> str:
    return f"{sentence.rstrip('.')}.{hint}" if hint else sentence


def _file_hint(sentence: str, cwd: Path) -> str:
    kind, _colon, named = sentence.partition(": ")
    if kind == "could not read file" and (cwd / named).is_dir():
        return " It is a directory; list its files instead."
    if kind != "file not found":
        return ""
    folder = Path(named).parent
    with suppress(OSError, ValueError):
        return did_you_mean(named, [str(folder / path.name) for path in (cwd / folder).iterdir()])
    return ""


def _unknown_tools(plan: Plan, place: Place) -> Iterator[str]:
    profile = _as_written(plan, place)
    if profile is None or plan.harness.name not in PI_HARNESSES:  # other agents cannot start, so their plans say it
        return
    for tool in plan.harness.unknown_tools(profile, plan.cwd, place.agent_dir):
        yield _asking(f'Unknown tool: "{tool.name}" in "{tool.field}" of {profile.path}', tool.hint)


def _as_written(plan: Plan, place: Place) -> Profile | None:
    """The agent as its file has it, before its lists were turned into what its program is told."""
    if (name := plan.preset if plan.preset is not None else plan.profile_name) is None:
        return None
    from pi_subagents.profiles import PRESET, PROFILE, UnknownProfile, find_agent  # many tasks do without

    with suppress(UnknownProfile):
        asked = PRESET if plan.preset is not None else PROFILE
        return find_agent(name, asked, place.cwd, place.agent_dir).profile if name else None
    return None
