"""The background runs of one owner: found again after any restart, counted, and each announced exactly once.

The owner is the session, client or terminal that started a run; nobody else is told of its end. A host that keeps a
log of its own appends a launch record and an update record for each run; after a restart the log and the disk are
compared, and where they disagree the disk is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from pi_subagents.errors import StoreError
from pi_subagents.files import distinct
from pi_subagents.models import is_run_id
from pi_subagents.models.event import Created, Detached
from pi_subagents.paths import runs_dir
from pi_subagents.place import Place
from pi_subagents.progress import standing
from pi_subagents.runners.detached import collect_ended
from pi_subagents.runs.run import Run
from pi_subagents.runs.sessions import several_places, short_run_ids
from pi_subagents.store import JOURNAL_FILE, Index, list_runs, read_journal
from pi_subagents.store.reading import find_event
from pi_subagents.store.record import mark
from pi_subagents.store.slots import wait_for_file

LAUNCH_ENTRY = "pi-subagents:bg-run"
UPDATE_ENTRY = "pi-subagents:bg-update"
TERMINAL = "terminal"
"""The owner of what people start; whichever command comes next in a terminal tells them of its end."""
_NOTICE_MARK = "notified"
_NOTICE_LOCK = "notices"
_NOTICE_LOCK_S = 3.0
"""Another terminal that is stopped while it tells them tells them later."""


def _owner_on_disk(folder: Path) -> str | None:
    """Who owns the background run in a directory; None if there is none."""
    try:
        created = next(read_journal(folder / JOURNAL_FILE), None)
        if isinstance(created, Created) and created.background:
            return created.owner or ""
        detached = find_event(folder / JOURNAL_FILE, "detached")
    except (OSError, StoreError):
        return None
    return detached.owner if isinstance(detached, Detached) else None


class Registry:
    """The background runs of an owner, or of everybody, in the project at hand or in all that are known.

    The disk decides which directories hold them, and whose they are; the index saves most of the looking. Neither an
    index that cannot be used nor one that missed a run hides any that is in a project at hand.
    """

    def __init__(self, place: Place, owner: str | None, *, everywhere: bool = False) -> None:
        self._place = place
        self._owner = owner
        self._everywhere = everywhere
        self._index = Index(place.agent_dir)
        self._owners: dict[Path, str | None] = {}
        self._indexed: set[Path] = set()
        self._over: dict[Path, Run] = {}

    def runs(self) -> list[Run]:
        """All of them, oldest first, each in its true state."""
        collect_ended()  # a host that launches once and then only asks would keep them for ever
        return list(self.newest())[::-1]

    def newest(self) -> Iterator[Run]:
        """The same, newest first, each read when it is asked for."""
        projects = list(dict.fromkeys([self._place.project, *(self._index.projects() if self._everywhere else ())]))
        here = [folder for project in projects for folder in list_runs(runs_dir(project))]
        if not self._owners or any(folder not in self._owners for folder in here):
            self._learn(projects, here)
        # Sessions of other projects that were resumed from here are known to the index alone.
        for folder in sorted({*here, *self._indexed}, key=lambda folder: folder.name, reverse=True):
            whose = self._owners[folder]
            if whose is not None and self._owner in (None, whose) and (run := self._load(folder)) is not None:
                yield run

    def _learn(self, projects: Sequence[Path], here: Iterable[Path]) -> None:
        where = f"project IN ({', '.join('?' * len(projects))})"
        rows = self._index.rows(where, [str(project) for project in projects])
        told = [row for row in rows if row["background"] is not None]
        known = {Path(row["run_dir"]): row["owner"] or "" if row["background"] else None for row in told}
        self._indexed = set(known)
        self._owners |= known
        self._owners |= {folder: _owner_on_disk(folder) for folder in here if folder not in self._owners}

    def _load(self, folder: Path) -> Run | None:
        if folder in self._over and folder.is_dir():
            return self._over[folder]
        with suppress(StoreError):
            run = Run.load(folder)
            if run.is_over:
                self._over[folder] = run
            return run
        return None

    def find(self, run_id: str) -> Run | None:
        """One background run, whoever owns it; raises InvalidCall where only other projects have it, and several do."""
        found = self.find_all(run_id)
        if len(found) > 1:
            raise several_places(f'Run "{run_id}"', (run.project for run in found))
        return found[0] if found else None

    def find_all(self, run_id: str) -> list[Run]:
        """The background run of that id in the project at hand, or those in others."""
        if not is_run_id(run_id):
            return []
        here = runs_dir(self._place.project) / run_id
        if run := _background_run(here):
            return [run]
        rows = self._index.rows("run_id = ? AND background = 1", [run_id])
        known = [Path(row["run_dir"]) for row in rows]
        folders = distinct([*known, *(runs_dir(project) / run_id for project in self._index.projects())])
        return [run for folder in folders if (run := _background_run(folder))]

    def unannounced(self) -> list[Run]:
        """The runs that are over and whose end the owner has not been told."""
        over = [run for run in self.runs() if run.is_over and not run.state.foreign]
        return [run for run in over if not (run.run_dir / _NOTICE_MARK).exists()]

    def rebuild(self, entries: Iterable[Mapping[str, Any]], told: Iterable[str]) -> None:
        """Compare the owner's log with the disk after a restart: what the owner was `told` is not told again."""
        known = {str(entry.get("runId")) for entry in entries}
        for run in (run for run_id in {*told} & known for run in self.find_all(run_id)):
            if run.is_over:
                mark_announced(run.run_dir)


