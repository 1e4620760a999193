"""Reading runs back, and telling the truth about those whose holder has died.

A run that is not final and that nobody holds was lost: whoever finds it closes it, once, keeping all that was
journalled. Where the record cannot be written (a read-only disk) the reader is told the same truth all the same. A
foreign record is read as far as that is safe, and left as it is.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from pi_subagents.clock import now_ms
from pi_subagents.errors import StoreError
from pi_subagents.files import Directory
from pi_subagents.fold import RunState, fold
from pi_subagents.models.run import Reason
from pi_subagents.outcome import LOST_SENTENCE, ending
from pi_subagents.store.journal import Journal, read_events
from pi_subagents.store.lease import Lease, closing, has_holder, is_being_closed
from pi_subagents.store.record import (
    FOREIGN,
    JOURNAL_FILE,
    RESULT_FILE,
    TIDY_FILE,
    open_run,
    result_document,
    why_foreign,
)
from pi_subagents.store.rundir import RunRecord, pretty_json
from pi_subagents.store.tidying import tidy

_CLOSING_S = 5.0
"""How long somebody else may take to close a run before it counts as held."""


def load_run(run_dir: Path) -> RunState:
    """The true state of a run; closes it if it was lost. Raises StoreError when there is nothing to read.

    It raises nothing else, whatever the record holds: those who walk through many runs rely on it.
    """
    try:
        with open_run(run_dir) as run:
            why = why_foreign(run)
            return _load_foreign(run, why) if why else _load(run)
    except OSError as error:
        if error.errno == errno.ELOOP and error.filename == str(run_dir):
            return _shown_as_foreign(RunState.of_run(run_dir.name), f"it {error.strerror}", held=False)
        raise StoreError(f"cannot read the journal of {run_dir}: {error.strerror}") from error


def _load(run: Directory) -> RunState:
    # The look comes before the reading: whoever is seen closing the run may be done by then, but the journal tells.
    if not run.has(RESULT_FILE) and _is_at_work(run):
        return _fold_journal(run)
    state = _fold_journal(run)
    if state.status.is_terminal:
        if not run.has(RESULT_FILE) or run.has(TIDY_FILE):
            _finish_if_free(run, state)
        return state
    if not _is_at_work(run):
        return _close_lost(run)
    # Somebody took it up since the journal was read; if that was to close it, the end may stand there by now.
    return _fold_journal(run)


def _is_at_work(run: Directory) -> bool:
    """Whether somebody holds the run to go on with it, and not because it was found dead."""
    return has_holder(run) and not is_being_closed(run)


def adopt(run_dir: Path, lease: Lease) -> tuple[RunRecord, RunState]:
    """Go on with a run that another process has published and handed over; raises StoreError."""
    try:
        # The descriptor that was handed over is the directory, whatever stands at its path by now.
        with Directory(os.dup(lease.fileno()), run_dir) if lease.is_directory else open_run(run_dir) as run:
            lease.complete(run)
            return RunRecord(run_dir, run, lease), _fold_journal(run)
    except OSError as error:
        raise StoreError(f"cannot continue the run in {run_dir}: {error.strerror}") from error


def _fold_journal(run: Directory, foreign: str | None = None) -> RunState:
    state = fold(RunState.of_run(run.path.name), read_events(run, foreign=foreign))
    state.is_damaged = state.is_damaged or not state.is_created
    return state


# --- records that are not ours ----------------------------------------------------------------------------------


def _load_foreign(run: Directory, why: str) -> RunState:
    state, held = RunState.of_run(run.path.name), False
    with suppress(OSError):
        state = _fold_journal(run, why)
        held = has_holder(run)
    return _shown_as_foreign(state, why, held=held)


def _shown_as_foreign(state: RunState, why: str, *, held: bool) -> RunState:
    """In memory alone; without an end, and without a holder that we could see, it will not get one from us."""
    state.foreign = f"{FOREIGN}: {why}"
    state.name = state.name or f"[{FOREIGN}]"
    if held or state.status.is_terminal:
        state.error = f"{state.error} ({state.foreign})" if state.error else state.foreign
        return state
    return fold(state, [ending(Reason.LOST, f"Unfinished; {state.foreign}", now_ms())])


# --- runs that were lost ----------------------------------------------------------------------------------------


def _close_lost(run: Directory) -> RunState:
    try:
        with closing(run, _CLOSING_S) as alone:
            lease = Lease.of_run(run, wait_s=_CLOSING_S if alone else 0)
            if lease is None:
                return _fold_journal(run)
            try:
                state = _fold_journal(run)
                return state if state.status.is_terminal else _end_lost(run, state)
            finally:
                lease.release()
    except OSError:
        return _lost_in_memory(_fold_journal(run))


def _end_lost(run: Directory, state: RunState) -> RunState:
    ended = ending(Reason.LOST, LOST_SENTENCE, now_ms())
    try:
        _cut_torn_line(run)
        journal = Journal(run.path / JOURNAL_FILE, run)
        try:
            journal.append([ended])
            journal.sync()
        finally:
            journal.close()
        fold(state, [ended])
        tidy(run)
        _write_result(run, state)
    except (OSError, StoreError):
        return state if state.status.is_terminal else _lost_in_memory(state)
    return state


def _lost_in_memory(state: RunState) -> RunState:
    return fold(state, [ending(Reason.LOST, LOST_SENTENCE, now_ms())])


def _cut_torn_line(run: Directory) -> None:
    """Remove what follows the last complete line of the journal: its writer died in the middle of it."""
    with os.fdopen(run.open(JOURNAL_FILE, os.O_RDWR), "r+b") as file:
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


def _finish_if_free(run: Directory, state: RunState) -> None:
    try:
        lease = Lease.of_run(run)
        if lease is None:
            return
        try:
            if run.has(TIDY_FILE):
                tidy(run)
            if not run.has(RESULT_FILE):
                _write_result(run, state)
        finally:
            lease.release()
    except OSError:
        return  # whoever looks next tries again; the journal has everything


def _write_result(run: Directory, state: RunState) -> None:
    run.replace(RESULT_FILE, pretty_json(result_document(state)))
