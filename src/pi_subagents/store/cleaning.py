"""Cleans up what an agent wrote into its run directory: at the end only its conversation stays, without keys.

An agent program keeps its configuration, caches and databases there, in a place of its own. After the run they are of
no use, except for the files of its conversation. None of them can be trusted: the agent may have put anything there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from pi_subagents.errors import StoreError
from pi_subagents.files import Directory, is_word
from pi_subagents.store.record import open_run

Rewrite = Callable[[Directory, str], bool]
"""Takes the keys out of a file; False if only deleting the file removes them."""

MAX_BYTES = 512 * 1024 * 1024
"""For a conversation that is to be continued; all of it is in memory for a moment. No keys are sought in a larger one:
it may be one hole of many terabytes.
"""
_MAX_FILES = 1000


def leave_clean(run: Directory, temporary: Iterable[str], written: Iterable[str], rewrite: Rewrite) -> None:
    """Remove what is `temporary`, except what matches `written`: that is rewritten. Raises OSError."""
    patterns = [words for pattern in written if all(map(is_word, words := pattern.split("/")))]
    _rewrite_all(run, [name for (name,) in (words for words in patterns if len(words) == 1)], rewrite)
    for name in temporary:
        _prune(run, name, [words[1:] for words in patterns if words[0] == name and len(words) > 1], rewrite)


def remove_placeholders(cwd: Path, names: Iterable[str]) -> None:
    """Remove the directories with these names that are empty, if all of them are there.

    None was there before the run, and the agent creates them all at once: fewer are somebody else's.
    """
    with suppress(OSError, ValueError):  # one is missing, or no valid path
        paths = [cwd / name for name in names if is_word(name)]
        for path in paths:
            path.lstat()
        for path in paths:
            with suppress(OSError):  # not empty, or no directory
                path.rmdir()


def _prune(parent: Directory, name: str, patterns: Sequence[Sequence[str]], rewrite: Rewrite) -> bool:
    """Remove everything in a folder that matches no pattern; returns whether anything is left."""
    if not parent.has(name):
        return False
    if not patterns or not stat.S_ISDIR(parent.status(name).st_mode):
        parent.remove(name)
        return False
    parent.open_up(name)
    with parent.below(name) as folder:
        kept = [inner for inner in folder.names() if _is_kept(folder, inner, patterns, rewrite)]
        kept = [inner for inner in kept if stat.S_ISDIR(folder.status(inner).st_mode)] + _rewrite_all(
            folder, [inner for inner in kept if stat.S_ISREG(folder.status(inner).st_mode)], rewrite
        )
    if not kept:
        parent.remove(name)
    return bool(kept)


def _is_kept(folder: Directory, name: str, patterns: Sequence[Sequence[str]], rewrite: Rewrite) -> bool:
    """Whether an entry of a folder is kept; if not, it is removed. A folder is pruned in turn."""
    matching = [words for words in patterns if fnmatchcase(name, words[0])]
    deeper = [words[1:] for words in matching if len(words) > 1]
    if len(deeper) < len(matching) and stat.S_ISREG(folder.status(name).st_mode):
        return True
    return _prune(folder, name, deeper, rewrite)


def _rewrite_all(folder: Directory, names: Sequence[str], rewrite: Rewrite) -> list[str]:
    """Rewrite files that belong together, such as those of a database; returns those kept: all or none."""
    present = [name for name in names if _is_plain(folder, name)]
    for name in present:
        os.chmod(name, 0o600, dir_fd=folder.fileno(), follow_symlinks=True)
    if all(rewrite(folder, name) for name in present):
        return present
    for name in present:
        folder.unlink(name)
    return []


def _is_plain(folder: Directory, name: str) -> bool:
    """Whether it is a plain file; anything else under that name was put there by the agent, and is removed."""
    if not folder.has(name):
        return False
    status = folder.status(name)
    if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
        return True
    folder.remove(name)
    return False


def is_binary(head: bytes) -> bool:
    """Whether a file that begins like this is binary: replacing a key in it would break it."""
    return b"\0" in head


# --- reading them back ----------------------------------------------------------------------------------------


def read_matching(run_dir: Path, patterns: Sequence[str]) -> dict[str, bytes]:
    """The matching files of a run, by name; empty if none matches the first pattern, or if they are too large."""
    found: dict[str, bytes] = {}
    try:
        with open_run(run_dir) as run:
            for pattern in patterns:
                names = _matching(run, pattern.split("/"))
                if len(found) + len(names) > _MAX_FILES:
                    return {}
                for name in names:
                    found[name] = _read(run, name, MAX_BYTES - sum(map(len, found.values())))
                if not found:
                    return {}
    except (OSError, StoreError):
        return {}
    return found


def _matching(folder: Directory, words: Sequence[str]) -> list[str]:
    names = [name for name in folder.names() if fnmatchcase(name, words[0])]
    if len(words) == 1:
        return [name for name in names if stat.S_ISREG(folder.status(name).st_mode)]
    found = []
    for name in names:
        if stat.S_ISDIR(folder.status(name).st_mode):
            with folder.below(name) as inner:
                found += [f"{name}/{below}" for below in _matching(inner, words[1:])]
    return found


def _read(run: Directory, name: str, max_bytes: int) -> bytes:
    *folders, file = name.split("/")
    with run.below(*folders) as folder:
        return folder.read(file, max_bytes)