def _background_run(folder: Path) -> Run | None:
    with suppress(StoreError):
        run = Run.load(folder)
        return run if run.state.background else None
    return None


def newest_runs(place: Place, limit: int, *, everywhere: bool) -> list[Run]:
    """The newest background runs of a project, or of all that are known, newest first, whoever started them."""
    return list(islice(Registry(place, None, everywhere=everywhere).newest(), limit))


def counts(runs: Iterable[Run]) -> dict[str, int]:
    """How many runs are in which state; one that waits for its turn counts as running."""
    result = dict.fromkeys(("running", "completed", "failed", "aborted", "total"), 0)
    for run in runs:
        word = run.state.status.value if run.is_over else "running"
        result[word] = result.get(word, 0) + 1
        result["total"] += 1
    return result


def footer(runs: Iterable[Run]) -> str:
    """The short status for a host's footer."""
    found = counts(runs)
    return f"bg: {found['running']} running / {found['total']} total"


def announcement(run: Run, named: str | None = None) -> str:
    """The one message the owner gets when a run is over; it carries the run's id, or what it is `named` by there."""
    state = run.state
    name = state.asked_as or state.other_agent
    what = f' "{name}"' if name else ""
    how = standing(state)
    ids = named or f"run {state.run_id}, session {state.session_id}"
    words = f"Background agent{what} {how}: {state.name} ({ids})"
    return f"{words} – {state.error}" if state.error else words


def mark_announced(run_dir: Path) -> bool:
    """Take note that the owner has been told; False if somebody had before."""
    return mark(run_dir, _NOTICE_MARK)


def tell_ends(place: Place, owner: str, say: Callable[[str], None]) -> None:
    """Say which background runs of the owner in a project have ended since the last time.

    A message goes out before it is noted that it did, so that a crash loses none; the lock keeps two terminals from
    telling the same.
    """
    registry = Registry(place, owner)
    if not registry.unannounced():
        return
    try:
        lock = wait_for_file(place.agent_dir / "subagents" / _NOTICE_LOCK, _NOTICE_LOCK_S)
    except OSError:  # better told twice than never
        _tell(registry, say)
        return
    if lock is not None:
        try:
            _tell(registry, say)
        finally:
            lock.release()


def _tell(registry: Registry, say: Callable[[str], None]) -> None:
    runs = registry.unannounced()
    short = short_run_ids(run.run_dir for run in runs)
    for run in runs:
        say(announcement(run, short[run.run_dir]))
        mark_announced(run.run_dir)
