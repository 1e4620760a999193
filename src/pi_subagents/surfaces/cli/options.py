"""Options and arguments that several commands have: how they are read, completed in the shell, and found by their id.

What only the shell's completion needs is loaded when a shell asks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from pi_subagents.clock import now_ms
from pi_subagents.errors import PiSubagentsError, SessionNotFound
from pi_subagents.text.patterns import pattern

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from pi_subagents.models import Profile
    from pi_subagents.place import Place
    from pi_subagents.runs.run import Run
    from pi_subagents.runs.sessions import Session

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]
Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]

DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
_TRUST = "Trust the project for this call only; 'pi-subagents trust' is permanent."
_MAX_COMPLETIONS = 50
_MENU_S = 5.0
"""How long somebody who has pressed Tab is kept waiting for a list of models."""

_SPAN = pattern(r"(?P<count>\d{1,6})(?P<unit>[smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
_DURATION = pattern(rf"(?P<bare>{_NUMBER})|(?=.)" + "".join(rf"(?:(?P<{u}>{_NUMBER}){u})?" for u in "dhms"))


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click alone
    """So many seconds: `90`, `90s`, `5m`, `1h30m`; at least `min_s`."""

    name = "time"

    def __init__(self, min_s: float = 0) -> None:
        self._min_s = min_s

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds; fails with what is possible instead."""
        if isinstance(value, (int, float)):
            return float(value)
        found = _DURATION.fullmatch(str(value).strip().lower())
        if found is None:
            self.fail(f"{value!r} is not a duration; use 90, 90s, 5m or 1h30m", param, ctx)
        parts = found.groupdict().items()
        seconds = sum(float(count) * _SECONDS.get(unit, 1) for unit, count in parts if count)
        if seconds < self._min_s:
            self.fail(f"{value!r} is too short; use at least {self._min_s:g}s", param, ctx)
        return seconds


class Agents(click.ParamType):  # type: ignore[type-arg]  # as above
    """The name of an agent program, such as `claude`; with `several`, names with commas between them."""

    name = "agent"

    def __init__(self, *, several: bool = False) -> None:
        self._several = several

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """The names as a tuple; fails if one is unknown or given twice."""
        from pi_subagents.harness import AGENTS
        from pi_subagents.text.wording import did_you_mean

        if isinstance(value, tuple):
            return value
        names = [name.strip() for name in str(value).split(",")] if self._several else [str(value)]
        for name in names:
            if name not in AGENTS:
                sentence = f'unknown agent "{name}"; available agents: {", ".join(AGENTS)}'
                self.fail(f"{sentence}.{did_you_mean(name, AGENTS)}", param, ctx)
            if names.count(name) > 1:
                self.fail(f'agent "{name}" is given more than once', param, ctx)
        return tuple(names)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Names for the shell, installed agents first; after a comma, those not given yet."""
        from click.shell_completion import CompletionItem

        from pi_subagents.harness import AGENTS
        from pi_subagents.harness.programs import installed_agents

        before, comma, start = incomplete.rpartition(",") if self._several else ("", "", incomplete)
        place = _here()
        here = set(installed_agents(place.environ, place.settings().pi_command))
        left = [name for name in AGENTS if name.startswith(start) and name not in before.split(",")]
        return [
            CompletionItem(f"{before}{comma}{name}", help=None if name in here else "not installed")
            for name in sorted(left, key=lambda name: name not in here)
        ]


def moment(text: str) -> int:
    """Milliseconds since the epoch for `2h`, `3d`, `2026-11-01` or `2026-11-01T14:30`, dates in local time."""
    if span := _SPAN.fullmatch(text.strip()):
        return now_ms() - int(span["count"]) * _SECONDS[span["unit"]] * 1000
    try:
        return int(datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise click.BadParameter(
            f"{text!r} is not a time; use a span such as 30m, 2h or 3d, or a date such as 2026-11-01"
        ) from None


def refuse_sub_agents() -> None:
    """Raise PiSubagentsError where a sub-agent asks for what only a person may decide."""
    from pi_subagents.harness.contract import depth_in

    # Not a wall, as an agent has its user's permissions; but it shall not get there by doing what an error suggests.
    if depth_in(_here().environ):
        raise PiSubagentsError("A sub-agent cannot trust a project; only a person can.")


def _only_people(_context: click.Context, _option: click.Parameter, is_set: bool) -> bool:
    if is_set:
        refuse_sub_agents()
    return is_set


def find_session(place: Place, text: str) -> Session:
    """The session that `text` names; raises SessionNotFound and InvalidCall."""
    from pi_subagents.runs import sessions

    try:
        return sessions.find_session(place, text)
    except SessionNotFound as error:
        raise SessionNotFound(str(error), advice="'pi-subagents sessions list --all' lists all sessions") from None


def find_run(place: Place, text: str) -> Run:
    """The run that `text` names; raises SessionNotFound, InvalidCall and StoreError."""
    from pi_subagents.runs.run import Run
    from pi_subagents.runs.sessions import find_run_dir

    try:
        return Run.load(find_run_dir(place, text))
    except SessionNotFound as error:
        advice = "'pi-subagents background list --all' lists all background runs"
        raise SessionNotFound(str(error), advice=advice) from None


def complete_session(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Ids of sessions for the shell, newest first."""
    from pi_subagents.models import short_ids
    from pi_subagents.runs.sessions import sessions_beginning

    logging.disable()  # nothing may be printed into the line that somebody is typing
    found = sessions_beginning(_here(), start, _MAX_COMPLETIONS)
    short = short_ids(one.id for one in found)
    return _ids(start, ((short[one.id], one.id, one.name) for one in found))


