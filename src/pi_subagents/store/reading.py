"""Reading runs back, and telling the truth about those whose holder has died.

A run that is not final and that nobody holds was lost: whoever finds it closes it, once, keeping all that was
journalled. Where the record cannot be written (a read-only disk) the reader is told the same truth all the same. A
foreign record is read as far as that is safe, and left as it is.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, get_args

import msgspec

from pi_subagents.clock import LAST_MS, now_ms
from pi_subagents.encoding import MAX_NESTING, JsonError, decode_json, decoder_of, is_shallow
from pi_subagents.errors import StoreError
from pi_subagents.files import Directory, end_of_hole
from pi_subagents.fold import RunState, fold
from pi_subagents.jsonl import MAX_RECORD_BYTES
from pi_subagents.models import event as ev
from pi_subagents.models.event import AnyEvent
from pi_subagents.models.run import Reason, Usage
from pi_subagents.outcome import LOST_SENTENCE, ending
from pi_subagents.store.lease import Lease, closing, has_holder, is_being_closed
from pi_subagents.store.record import (
    FOREIGN,
    JOURNAL_FILE,
    RESULT_FILE,
    TIDY_FILE,
    as_store_error,
    in_its_place,
    open_run,
    why_foreign,
)
from pi_subagents.store.tidying import tidy
from pi_subagents.store.writing import Journal, RunRecord, pretty_json, result_document

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
    with (
        as_store_error(f"cannot continue the run in {run_dir}"),
        # The descriptor that was handed over is the directory, whatever stands at its path by now.
        Directory(os.dup(lease.fileno()), run_dir) if lease.is_directory else open_run(run_dir) as run,
    ):
        lease.complete(run)
        return RunRecord(run_dir, run, lease), _fold_journal(run)


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


# --- the journal ------------------------------------------------------------------------------------------------


_DECODER: msgspec.json.Decoder[AnyEvent] = decoder_of(AnyEvent)
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_KINDS = frozenset(kind.__struct_config__.tag for kind in get_args(AnyEvent))
_PARTS = frozenset(kind.__struct_config__.tag for kind in get_args(ev.Part))
DAMAGED_BYTES = 64 * 1024
"""How much is kept of a line that is no event."""
_TIMES = ("at", "until", "delayMs")
_READ_BYTES = 1024 * 1024

MAX_LINE_BYTES = 2 * MAX_RECORD_BYTES
"""No event is longer; what is was not written by us."""
_PIECE_BYTES = 4 * 1024 * 1024
_MAX_PIECES = MAX_LINE_BYTES // _PIECE_BYTES


def read_journal(path: Path) -> Iterator[AnyEvent]:
    """Every event of a journal, oldest first; a torn last line is left out, a damaged one is kept as unknown.

    Raises StoreError where it cannot be read.
    """
    with as_store_error(f"cannot read the journal {path}"), open_run(path.parent) as run:
        yield from read_events(run, path.name, why_foreign(run))


def find_event(path: Path, tag: str) -> AnyEvent | None:
    """The first event of one kind, without decoding those before it; raises StoreError."""
    beginning = f'{{"type":"{tag}"'.encode()
    with (
        as_store_error(f"cannot read the journal {path}"),
        open_run(path.parent) as run,
        os.fdopen(run.open(path.name, os.O_RDONLY), "rb", _READ_BYTES) as lines,
    ):
        while line := _next_line(lines):
            if line.startswith(beginning):
                return in_its_place(decode_event(line), run.path, why_foreign(run))
    return None


def read_events(run: Directory, name: str = JOURNAL_FILE, foreign: str | None = None) -> Iterator[AnyEvent]:
    """The same for a record that is open already; raises OSError."""
    with os.fdopen(run.open(name, os.O_RDONLY), "rb", buffering=_READ_BYTES) as lines:
        while line := _next_line(lines):
            event = in_its_place(decode_event(line), run.path, foreign)
            del line  # one of the two is enough while others work on it
            yield event
            del event


def _next_line(lines: BinaryIO) -> bytes:
    """The next complete line, or nothing; of one that is too long, the beginning."""
    line = start = lines.readline(MAX_LINE_BYTES)
    while len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
        start = start[:DAMAGED_BYTES]
        lines.seek(end_of_hole(lines.fileno(), lines.tell()))
        line = lines.readline(MAX_LINE_BYTES)
    return start if line.endswith(b"\n") else b""


class JournalTail:
    """Reads a journal from its beginning on, every event once.

    It stands at the end of the last complete line: one that is half there may be finished by its writer, or be cut
    off by whoever closes the run of a dead writer. `at_end`: the last look went to the end of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._in_long_line = False
        self.at_end = False

    def read(self) -> list[AnyEvent]:
        """The events since the last call, a few megabytes of them at most; raises StoreError."""
        with as_store_error(f"cannot read the journal {self._path}"):
            with open_run(self._path.parent) as run:
                fd, foreign = run.open(self._path.name, os.O_RDONLY), why_foreign(run)
            with os.fdopen(fd, "rb") as file:
                if self._in_long_line:
                    self._position = end_of_hole(fd, self._position)
                file.seek(self._position)
                pieces = [file.read(_PIECE_BYTES)]
                while b"\n" not in pieces[-1] and len(pieces[-1]) == _PIECE_BYTES and len(pieces) < _MAX_PIECES:
                    pieces.append(file.read(_PIECE_BYTES))
        self.at_end = len(pieces[-1]) < _PIECE_BYTES
        lines = self._lines(b"".join(pieces))
        return [in_its_place(decode_event(line), self._path.parent, foreign) for line in lines]

    def _lines(self, data: bytes) -> list[bytes]:
        *lines, torn = data.split(b"\n")
        self._position += len(data) - len(torn)
        if lines and self._in_long_line:
            self._in_long_line = False
            del lines[0]
        elif len(torn) == MAX_LINE_BYTES:  # longer than any event: told as damaged, once, and passed over
            self._position += len(torn)
            lines = [] if self._in_long_line else [torn[:DAMAGED_BYTES]]
            self._in_long_line = True
        return lines


