"""The text a sub-agent is given: file contents first, then the earlier runs of its session retold, then the prompt.

A file that cannot be given never fails its task; a placeholder in its place tells the agent. Lines are
counted as editors count them: LF ends a line, and the line ending at the end of a file begins no further one.
That last line ending is left out, so one blank line separates a file from what follows whether it had one or
not; everything else, CR included, is passed on as it is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from pi_subagents.models import FileSlice, FileSpec

MAX_FILE_BYTES = 1024 * 1024


def compose_prompt(prompt: str, files: Sequence[FileSpec], cwd: Path, *, previously: str | None = None) -> str:
    """The whole text for the agent; relative file paths start at `cwd`. Reads files, raises nothing."""
    if previously is not None:
        prompt = f"Previously:\n\n{previously}\n\nInstructions:\n\n{prompt}"
    return "\n\n".join([*(_file_block(spec, cwd) for spec in files), prompt])


def task_name(prompt: str, characters: int = 60) -> str:
    """A name for a task that was given none: the first words of its prompt."""
    words = " ".join(prompt.lstrip()[: 8 * characters].split())
    return words if len(words) <= characters else f"{words[: characters - 1]}…"


def file_problems(files: Sequence[FileSpec], cwd: Path) -> list[str]:
    """What the agent would be told in place of those files that cannot be given, without the brackets."""
    problems = []
    for spec in files:
        try:
            _read_part(spec, cwd)
        except _Unreadable as error:
            problems.append(str(error))
    return problems


def _file_block(spec: FileSpec, cwd: Path) -> str:
    try:
        return _read_part(spec, cwd)
    except _Unreadable as error:
        return f"[{error}]"


class _Unreadable(Exception):  # noqa: N818 - never leaves this module
    """Why a file cannot be given."""


def _read_part(spec: FileSpec, cwd: Path) -> str:
    part = FileSlice(path=spec) if isinstance(spec, str) else spec
    try:
        data = _read_regular_file(cwd / part.path)
        return f"=== {part.path} ===\n{_select_lines(data.decode('utf-8-sig'), part)}"
    except (FileNotFoundError, NotADirectoryError):
        raise _Unreadable(f"file not found: {part.path}") from None
    except _TooLarge as error:
        raise _Unreadable(f"file too large: {part.path} ({error.kilobytes}KB, limit 1024KB)") from None
    except (OSError, ValueError):  # ValueError: not UTF-8, or a path that no file system can hold
        raise _Unreadable(f"could not read file: {part.path}") from None


class _TooLarge(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.kilobytes = (size + 512) // 1024


def _read_regular_file(path: Path) -> bytes:
    # A pipe, socket or device would block or never end; O_NONBLOCK covers one that takes the file's place.
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(f"not a regular file: {path}")
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_FILE_BYTES:
            raise _TooLarge(size)
        data: bytes | None = file.read(MAX_FILE_BYTES + 1)
    if data is None:
        raise OSError(f"nothing to read yet: {path}")
    if len(data) > MAX_FILE_BYTES:  # it grew, or it is a virtual file that reports no size
        raise _TooLarge(len(data))
    return data


def _select_lines(text: str, part: FileSlice) -> str:
    text = text.removesuffix("\n").removesuffix("\r")
    if part.head is None and part.tail is None and part.start is None and part.end is None:
        return text
    lines = text.split("\n")
    if part.head is not None:
        chosen = lines[: max(part.head, 0)]
    elif part.tail is not None:
        chosen = lines[max(len(lines) - part.tail, 0) :]
    else:
        last = len(lines) if part.end is None else max(part.end, 0)
        chosen = lines[max((part.start or 1) - 1, 0) : last]
    return "\n".join(chosen)
