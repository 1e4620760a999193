"""What can lie in a tree, as data: tables from names to texts, links, pipes and devices; and the files of runs."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STRANGER = 12345
"""A user id that nobody on the machine has."""


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link; `{home}`, `{clone}` and the like stand for directories of the victim's."""

    to: str


@dataclass(frozen=True, slots=True)
class HardLink:
    """A second name of a file that is elsewhere."""

    to: str


@dataclass(frozen=True, slots=True)
class Pipe:
    """A named pipe: who opens it waits for ever."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A directory where a file is expected, or one that must be there."""


@dataclass(frozen=True, slots=True)
class Text:
    """A file with a mode of its own, or of another owner; only root can give files away."""

    content: str | bytes
    mode: int = 0o644
    owner: int | None = None


Thing = str | bytes | Link | HardLink | Pipe | Folder | Text
Table = Mapping[str, Thing]


def lay_out(root: Path, table: Table, places: Mapping[str, str]) -> None:
    """Make everything in the table below `root`, in its order; `places` fills the braces of names, texts and links."""
    for name, thing in table.items():
        path = root / _fill(name, places)
        if not os.path.lexists(path.parent):
            path.parent.mkdir(parents=True)
        _make(path, thing, places)


def _make(path: Path, thing: Thing, places: Mapping[str, str]) -> None:
    match thing:
        case Link(to):
            path.symlink_to(_fill(to, places))
        case HardLink(to):
            path.hardlink_to(_fill(to, places))
        case Pipe():
            os.mkfifo(path)
        case Folder():
            path.mkdir(exist_ok=True)
        case Text(content, mode, owner):
            _write(path, content, places)
            path.chmod(mode)
            if owner is not None:
                os.chown(path, owner, owner)
        case _:
            _write(path, thing, places)


def _write(path: Path, content: str | bytes, places: Mapping[str, str]) -> None:
    path.write_bytes(content if isinstance(content, bytes) else _fill(content, places).encode())


def _fill(text: str, places: Mapping[str, str]) -> str:
    for word, path in places.items():
        text = text.replace(f"{{{word}}}", path)
    return text


State = dict[str, tuple[object, ...]]


def state_of(*roots: Path, without: tuple[Path, ...] = ()) -> State:
    """Everything below the roots as it is: kind, mode, owner, content or target, and when it was changed."""
    found: State = {}
    for root in roots:
        _look(root, found, frozenset(without))
    return found


def _look(path: Path, found: State, without: frozenset[Path]) -> None:
    if path in without:
        return
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    content: object = None
    if stat.S_ISLNK(status.st_mode):
        content = path.readlink()
    elif stat.S_ISREG(status.st_mode):
        content = path.read_bytes()
    found[str(path)] = (oct(status.st_mode), status.st_uid, status.st_mtime_ns, content)
    if stat.S_ISDIR(status.st_mode):
        for below in sorted(path.iterdir()):
            _look(below, found, without)


def differences(before: State, after: State) -> list[str]:
    """What was made, deleted or changed, one line each."""
    lines = [f"made {path}" for path in after if path not in before]
    lines += [f"deleted {path}" for path in before if path not in after]
    for path in before.keys() & after.keys():
        if before[path] != after[path]:
            pairs = zip(("mode", "owner", "time", "content"), before[path], after[path], strict=True)
            changed = [f"{what} {old!r:.80} → {new!r:.80}" for what, old, new in pairs if old != new]
            lines.append(f"changed {path}: {', '.join(changed)}")
    return sorted(lines)


# --- runs -------------------------------------------------------------------

RUNS = ".pi/subagents/runs"
GIT: Table = {".git/HEAD": "ref: refs/heads/main\n"}
OTHER_SESSION, OTHER_LOST = "0dd0000000000001", "0dd0000000000002"
OTHER_RUN, OTHER_LOST_RUN = f"20260101T000000000-{OTHER_SESSION}", f"20260101T000001000-{OTHER_LOST}"
NEIGHBOUR_SESSION = "9e00000000000001"
NEIGHBOUR = f"20260102T000000000-{NEIGHBOUR_SESSION}"


def lines(*records: Mapping[str, Any] | str | bytes) -> bytes:
    """A journal; what is no record stands there as it is."""
    parts = [record if isinstance(record, str | bytes) else json.dumps(record) for record in records]
    return b"".join((part.encode() if isinstance(part, str) else part) + b"\n" for part in parts)


def created(run: str, **more: Any) -> dict[str, Any]:
    """The first record of a run."""
    event = {"type": "created", "at": 1767225600000, "runId": run, "sessionId": run.rpartition("-")[2]}
    return {**event, "name": "task", "prompt": "Do it", "cwd": "/", "harness": "pi-json", **more}


STARTED = {"type": "started", "at": 1767225600100, "pid": 1, "containment": "guard"}
ENDED = {"type": "ended", "at": 1767225601000, "status": "completed", "reason": "settled"}


def says(text: str, **more: Any) -> dict[str, Any]:
    """A message of the agent's."""
    message = {"type": "message", "at": 1767225600500, "role": "assistant", "stopReason": "stop", **more}
    return {**message, "parts": [{"type": "text", "text": text}]}


def finished(run: str, text: str = "Well done.", *, result: bool = True, **more: Any) -> dict[str, bytes]:
    """The files of a run that was completed."""
    journal = lines(created(run, **more), STARTED, says(text), ENDED)
    files = {"events.jsonl": journal, "lease": b"", "meta.json": b"{}\n", "prompt.md": b"Do it"}
    return files | ({"result.json": b'{"status": "completed"}\n'} if result else {})


def unfinished(run: str, **more: Any) -> dict[str, bytes]:
    """The files of a run whose holder died."""
    return {"events.jsonl": lines(created(run, **more), STARTED), "lease": b"", "meta.json": b"{}\n"}


def below(folder: str, files: Mapping[str, Any]) -> dict[str, Any]:
    """A table with everything in a folder."""
    return {f"{folder}/{name}": thing for name, thing in files.items()}