def complete_run(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Ids of background runs for the shell, newest first."""
    from pi_subagents.runs.sessions import background_runs_beginning, short_run_ids

    logging.disable()  # as above
    found = background_runs_beginning(_here(), start, _MAX_COMPLETIONS)
    short = short_run_ids(one.run_dir for one in found)
    return _ids(start, ((short[one.run_dir], one.id, one.name) for one in found))


def _ids(start: str, found: Iterable[tuple[str, str, str]]) -> list[CompletionItem]:
    """As the list shows them, or whole where more was typed."""
    from click.shell_completion import CompletionItem

    from pi_subagents.text import clean

    offered = {
        short if short.startswith(start) and short != start else whole: clean(name) for short, whole, name in found
    }
    return [CompletionItem(one, help=name or None) for one, name in offered.items()]


def _complete_names(*kinds: Literal["profiles", "presets"]) -> Complete:
    """Names of agents of these kinds, the last first where two are alike; shells that can do so tell their purpose."""

    def complete(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from pi_subagents.profiles import load_presets, load_profiles
        from pi_subagents.text import clean

        place, loads = _here(), {"profiles": load_profiles, "presets": load_presets}
        found: dict[str, Profile] = {}
        for kind in kinds:
            found |= loads[kind](place.cwd, place.agent_dir).profiles
        # The shells read a menu by lines, so what it says of each is one.
        purposes = {name: clean(profile.description or profile.model or "") for name, profile in found.items()}
        return [CompletionItem(name, help=purposes[name]) for name in sorted(found) if name.startswith(start)]

    return complete


complete_profile = _complete_names("profiles")
complete_preset = _complete_names("presets")
complete_agent = _complete_names("presets", "profiles")


def complete_profile_or_agent(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Names of profiles and presets, then those of agents."""
    from click.shell_completion import CompletionItem

    from pi_subagents.harness import AGENTS

    found = complete_agent(context, parameter, start)
    taken = {item.value for item in found}
    return found + [CompletionItem(name) for name in AGENTS if name.startswith(start) and name not in taken]


def complete_model(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """The models that pi has listed, or lists within the time that somebody waits for a menu."""
    from click.shell_completion import CompletionItem

    from pi_subagents.delegation.offered_models import OfferedModels

    place = _here()
    try:
        names = OfferedModels(place, place.settings(), timeout_s=_MENU_S).names()
    except PiSubagentsError:  # there is no pi yet
        return []
    return [CompletionItem(name) for name in names if name.startswith(start)]


def _here() -> Place:
    from pi_subagents.place import Place

    return Place.here()


def model_option(meaning: str) -> Decorator:
    """The option --model of a command that starts agents or makes them."""
    return click.option("--model", metavar="PROVIDER/ID", shell_complete=complete_model, help=meaning)


def agent_option(meaning: str, *, several: bool = False) -> Decorator:
    """The option --agent of a command that starts agents: the program that does the work, as a tuple of names."""
    metavar = "NAME[,NAME]..." if several else "NAME"
    return click.option("--agent", "programs", metavar=metavar, type=Agents(several=several), default=(), help=meaning)


def cwd_option(default: str) -> Decorator:
    """The option --cwd of a command that starts agents."""
    return click.option("--cwd", type=DIRECTORY, help=f"Directory to work in (default: {default}).")


def list_options(command: F) -> F:
    """How much of a list is shown, and how."""
    limit = click.option(
        "--limit", type=click.IntRange(min=1), default=30, show_default=True, metavar="N", help="Show at most N."
    )
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, newest first.")
    pager = click.option(
        "--no-pager", "pager", flag_value=False, default=True, help="Do not pipe long output into a pager."
    )
    return limit(as_json(pager(command)))


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
plain_option = click.option("--plain", is_flag=True, help="Print one line per event; never redraw.")
all_option = click.option("--all", "everywhere", is_flag=True, help="Include all projects.")
trust_option = click.option("--trust", is_flag=True, callback=_only_people, help=_TRUST)
session_argument = click.argument("session", metavar="SESSION", shell_complete=complete_session)
run_argument = click.argument("run", metavar="RUN", shell_complete=complete_run)
