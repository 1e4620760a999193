"""What a project's files may do, and who decided it: until the user trusts a project, its files are data.

Every setting and every field of a profile is data or a power. Data describes or restricts, and counts whoever wrote it.
A power runs a program, loads code, lifts a restriction, names a key, deletes or moves something: it counts only in
files that are trusted. The reference pages and the tests are made from the tables at the end, so a setting or field
that is missing there fails them.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.encoding import JsonError, decode_json, read_json
from pi_subagents.errors import StoreError
from pi_subagents.files import Directory, belongs_to_us, read_bounded
from pi_subagents.paths import ancestors, home_dir

DECISIONS_FILE = "trust.json"
_TRUSTED_ONLY = ("settings.json", "extensions", "skills", "prompts", "themes", "SYSTEM.md", "APPEND_SYSTEM.md")

_AT_FDCWD = -100
_STATX_BTIME = 0x800
_STATX_SIZE, _MASK_OFFSET, _BTIME_OFFSET = 256, 0, 80


class Decision(msgspec.Struct, frozen=True, rename="camel"):
    """A directory that the user trusts; `born` is its birth time in nanoseconds, 0 where that is not known."""

    path: str
    device: int
    inode: int
    born: int

    @classmethod
    def about(cls, folder: Path) -> Decision:
        """The decision to trust a directory as it is now; raises OSError."""
        folder = folder.resolve(strict=True)
        status = folder.stat()
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
        return cls(str(folder), status.st_dev, status.st_ino, _born(folder, status))

    @property
    def is_lasting(self) -> bool:
        """Whether it can be told from one about another directory that gets the same path and the same numbers."""
        return self.born != 0


class _Saved(msgspec.Struct):
    trusted: list[Decision] = []


class Decisions:
    """What was decided with `pi-subagents trust`, in one file of the agent directory that only the user can read."""

    def __init__(self, agent_dir: Path) -> None:
        self._agent_dir = agent_dir
        self.path = agent_dir / "subagents" / DECISIONS_FILE

    def all(self) -> list[Decision]:
        """Every decision that can be read; none where the file is missing or damaged."""
        with suppress(OSError, JsonError):
            return decode_json(read_bounded(self.path), _Saved).trusted
        return []

    def trusts(self, folder: Path) -> bool:
        """Whether this very directory is trusted: not one above it, and not another one that had its path before."""
        decisions = self.all()
        with suppress(OSError):
            if str(folder.resolve()) in {decision.path for decision in decisions}:
                decision = Decision.about(folder)
                return decision.is_lasting and decision in decisions
        return False

    def trust(self, folder: Path) -> None:
        """Trust a directory from now on; raises StoreError."""
        try:
            decision = Decision.about(folder)
            is_ours = belongs_to_us(folder.stat())
        except OSError as error:
            raise StoreError(f"cannot trust {folder}: {error.strerror}") from error
        if not is_ours:
            raise StoreError(f"{folder} belongs to another user, so it cannot be trusted; use a copy of your own")
        if not decision.is_lasting:
            raise StoreError(
                f"cannot trust {folder} permanently: its file system does not record when it was created, so another "
                "directory could take its path and be trusted; use --trust for one call"
            )
        self._save([*self._others(decision.path), decision])

    def revoke(self, folder: Path) -> bool:
        """Trust a directory no longer, whatever it is by now; False if it was not trusted. Raises StoreError."""
        path = str(folder.resolve())
        left = self._others(path)
        if len(left) == len(self.all()):
            return False
        self._save(left)
        return True

    def _others(self, path: str) -> list[Decision]:
        return [decision for decision in self.all() if decision.path != path]

    def _save(self, decisions: list[Decision]) -> None:
        content = msgspec.json.format(msgspec.json.encode(_Saved(decisions)), indent=2) + b"\n"
        try:
            self._agent_dir.mkdir(parents=True, exist_ok=True)
            with Directory.at(self._agent_dir) as agent_dir, agent_dir.make("subagents") as folder:
                folder.replace(DECISIONS_FILE, content)
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error.strerror}") from error


def pi_decision(folder: Path, agent_dir: Path) -> bool | None:
    """What `pi` was told about a directory or the nearest one above it, else what it does without being told."""
    decisions = _read_object(agent_dir / "trust.json")
    for above in ancestors(folder.resolve()):
        decision = decisions.get(str(above))
        if isinstance(decision, bool):
            return decision
    return True if _read_object(agent_dir / "settings.json").get("defaultProjectTrust") == "always" else None


def pi_protects(cwd: Path) -> Iterator[Path]:
    """What `pi` loads from a directory only if its user trusts it."""
    folder = cwd.resolve()
    yield from (folder / ".pi" / name for name in _TRUSTED_ONLY if (folder / ".pi" / name).exists())
    users_own = home_dir().resolve() / ".agents" / "skills"
    for ancestor in ancestors(folder):
        skills = ancestor / ".agents" / "skills"
        if skills.exists() and skills != users_own:
            yield skills


def _read_object(path: Path) -> dict[str, Any]:
    try:
        value = read_json(read_bounded(path).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _born(folder: Path, status: os.stat_result) -> int:
    # An inode number is soon used again: only the time of birth tells a directory from its successor.
    if (birth := getattr(status, "st_birthtime", None)) is not None:  # Linux tells it by statx alone
        return int(birth * 1_000_000_000)
    import ctypes  # only for a project that is trusted

    buffer = ctypes.create_string_buffer(_STATX_SIZE)
    try:
        statx = ctypes.CDLL(None, use_errno=True).statx
    except (AttributeError, OSError):
        return 0
    if statx(_AT_FDCWD, os.fsencode(folder), 0, _STATX_BTIME, buffer) != 0:
        if ctypes.get_errno() in (errno.ENOSYS, errno.EPERM):
            return 0
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder))
    known = int.from_bytes(buffer.raw[_MASK_OFFSET : _MASK_OFFSET + 4], "little") & _STATX_BTIME
    seconds = int.from_bytes(buffer.raw[_BTIME_OFFSET : _BTIME_OFFSET + 8], "little", signed=True)
    nanoseconds = int.from_bytes(buffer.raw[_BTIME_OFFSET + 8 : _BTIME_OFFSET + 12], "little")
    return seconds * 1_000_000_000 + nanoseconds if known else 0


TRUST_COMMAND = "pi-subagents trust"


class Trust(msgspec.Struct, frozen=True):
    """What the user trusts, for a call that concerns one project.

    `decided` is what was decided for this call alone, by the session of the host or by the user: it wins over what is
    saved. None: nobody was asked.
    """

    agent_dir: Path
    project: Path
    decided: bool | None = None

    def objection(self, path: Path, folder: Path | None) -> str | None:
        """Why a file has no power, with what to do about it; None if it has.

        `folder` is the directory whose `.pi` the file is in; None for one of the user's own files.
        """
        return _objection_to_own(path) if folder is None else self._objection_to_project(path, folder)

    def trusts(self, folder: Path) -> bool:
        """Whether the user trusts a directory that may hold a `.pi`."""
        if self.decided is False or not _owned(folder):
            return False
        if self.decided is True and folder == self.project:
            return True
        return Decisions(self.agent_dir).trusts(folder) or pi_decision(folder, self.agent_dir) is True

    def _objection_to_project(self, path: Path, folder: Path) -> str | None:
        for part in (folder, *_below(folder, path)):
            if not _owned(part):
                return f"because {part} belongs to another user"
        if self.trusts(folder):
            return None
        if self.decided is False:
            return f"because {folder} is not trusted in this session"
        return f"because {folder} is not trusted; if you trust it, run: {trust_command(folder)}"


def trust_command(folder: Path) -> str:
    """The command that trusts a directory, to be pasted into a shell."""
    return f"{TRUST_COMMAND} {_quoted(folder)}"


def _objection_to_own(path: Path) -> str | None:
    for part in (path, path.parent):
        try:
            status = part.stat()
        except OSError:
            return None  # there is nothing to believe
        if not belongs_to_us(status):
            return f"because {part} belongs to another user"
        if _others_can_write(status):
            return f"because other users can write {part}; run: chmod go-w {_quoted(part)}"
    return None


def _others_can_write(status: os.stat_result) -> bool:
    if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_private_group(status.st_gid)


def _is_private_group(gid: int) -> bool:
    # Where every user has a group of their own, files are often writable for it, which means for nobody else.
    import grp
    import pwd

    with suppress(KeyError):
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
        return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
    return False


def _owned(path: Path) -> bool:
    try:
        return belongs_to_us(path.stat()) and belongs_to_us(path.lstat())
    except FileNotFoundError:
        return True  # it is yet to be written
    except OSError:
        return False


def _below(folder: Path, path: Path) -> list[Path]:
    """Everything on the way from a directory down to a file in it."""
    relative = path.relative_to(folder)
    return [folder / above for above in reversed(relative.parents) if above.parts] + [path]


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))


DATA = None

SETTINGS: Mapping[str, str | None] = {
    "maxLinesPerWindow": DATA,
    "commandPreviewWidth": DATA,
    "extend_timeout_debounce": DATA,
    "looping_tool_count": DATA,
    "piCommand": "runs a program",
    "containment": "lifts a restriction",
    "resumeMode": DATA,
    "maxResumeCharacters": DATA,
    "harness": "chooses how programs are run",
    "runner": "chooses how programs are run",
    "maxBackground": "lifts a limit",
    "maxDepth": "lifts a restriction",
    "warmAgents": "lets tasks share a process",
    "warmIdleSeconds": "lifts a limit",
    "warmMaxMemoryMb": "lifts a limit",
    "maxProcesses": "lifts a limit",
    "keepRunsDays": "deletes records",
    "keepSessions": "deletes records",
    "maxJournalMb": "lifts a limit",
}
"""Under `subagents` in a settings file: DATA, or what the power does."""

FIELDS: Mapping[str, str | None] = {
    "name": DATA,
    "description": DATA,
    "provider": DATA,
    "model": DATA,
    "thinkingLevel": DATA,
    "tools": DATA,
    "noTools": DATA,
    "excludeTools": DATA,
    "noExtensions": DATA,
    "extensions": "loads code",
    "noSkills": DATA,
    # A skill of the project is as good as its prompts; one from elsewhere is refused where skills are resolved.
    "suggestedSkills": DATA,
    "loadSkills": DATA,
    "noContextFiles": DATA,
    "appendSystemPrompt": DATA,
    "apiKey": "names a key",
    "extraArgs": "passes any option to the agent",
    "resumeMode": DATA,
    "harness": "chooses how programs are run",
    "agent": "chooses which program is run",
    "program": "runs a program",
    "mode": "lifts a restriction",
    "approvals": "lifts a restriction",
    "inherit": "loads code",
    "maxTurns": DATA,
    "maxCost": DATA,
    "timeout": DATA,
}
"""In the frontmatter of a profile or preset: DATA, or what the power does."""
