"""What the command line says agents are to do: prompts, files, and standard input, which is read once, to its end.

Whoever gives `-` wants standard input and waits for it. Otherwise it is read where something can be in it, a pipe, a
socket or a file, and a pipe that says nothing is not waited for: cron jobs, CI and programs that start programs leave
one open that nobody ever writes to or closes.
"""

from __future__ import annotations

import os
import select
import stat
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import click
from msgspec.structs import replace

from pi_subagents.delegation.prompts import task_name
from pi_subagents.errors import InvalidCall
from pi_subagents.models import DEFAULT_TIMEOUT_S, Task
from pi_subagents.surfaces.cli.output import Say, echo
from pi_subagents.text import data_size

STDIN = "-"
MAX_BYTES = 10_000_000
"""Of standard input; more than any model reads at once."""
FIRST_BYTE_S = 10.0
"""How long a pipe that nobody asked for may take to begin; `git diff` and `gh` are quicker."""
_PATIENCE_S = 1.0
"""How long to wait without a word."""
_CHUNK_BYTES = 1 << 16
_NAME_CHARACTERS = 120
"""As wide as a terminal may show it; whoever has less room cuts it."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """`texts` as they were given, the files that go before each, and what of standard input goes around each."""

    texts: tuple[str, ...]
    files: tuple[str, ...]
    before: str = ""
    after: str = ""

    def around(self, task: Task, timeout_s: float | None) -> Task:
        """A task of a file with what is said for all; its own time limit goes before that."""
        own = task.timeout != DEFAULT_TIMEOUT_S
        return replace(
            task,
            prompt=self.whole(task.prompt),
            files=(*self.files, *task.files),
            timeout=task.timeout if own or timeout_s is None else timeout_s,
        )

    def whole(self, text: str) -> str:
        """What an agent is told."""
        return f"{self.before}{text}{self.after}"


def read_prompts(texts: Sequence[str], files: Sequence[str], say: Say) -> Prompts:
    """Prompts with standard input in its place: of `-`, before each with `--files -`, else behind each.

    Raises InvalidCall.
    """
    readers = texts.count(STDIN) + files.count(STDIN)
    if readers > 1:
        raise click.UsageError("standard input can be read only once; use '-' for one PROMPT or for --files")
    _require_text(texts)
    others = tuple(file for file in files if file != STDIN)
    if STDIN in files:
        return Prompts(tuple(texts), others, before=f"=== standard input ===\n{_trimmed(read_asked(say))}\n\n")
    if readers:
        asked = read_asked(say)
        told = tuple(asked if text == STDIN else text for text in texts)
        _require_text(told)
        return Prompts(told, others)
    offered = read_offered(say)
    return Prompts(tuple(texts), others, after=f"\n\n{_trimmed(offered)}" if offered.strip() else "")


def tasks_of(prompts: Prompts, timeout_s: float | None) -> list[Task]:
    """A task for each prompt, named after its words."""
    return [
        Task(
            f"{number}: {task_name(text, _NAME_CHARACTERS)}",
            prompts.whole(text),
            timeout=timeout_s or DEFAULT_TIMEOUT_S,
            files=prompts.files,
        )
        for number, text in enumerate(prompts.texts, 1)
    ]


def _require_text(texts: Sequence[str]) -> None:
    for number, text in enumerate(texts, 1):
        if not text.strip():
            raise InvalidCall(f"prompt {number} is empty")


def _trimmed(text: str) -> str:
    """As of a file: the line ending at its end begins no further line."""
    return text.removesuffix("\n").removesuffix("\r")


def read_asked(say: Say) -> str:
    """The whole text, however long that takes; raises InvalidCall for what is no text or too much of it."""
    fd = _descriptor()
    return _text(_read(fd, None, "end it with Ctrl+D", say) or b"", say) if fd is not None else sys.stdin.read()


def read_offered(say: Say) -> str:
    """What a pipe or a file holds, nothing where there is none; raises InvalidCall as above."""
    fd = _descriptor()
    if fd is None or not _may_hold_text(fd):
        return ""
    data = _read(fd, FIRST_BYTE_S, "</dev/null skips it", say)
    if data is None:
        echo(  # also to those who want to hear of nothing else: it changes what the agents are told
            f"warning: standard input is open, but nothing came in {FIRST_BYTE_S:g} s: starting without it. "
            "To wait for it, use --files -",
            err=True,
        )
    return _text(data or b"", say)


def _descriptor() -> int | None:
    """None where a program that calls us has put something of its own in the place of standard input."""
    try:
        return sys.stdin.fileno()
    except OSError:
        return None


def _may_hold_text(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _read(fd: int, first_byte_s: float | None, way_out: str, say: Say) -> bytes | None:
    """Everything up to the end; None if nothing came for so long."""
    data = bytearray()
    began, told = time.monotonic(), False
    while True:
        waiting_s = None if data or first_byte_s is None else first_byte_s - (time.monotonic() - began)
        if not _is_ready(fd, waiting_s if told else _PATIENCE_S):
            if told:
                return None
            told = True
            say(f"Reading standard input…; {way_out}.")
            continue
        with suppress(BlockingIOError):  # whoever shares the pipe has made it so, and was faster
            piece = os.read(fd, _CHUNK_BYTES)
            if not piece:
                return bytes(data)
            data += piece
        if len(data) > MAX_BYTES:
            raise InvalidCall(
                f"standard input is larger than {data_size(MAX_BYTES)}, which no model can read; "
                "save it to a file and have the agent read that"
            )


def _is_ready(fd: int, within_s: float | None) -> bool:
    return bool(select.select([fd], [], [], None if within_s is None else max(within_s, 0))[0])


def _text(data: bytes, say: Say) -> str:
    if b"\0" in data:
        raise InvalidCall("standard input is binary data, not text; save it to a file and name that in the prompt")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        say("warning: standard input is not all UTF-8; invalid bytes were replaced by �")
        return data.decode("utf-8-sig", "replace")
