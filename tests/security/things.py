"""What a stranger can put into a tree, as data: tables from names to texts, links, pipes and devices."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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
