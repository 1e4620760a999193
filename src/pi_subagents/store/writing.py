"""The record of a run that is being written: its journal, its logs, and the directory around them.

The directory is made complete under a hidden name, with its lease already held, and then renamed into place, so that no
reader ever meets a run that is half there or that nobody holds yet.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.clock import elapsed_ms
from pi_subagents.encoding import encode_any, json_facts
from pi_subagents.errors import StoreError
from pi_subagents.files import Directory
from pi_subagents.fold import RunState
from pi_subagents.harness import RunFile
from pi_subagents.models.event import Created, Event
from pi_subagents.store.cleaning import MAX_BYTES, is_binary, leave_clean, remove_placeholders
from pi_subagents.store.lease import Lease
from pi_subagents.store.record import (
    JOURNAL_FILE,
    META_FILE,
    RESULT_FILE,
    TIDY_FILE,
    as_store_error,
    list_run,
    make_runs,
    obstacle,
    open_runs,
)

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT
_MAX_LOG_BYTES = 16 * 1024 * 1024
_CUT = b"\n[the rest was not kept]\n"
_ENCODER = msgspec.json.Encoder()

_log = logging.getLogger(__name__)


def publish(
    path: Path,
    meta: dict[str, Any],
    created: Created,
    files: Iterable[RunFile] = (),
    *,
    forced: bool = True,
) -> RunRecord:
    """Make the run directory `path` with its first records and hold it; raises StoreError.

    Unless they are `forced` to the disk now, the records are when the agent has started; until then it has been told
    nothing that a power cut could make us forget.
    """
    try:
        with make_runs(path.parent) as runs, ExitStack() as undo:
            record = _make(runs, path, [*files, RunFile(META_FILE, pretty_json(meta))], undo)
            record.append([created])
            list_run(runs, path.name, created.session_id)
            runs.rename(_draft_name(path), path.name)
            if forced:
                record.sync()
                runs.sync()
            undo.pop_all()
    except OSError as error:
        raise StoreError(f"cannot keep a record of the run in {path.parent}: {obstacle(error)}") from error
    return record


def _make(runs: Directory, path: Path, files: Iterable[RunFile], undo: ExitStack) -> RunRecord:
    """The directory under its hidden name, with its files, held."""
    with runs.make_new(_draft_name(path)) as run:
        undo.callback(_discard, runs, _draft_name(path))
        lease = Lease.of_new_run(run)
        undo.callback(lease.release)
        for file in files:
            _place(run, file)
        record = RunRecord(path, run, lease)
    undo.callback(record.close)
    return record


def _draft_name(path: Path) -> str:
    return f".{path.name}.new"


def _discard(runs: Directory, name: str) -> None:
    with suppress(OSError):
        runs.remove(name)


def _place(run: Directory, file: RunFile) -> None:
    *folders, name = file.name.split("/")
    with ExitStack() as opened:
        target = opened.enter_context(run.below())
        for folder in folders:
            target = opened.enter_context(target.make(folder))
        if file.link_to is not None:
            target.link(name, file.link_to)
        else:
            target.create(name, file.content)


def force_directory(directory: Path) -> None:
    """Make what a directory with records lists survive a power cut; raises StoreError."""
    with as_store_error(f"cannot keep a record of the run in {directory}"), open_runs(directory) as runs:
        runs.sync()


class RunRecord:
    """The holder's side of a run directory, which is reached through the descriptor that holds it."""

    def __init__(self, path: Path, run: Directory, lease: Lease) -> None:
        """Raises StoreError."""
        self.path = path
        self._lease = lease
        # A lease that is kept elsewhere is no descriptor of the directory.
        self._run = Directory(lease.fileno() if lease.is_directory else os.dup(run.fileno()), path)
        self._journal = Journal(path / JOURNAL_FILE, self._run)
        self._draft: str | None = None
        self.stdout = BoundedLog(path / "stdout.log", run=self._run)
        self.stderr = BoundedLog(path / "stderr.log", run=self._run)
        self.transcript = BoundedLog(path / "transcript.log", run=self._run)

    @property
    def lease_fd(self) -> int:
        """The lease's open descriptor, to hand the run to another process."""
        return self._lease.fileno()

    @property
    def journal_bytes(self) -> int:
        """How large the journal is."""
        return self._journal.size

    @property
    def is_held_here(self) -> bool:
        """Whether we have neither let go of the run nor left it to another process."""
        return self._lease.fileno() >= 0

    def append(self, events: Iterable[Event]) -> None:
        """Write events to the journal; raises StoreError."""
        self._journal.append(events)

    def sync(self) -> None:
        """Make the journal survive a power cut; raises StoreError."""
        self._journal.sync()

    def draft_result(self, result: dict[str, Any]) -> None:
        """Write the result under a hidden name, so that publishing it needs no more room; raises StoreError."""
        with as_store_error(f"cannot write {self.path / RESULT_FILE}"):
            self._draft = self._run.draft(RESULT_FILE, pretty_json(result), sync=False)

    def publish_result(self) -> None:
        """Give the drafted result its name, if there is one; raises StoreError.

        Not before it is on the disk: a power cut would leave an empty file under that name.
        """
        draft, self._draft = self._draft, None
        if draft is not None:
            with as_store_error(f"cannot write {self.path / RESULT_FILE}"):
                self._run.sync_file(draft)
                self._run.rename(draft, RESULT_FILE)

    def remove(self, name: str) -> None:
        """Delete something of the run that is of no use after its end."""
        with suppress(OSError):
            self._run.remove(name)

    def leave_clean(
        self, temporary: Iterable[str], written: Iterable[str], change: Callable[[bytes], bytes] | None
    ) -> None:
        """Delete the agent's temporary files, except `written`, whose content `change` cleans; raises StoreError."""

        def rewrite(folder: Directory, name: str) -> bool:
            if change is None:
                return True
            if folder.status(name).st_size > MAX_BYTES:
                return False
            before = folder.read(name)
            after = change(before)
            if after != before and is_binary(before):
                return False
            if after != before:
                folder.replace(name, after)
            return True

        with as_store_error(f"cannot tidy up {self.path}"):
            leave_clean(self._run, temporary, written, rewrite)

    def remove_placeholders(self, cwd: Path, names: Iterable[str]) -> None:
        """Remove the empty directories that the agent created for its commands and left in `cwd`."""
        remove_placeholders(cwd, names)

    def is_tidy(self) -> None:
        """Nothing is left for whoever would have to close this run in our place."""
        self.remove(TIDY_FILE)

    def close(self) -> None:
        """Let go of the run; harmless when called twice."""
        self._close_files()
        self._lease.release()

    def leave(self) -> None:
        """Close our end of a run that another process holds now."""
        self._close_files()
        self._lease.leave()

    def _close_files(self) -> None:
        self.stdout.close()
        self.stderr.close()
        self.transcript.close()
        self._journal.close()
        if self._run.fileno() == self._lease.fileno():
            self._run.detach()
        self._run.close()


