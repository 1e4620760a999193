"""The background runs of one owner: found again after any restart, counted, and each announced exactly once.

The owner is the session, client or terminal that started a run; nobody else is told of its end. A host that keeps a
log of its own appends a launch record and an update record for each run; after a restart the log and the disk are
compared, and where they disagree the disk is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pi_subagents.errors import StoreError
from pi_subagents.fold import RunState
from pi_subagents.models import Status, is_run_id
from pi_subagents.paths import runs_dir
from pi_subagents.planning import Place
from pi_subagents.progress import standing
from pi_subagents.rows import run_row
from pi_subagents.runners import collect_ended
from pi_subagents.store import Index, load_run, mark

LAUNCH_ENTRY = "pi-subagents:bg-run"
UPDATE_ENTRY = "pi-subagents:bg-update"
_NOTICE_MARK = "notified"


@dataclass(frozen=True)
class KnownRun:
    """A background run as its record tells it now."""

    state: RunState
    run_dir: Path

    @property
    def is_over(self) -> bool:
        return self.state.status.is_terminal


class Registry:
    """All background runs of an owner in a project."""

    def __init__(self, place: Place, owner: str) -> None:
        self._place = place
        self._owner = owner
        self._index = Index(place.agent_dir)

    def runs(self) -> list[KnownRun]:
        """Every run of the owner, oldest first, each in its true state."""
        collect_ended()  # a host that launches once and then only asks would keep them for ever
        rows = self._index.rows("background = 1 AND project = ? AND owner = ?", [str(self._place.project), self._owner])
        return load_rows(reversed(rows))

    def find(self, run_id: str) -> KnownRun | None:
        """One background run, whoever owns it."""
        rows = self._index.rows("run_id = ? AND background = 1", [run_id])
        found = next(iter(load_rows(rows)), None)
        return found or self._find_without_index(run_id)

    def _find_without_index(self, run_id: str) -> KnownRun | None:
        folder = runs_dir(self._place.project) / run_id
        if not is_run_id(run_id) or not folder.is_dir():
            return None
        with suppress(StoreError):
            run = KnownRun(load_run(folder), folder)
            return run if run.state.background else None
        return None

    def unannounced(self) -> list[KnownRun]:
        """The runs that are over and whose end the owner has not been told."""
        over = [run for run in self.runs() if run.is_over and not run.state.foreign]
        return [run for run in over if not (run.run_dir / _NOTICE_MARK).exists()]

    def rebuild(self, entries: Iterable[Mapping[str, Any]], told: Iterable[str]) -> None:
        """Compare the owner's log with the disk after a restart: what the owner was `told` is not told again."""
        known = {str(entry.get("runId")) for entry in entries}
        for run_id in {*told} & known:
            if (run := self.find(run_id)) is not None and run.is_over:
                mark_announced(run.run_dir)


def load_rows(rows: Iterable[Mapping[str, Any]]) -> list[KnownRun]:
    """The runs behind rows of the index, each in its true state; those whose records are gone are left out."""
    runs = []
    for row in rows:
        with suppress(StoreError):
            runs.append(KnownRun(load_run(Path(row["run_dir"])), Path(row["run_dir"])))
    return runs


def counts(runs: Iterable[KnownRun]) -> dict[str, int]:
    """How many runs are in which state; one that waits for its turn counts as running."""
    result = dict.fromkeys(("running", "completed", "failed", "aborted", "total"), 0)
    for run in runs:
        word = run.state.status.value if run.is_over else "running"
        result[word] = result.get(word, 0) + 1
        result["total"] += 1
    return result


def footer(runs: Iterable[KnownRun]) -> str:
    """The short status for a host's footer."""
    found = counts(runs)
    return f"bg: {found['running']} running / {found['total']} total"


def announcement(run: KnownRun) -> str:
    """The one message the owner gets when a run is over; it carries the run's id."""
    state = run.state
    what = f' "{state.preset}"' if state.preset else ""
    how = standing(state.status, state.is_damaged)
    words = f"Background agent{what} {how}: {state.name} (run {state.run_id}, session {state.session_id})"
    return f"{words} – {state.error}" if state.error else words


def mark_announced(run_dir: Path) -> bool:
    """Take note that the owner has been told; False if somebody had before."""
    return mark(run_dir, _NOTICE_MARK)


def launch_entry(run: KnownRun) -> dict[str, Any]:
    """What a host appends to its log when a run is launched."""
    return {"customType": LAUNCH_ENTRY, **run_row(run.state, run.run_dir)}


def update_entry(run: KnownRun) -> dict[str, Any]:
    """What a host appends to its log when a run has changed its state."""
    return {"customType": UPDATE_ENTRY, **run_row(run.state, run.run_dir)}


def is_queued(run: KnownRun) -> bool:
    """Whether a run still waits for its turn."""
    return run.state.status is Status.QUEUED
