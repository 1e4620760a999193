"""A run's directory: everything that is kept of one execution of one task.

It is made complete under a hidden name, with its lease already held, and then renamed into place, so that no
reader ever meets a run that is half there or that nobody holds yet.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.encoding import encode_any
from pi_subagents.errors import StoreError
from pi_subagents.harness import RunFile
from pi_subagents.models.event import Created, Event
from pi_subagents.store.journal import JOURNAL_FILE, Journal
from pi_subagents.store.lease import SESSION_LOCKS, Lease
from pi_subagents.store.logs import BoundedLog

META_FILE = "meta.json"
RESULT_FILE = "result.json"


class RunRecord:
    """The holder's side of a run directory."""

    def __init__(self, path: Path, journal: Journal, lease: Lease) -> None:
        self.path = path
        self._journal = journal
        self._lease = lease
        self.stdout = BoundedLog(path / "stdout.log")
        self.stderr = BoundedLog(path / "stderr.log")
        self.transcript = BoundedLog(path / "transcript.log")

    @property
    def lease_fd(self) -> int:
        """The lease's open descriptor, to hand the run to another process."""
        return self._lease.fileno()

    def append(self, events: Iterable[Event]) -> None:
        """Write events to the journal; raises StoreError."""
        self._journal.append(events)

    def sync(self) -> None:
        """Make the journal survive a power cut; raises StoreError."""
        self._journal.sync()

    def draft_result(self, result: dict[str, Any]) -> None:
        """Write the result under a hidden name, so that publishing it needs no more room; raises StoreError."""
        _write_draft(self.path / RESULT_FILE, pretty_json(result))

    def publish_result(self) -> None:
        """Give the drafted result its name, if there is one; raises StoreError."""
        draft = _draft_of(self.path / RESULT_FILE)
        if draft.exists():
            _publish_draft(draft, self.path / RESULT_FILE)

    def remove(self, name: str) -> None:
        """Delete something of the run that is of no use after its end."""
        shutil.rmtree(self.path / name, ignore_errors=True)

    def rewrite(self, name: str, change: Callable[[bytes], bytes]) -> None:
        """Replace a file of the run by what `change` makes of it, if that is different; raises StoreError."""
        path = self.path / name
        try:
            before = path.read_bytes() if path.is_file() else b""
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}") from error
        if (after := change(before)) != before:
            write_whole(path, after)

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


def publish(
    path: Path, meta: dict[str, Any], created: Created, files: Iterable[RunFile] = (), *, forced: bool = True
) -> RunRecord:
    """Make the run directory `path` with its first records and hold it; raises StoreError.

    Unless they are `forced` to the disk now, the records are when the agent has started; until then it has been told
    nothing that a power cut could make us forget.
    """
    draft = path.with_name(f".{path.name}.new")
    try:
        with ExitStack() as undo:
            _make_runs_dir(path.parent)
            draft.mkdir(mode=0o700)
            undo.callback(shutil.rmtree, draft, ignore_errors=True)
            lease = Lease.take(draft)
            assert lease is not None, "a directory just made cannot be held by anybody else"
            undo.callback(lease.release)
            for file in files:
                _place(draft, file)
            _place(draft, RunFile(META_FILE, pretty_json(meta)))
            journal = Journal(draft / JOURNAL_FILE)
            undo.callback(journal.close)
            journal.append([created])
            _list_run(path, created.session_id)
            draft.rename(path)
            if forced:
                journal.sync()
                force_directory(path.parent)
            undo.pop_all()
    except OSError as error:
        raise StoreError(f"cannot keep a record of the run in {path.parent}: {error.strerror}") from error
    journal.path = path / JOURNAL_FILE
    return RunRecord(path, journal, lease)


def listed_runs(runs_dir: Path, session_id: str) -> list[str]:
    """The names of a session's runs as its list has them, oldest first; some may never have been published.

    Finding a session by its list takes the same time however many others there are. Where there is no list, the
    directory itself still tells.
    """
    with suppress(OSError):
        return (runs_dir / SESSION_LOCKS / session_id).read_text(encoding="utf-8").split()
    return []


def _list_run(path: Path, session_id: str) -> None:
    folder = path.parent / SESSION_LOCKS
    folder.mkdir(mode=0o700, exist_ok=True)
    fd = os.open(folder / session_id, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "ab", buffering=0) as file:
        file.write(f"{path.name}\n".encode())


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file at once, so that a reader sees the old or the new one; raises StoreError."""
    _write_draft(path, content)
    _publish_draft(_draft_of(path), path)


def _draft_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def _write_draft(path: Path, content: bytes) -> None:
    draft = _draft_of(path)
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise StoreError(f"cannot write {path}: {error.strerror}") from error


def _publish_draft(draft: Path, path: Path) -> None:
    try:
        draft.replace(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error


def _make_runs_dir(runs: Path) -> None:
    runs.parent.mkdir(parents=True, exist_ok=True)
    runs.mkdir(mode=0o700, exist_ok=True)
    # The second one is for search tools outside of git repositories: an agent must not find its own records.
    for path in (runs / ".gitignore", runs / ".ignore"):
        if not path.exists():
            path.write_text("*\n")


def _place(directory: Path, file: RunFile) -> None:
    target = directory / file.name
    target.parent.mkdir(mode=0o700, exist_ok=True)
    if file.link_to is not None:
        target.symlink_to(file.link_to)
        return
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as stream:
        stream.write(file.content)


def force_directory(directory: Path) -> None:
    """Make what a directory lists survive a power cut; raises StoreError."""
    try:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise StoreError(f"cannot keep a record of the run in {directory}: {error.strerror}") from error


def pretty_json(value: dict[str, Any]) -> bytes:
    """A JSON document as it is kept in a run directory."""
    return msgspec.json.format(encode_any(value), indent=2) + b"\n"
