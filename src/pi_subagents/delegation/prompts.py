"""The text a sub-agent is given: file contents first, then the earlier runs of its session retold, then the prompt.

A file that cannot be given never fails its task; a placeholder in its place tells the agent. Lines are
counted as editors count them: LF ends a line, and the line ending at the end of a file begins no further one.
That last line ending is left out, so one blank line separates a file from what follows whether it had one or
not; everything else, CR included, is passed on as it is.
"""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pi_subagents.export.transcripts import already_said, arguments_preview, cut
from pi_subagents.fold import RunState
from pi_subagents.models import FileSlice, FileSpec
from pi_subagents.models import event as ev
from pi_subagents.progress import documented_status

MAX_FILE_BYTES = 1024 * 1024
_PREVIOUSLY = re.compile(r"(?:\A|(?<=\n\n))Previously:\n\n(?=--- Run \d+ \(|User: )")
"""As a retelling begins; a file may hold such a paragraph too."""
_BETWEEN_BLOCKS = re.compile(r"\n\n(?==== [^\n]+ ===\n|\[(?:file not found|could not read file|file too large): )")


def compose_prompt(prompt: str, files: Sequence[FileSpec], cwd: Path, *, previously: str | None = None) -> str:
    """The whole text for the agent; relative file paths start at `cwd`. Reads files, raises nothing."""
    if previously is not None:
        prompt = f"Previously:\n\n{previously}\n\nInstructions:\n\n{prompt}"
    return "\n\n".join([*(_file_block(spec, cwd) for spec in files), prompt])


def task_name(prompt: str, characters: int = 60) -> str:
    """A name for a task that was given none: the first words of its prompt."""
    words = " ".join(prompt.lstrip()[: 8 * characters].split())
    return words if len(words) <= characters else f"{words[: characters - 1]}…"


def files_told(text: str, prompt: str, count: int, *, resumed: bool) -> list[str]:
    """The blocks of `count` files, or what looks like more, in a text that `compose_prompt` made.

    There are none where the text does not end with the prompt.
    """
    if not text.endswith(prompt):
        return []
    told = text.removesuffix(prompt)
    if resumed:
        further = [between.start() for between in _BETWEEN_BLOCKS.finditer(told)]
        ends = (previously.start() for previously in _PREVIOUSLY.finditer(told))
        told = told[: next((end for end in ends if bisect_left(further, end) + 1 >= count), None)]
    told = told.removesuffix("\n\n")
    return _BETWEEN_BLOCKS.split(told) if told else []


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


# --- earlier runs of a session, retold to the agent that carries on -----------------------------------------

_MAX_FILES_NAMED = 100
"""Of those that a run was given, where there is no room for them."""


class Told(NamedTuple):
    """A run, and what its agent was told at first: with files, and with what happened before."""

    run: RunState
    text: str = ""


def retelling(runs: Sequence[Told], max_characters: int, run_count: int | None = None) -> str:
    """A session's runs for the agent that continues it.

    If they are too long, the oldest are shortened first: the contents of files, which can be read again, then the
    middle of what was said and done.
    """
    count = run_count or len(runs)
    retold = [_retold_run(told, number, count) for number, told in enumerate(runs, count - len(runs) + 1)]
    excess = sum(len(run.text) + 2 for run in retold) - max_characters
    for run in retold:
        excess -= run.shorten(excess)
    return "\n\n".join(run.text for run in retold)


@dataclass
class _Retold:
    heading: list[str]
    files: list[str]
    said: str

    @property
    def text(self) -> str:
        told = (
            ["\n\n".join([f"User: {self.files[0]}", *self.files[1:], self.said])]
            if self.files
            else [f"User: {self.said}"]
        )
        return "\n\n".join([*self.heading, *told])

    def shorten(self, excess: int) -> int:
        """Leave out as much as is too much, where there is so much; how much it was."""
        left = excess
        for index, block in enumerate(self.files):
            if left <= 0:
                break
            self.files[index] = _without_end(block, left)
            left -= len(block) - len(self.files[index])
        if left > 0 and (further := self.files[_MAX_FILES_NAMED:]):
            # A file can look like thousands of them.
            self.files[_MAX_FILES_NAMED:] = [f"[… {len(further):,} more files left out …]"]
            left -= len("\n\n".join(further)) - len(self.files[-1])
        if left > 0:
            said, self.said = self.said, _without_middle(self.said, left)
            left -= len(said) - len(self.said)
        return excess - left


def _without_end(block: str, excess: int) -> str:
    """The block of a file, with its name and as much of its beginning as there is room for."""
    name, _, content = block.partition("\n")
    mark = f"\n[… {min(excess + 200, len(content)):,} characters of this file left out …]"
    if len(content) <= len(mark):
        return block
    return f"{name}\n{content[: max(len(content) - excess - len(mark), 0)]}{mark}"


def _without_middle(text: str, excess: int) -> str:
    mark = f"\n\n[… {min(excess + 200, len(text)):,} characters of this run left out …]\n\n"
    keep = len(text) - excess - len(mark)
    if keep <= 0:
        return mark.strip()
    return text[: keep // 2] + mark + text[len(text) - (keep - keep // 2) :]


def _retold_run(told: Told, number: int, count: int) -> _Retold:
    run = told.run
    said = [run.prompt, *_retold_messages(run)]
    if run.error and not already_said(run):
        said.append(f"[Error: {run.error}]")
    status = documented_status(run.status)
    heading = [f"--- Run {number} ({status}, {run.message_count} messages) ---"] if count > 1 else []
    files = files_told(told.text, run.prompt, run.file_count, resumed=number > 1)
    return _Retold(heading, files, "\n\n".join(said))


def _retold_messages(run: RunState) -> Iterator[str]:
    # The first user message is the task, which has been told without the earlier runs that came with it.
    first_user = next((message for message in run.messages if message.role == "user"), None)
    for message in run.messages:
        if message is first_user and run.message_count == len(run.messages):
            continue
        yield from _retold_message(message)


def _retold_message(message: ev.Message) -> Iterator[str]:
    if message.role == "toolResult":
        if message.text.strip():
            yield f"Tool Result: {cut(message.text)}"
        return
    speaker = "Assistant" if message.role == "assistant" else "User"
    for part in message.parts:
        if isinstance(part, ev.TextPart) and part.text.strip():
            yield f"{speaker}: {part.text}"
        elif isinstance(part, ev.ToolCallPart):
            yield f"Tool Call: {part.name}({arguments_preview(part)})"
    if message.error_message:
        yield f"[Error: {message.error_message}]"