def decode_event(line: bytes) -> AnyEvent:
    """The event that a complete line of a journal holds; never raises."""
    try:
        event = _DECODER.decode(line)
    except _UNREADABLE:
        event = _unusual(line)
    # Counting is cheap, and almost no line has so many brackets.
    deep = line.count(b"{") + line.count(b"[") > MAX_NESTING and not all(map(is_shallow, _arguments(event)))
    return _damaged(line) if deep else event


def _unusual(line: bytes) -> AnyEvent:
    try:
        record: Any = decode_json(line, object)
        kind = record["type"]
        if isinstance(kind, str) and kind not in _KINDS:
            return ev.Unknown(at=_time(record.get("at")), kind=kind, record=msgspec.Raw(line.strip()), ours=True)
        return _DECODER.decode(msgspec.json.encode(_put_right(record)))
    except (*_UNREADABLE, JsonError, TypeError, KeyError, AttributeError):
        return _damaged(line)


def _damaged(line: bytes) -> ev.Unknown:
    text = line[:DAMAGED_BYTES].decode("utf-8", "replace")
    return ev.Unknown(kind="damaged", record=msgspec.Raw(msgspec.json.encode(text)), ours=True)


def _put_right(record: dict[str, Any]) -> dict[str, Any]:
    """The record with what this version cannot take replaced by what comes nearest."""
    record |= {name: _time(record[name]) for name in _TIMES if name in record}
    if "usage" in record:
        record["usage"] = _usage(record["usage"])
    if record["type"] == "message" and isinstance(record.get("parts"), list):
        record["parts"] = [_part(part) for part in record["parts"]]
    if record["type"] == "ended":
        # However another version puts it: the run has ended, and nobody may end it again.
        record |= {name: _word(record.get(name)) for name in ("status", "reason")}
    return record


def _time(value: object) -> int:
    return int(value) if isinstance(value, int | float) and 0 <= value <= LAST_MS else 0


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    figures = [value.get(field.encode_name) for field in msgspec.structs.fields(Usage)]
    return Usage.of(*(figure if isinstance(figure, int | float) else None for figure in figures))


def _part(value: Any) -> Any:
    kind = value.get("type") if isinstance(value, dict) else None
    return value if kind in _PARTS else {"type": "other", "kind": str(kind)}


def _word(value: object) -> str:
    return value if isinstance(value, str) else "unknown"


def _arguments(event: AnyEvent) -> list[dict[str, Any]]:
    if isinstance(event, ev.Message):
        return [part.arguments for part in event.parts if isinstance(part, ev.ToolCallPart)]
    return [event.arguments] if isinstance(event, ev.ToolStarted) else []