class Journal:
    """The writing end. Only the holder of the run's lease may have one; `run` is the record's open directory."""

    def __init__(self, path: Path, run: Directory | None = None) -> None:
        self.path = path
        with as_store_error(f"cannot open the journal {path}"):
            self._fd = _open_to_append(path, run)
        self.size = os.fstat(self._fd).st_size

    def append(self, events: Iterable[Event]) -> None:
        """Write `events` in one go; when this returns they may be shown. Raises StoreError."""
        data = memoryview(b"".join(_ENCODER.encode(event) + b"\n" for event in events))
        with as_store_error(f"cannot write the journal {self.path}"):
            while data:
                written = os.write(self._fd, data)
                self.size += written
                data = data[written:]

    def sync(self) -> None:
        """Make what was written survive a power cut. Raises StoreError."""
        with as_store_error(f"cannot write the journal {self.path}"):
            os.fsync(self._fd)

    def close(self) -> None:
        """Harmless when called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class BoundedLog:
    """Appends until the bound is reached; the file appears with the first write, in the open directory of a run."""

    def __init__(self, path: Path, max_bytes: int = _MAX_LOG_BYTES, run: Directory | None = None) -> None:
        self._path = path
        self._run = run
        self._left = max_bytes
        self._given_up = False
        self._fd = -1

    def write(self, data: bytes) -> None:
        """Keep `data` if there is room and the disk allows it."""
        if self._given_up or not data:
            return
        if len(data) > self._left:
            data = data[: self._left] + _CUT
            self._given_up = True
        self._left -= len(data)
        try:
            if self._fd < 0:
                self._fd = _open_to_append(self._path, self._run)
            os.write(self._fd, data)
        except OSError as error:
            _log.warning("cannot write %s: %s", self._path, error.strerror)
            self._given_up = True

    def close(self) -> None:
        """Harmless when called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _open_to_append(path: Path, run: Directory | None) -> int:
    if run is not None:
        return run.open(path.name, _APPEND)
    return os.open(path, _APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def result_document(state: RunState) -> dict[str, Any]:
    """The content of `result.json`: derived from the journal, and rebuilt from it when lost."""
    return {
        **json_facts(state, "run_id", "session_id", "name", "profile", "preset", "requested_model", "resolved_model"),
        **json_facts(state, "status", "reason"),
        "damaged": state.is_damaged,
        "reusedProcess": state.reused,
        **json_facts(state, "error", "exit_code", "stop_reason", "provider", "model", "thinking_level"),
        "finalText": state.text or None,
        "agent": state.agent,
        "usage": msgspec.to_builtins(state.usage),
        **json_facts(
            state, "beginning", "knows_tokens", "knows_cost", "context_used", "context_size", "changed_files", "denied"
        ),
        **json_facts(state, "tool_count", "message_count", "created_at", "started_at", "completed_at"),
        "durationMs": elapsed_ms(state.started_at, state.completed_at),
    }


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file at once, so that a reader sees the old or the new one; raises StoreError."""
    with as_store_error(f"cannot write {path}"), Directory.at(path.parent) as folder:
        folder.replace(path.name, content)


def pretty_json(value: dict[str, Any]) -> bytes:
    """A JSON document as it is kept in a run directory."""
    return msgspec.json.format(encode_any(value), indent=2) + b"\n"
