"""What the command line says agents are to do: prompts, files and standard input, which only one of them may read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click
from msgspec.structs import replace

from pi_subagents.delegation.prompts import task_name
from pi_subagents.errors import InvalidCall
from pi_subagents.models import DEFAULT_TIMEOUT_S, Task
from pi_subagents.surfaces.cli.output import Say
from pi_subagents.surfaces.cli.standard_input import read_asked, read_offered

STDIN = "-"
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
