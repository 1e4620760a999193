"""Earlier runs of a session, retold to the agent that carries on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from pi_subagents.export.transcripts import already_said, arguments_preview, cut
from pi_subagents.fold import RunState
from pi_subagents.models import event as ev
from pi_subagents.progress import documented_status
from pi_subagents.text.patterns import pattern

_MAX_FILES_NAMED = 100
"""Of those that a run was given, where there is no room for them."""
_PREVIOUSLY = pattern(r"(?:\A|(?<=\n\n))Previously:\n\n(?=--- Run \d+ \(|User: )")
"""As a retelling begins; a file may hold such a paragraph too."""
_BETWEEN_BLOCKS = pattern(r"\n\n(?==== [^\n]+ ===\n|\[(?:file not found|could not read file|file too large): )")


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


class _Retold(msgspec.Struct):
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
