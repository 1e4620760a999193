"""Reading runs back, and telling the truth about those whose holder has died.

A run that is not final and that nobody holds was lost: whoever finds it closes it, once, keeping all that was
journalled. Where the record cannot be written (a read-only disk) the reader is told the same truth all the same.
"""

from __future__ import annotations

import os
from pathlib import Path

from pi_subagents.clock import now_ms
from pi_subagents.errors import StoreError
from pi_subagents.fold import RunState, fold
from pi_subagents.models.run import Reason
from pi_subagents.outcome import LOST_SENTENCE, ending
from pi_subagents.results import result_document
from pi_subagents.store.journal import JOURNAL_FILE, Journal, read_journal
from pi_subagents.store.lease import Lease, is_held
from pi_subagents.store.rundir import RESULT_FILE, RunRecord, listed_runs, pretty_json, write_whole


def list_runs(runs_dir: Path) -> list[Path]:
    """The directories of all runs of a project, oldest first."""
    try:
        names = [entry.name for entry in os.scandir(runs_dir) if entry.name[0] != "." and entry.is_dir()]
    except OSError:
        return []
    return [runs_dir / name for name in sorted(names)]


def session_runs(runs_dir: Path, session_id: str) -> list[Path]:
    """The directories of a session's runs, oldest first."""
    listed = [runs_dir / name for name in listed_runs(runs_dir, session_id)]
    if listed:
        return [path for path in listed if path.is_dir()]
    return [path for path in list_runs(runs_dir) if path.name.endswith(f"-{session_id}")]


def read_file(path: Path) -> bytes:
    """A file of a run, or nothing where there is none."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def load_run(run_dir: Path) -> RunState:
    """The true state of a run; closes it if it was lost. Raises StoreError when there is nothing to read.

    It raises nothing else, whatever the record holds: those who walk through many runs rely on it.
    """
    try:
        return _load(run_dir)
    except OSError as error:
        raise StoreError(f"cannot read the record {run_dir}: {error.strerror}") from error


def _load(run_dir: Path) -> RunState:
    state = _fold_journal(run_dir)
    if state.status.is_terminal:
        if not (run_dir / RESULT_FILE).exists():
            _write_result_if_free(run_dir, state)
        return state
    if is_held(run_dir):
        return state
    return _close_lost(run_dir)


def adopt(run_dir: Path, lease: Lease) -> tuple[RunRecord, RunState]:
    """Go on with a run that another process has published and handed over; raises StoreError."""
    return RunRecord(run_dir, Journal(run_dir / JOURNAL_FILE), lease), _fold_journal(run_dir)


def _fold_journal(run_dir: Path) -> RunState:
    state = RunState.of_run(run_dir.name)
    try:
        fold(state, read_journal(run_dir / JOURNAL_FILE))
    except OSError as error:
        raise StoreError(f"cannot read the journal of {run_dir}: {error.strerror}") from error
    state.is_damaged = state.is_damaged or not state.is_created
    return state


def _close_lost(run_dir: Path) -> RunState:
    try:
        lease = Lease.take(run_dir, wait=True)
    except OSError:
        return _lost_in_memory(_fold_journal(run_dir))
    assert lease is not None
    try:
        state = _fold_journal(run_dir)
        return state if state.status.is_terminal else _end_lost(run_dir, state)
    finally:
        lease.release()


def _end_lost(run_dir: Path, state: RunState) -> RunState:
    ended = ending(Reason.LOST, LOST_SENTENCE, now_ms())
    try:
        _cut_torn_line(run_dir / JOURNAL_FILE)
        journal = Journal(run_dir / JOURNAL_FILE)
        try:
            journal.append([ended])
            journal.sync()
        finally:
            journal.close()
        fold(state, [ended])
        write_whole(run_dir / RESULT_FILE, pretty_json(result_document(state)))
    except (OSError, StoreError):
        return state if state.status.is_terminal else _lost_in_memory(state)
    return state


def _lost_in_memory(state: RunState) -> RunState:
    return fold(state, [ending(Reason.LOST, LOST_SENTENCE, now_ms())])


def _cut_torn_line(journal: Path) -> None:
    """Remove what follows the last complete line: its writer died in the middle of it."""
    with journal.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        end = position = file.tell()
        while position > 0:
            start = max(0, position - 64 * 1024)
            file.seek(start)
            found = file.read(position - start).rfind(b"\n")
            if found >= 0:
                position = start + found + 1
                break
            position = start
        if position < end:
            file.truncate(position)


def _write_result_if_free(run_dir: Path, state: RunState) -> None:
    try:
        lease = Lease.take(run_dir)
        if lease is None:
            return
        try:
            write_whole(run_dir / RESULT_FILE, pretty_json(result_document(state)))
        finally:
            lease.release()
    except (OSError, StoreError):
        return  # it is derived; the journal has everything
