"""Conversations as text: retold to an agent that carries on, or shown to whoever asks for a session.

Both cut long arguments and results: the whole is in the run's journal, and the text says where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from pi_subagents.fold import RunState
from pi_subagents.models import Status
from pi_subagents.models import event as ev
from pi_subagents.prompts import files_told

ARGUMENT_CHARACTERS = 120
RESULT_CHARACTERS = 500
_MAX_FILES_NAMED = 100
"""Of those that a run was given, where there is no room for them."""
NO_OUTPUT = "(no text output from sub-agent)"

_ENCODER = msgspec.json.Encoder()


def documented_status(status: Status) -> str:
    """A run's state in the words of the `delegate` tools: running, completed or error."""
    if status is Status.COMPLETED:
        return "completed"
    return "error" if status.is_terminal else "running"


# --- get_subagent_session --------------------------------------------------------------------------------


def session_transcript(runs: Sequence[RunState], run_count: int | None = None) -> str:
    """Everything agents said and did in a session; user texts are left out.

    Of `run_count` runs these are the latest; they keep the numbers they have among all.
    """
    count = run_count or len(runs)
    return "\n---\n".join(_run_text(run, number, count) for number, run in enumerate(runs, count - len(runs) + 1))


def was_cut(runs: Sequence[RunState]) -> bool:
    """Whether the transcript of these runs leaves something out."""
    return any(run.message_count > len(run.messages) for run in runs) or any(
        _is_long(message) for run in runs for message in run.messages
    )


def _run_text(run: RunState, number: int, count: int) -> str:
    messages = [text for message in run.messages if (text := _message_text(message))]
    if run.partial_text.strip():
        messages.append(run.partial_text)
    if run.error and not _already_said(run):
        messages.append(f"[Error: {run.error}]")
    body = "\n---\n".join(messages)
    if count == 1:
        return body
    return f"=== Run {number}/{count} ({documented_status(run.status)}) ===\n{body}"


def _message_text(message: ev.Message) -> str:
    if message.role == "toolResult":
        return f"[tool result]: {_cut(message.text)}"
    if message.role != "assistant":
        return ""
    lines: list[str] = []
    for part in message.parts:
        if isinstance(part, ev.TextPart) and part.text.strip():
            lines.append(part.text)
        elif isinstance(part, ev.ToolCallPart):
            lines.append(f"→ {part.name}: {arguments_preview(part)}")
    if message.error_message:
        lines.append(f"[Error: {message.error_message}]")
    return "\n".join(lines)


def _already_said(run: RunState) -> bool:
    return bool(run.messages) and run.messages[-1].error_message == run.error


# --- resume ----------------------------------------------------------------------------------------------


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
    if run.error and not _already_said(run):
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
            yield f"Tool Result: {_cut(message.text)}"
        return
    speaker = "Assistant" if message.role == "assistant" else "User"
    for part in message.parts:
        if isinstance(part, ev.TextPart) and part.text.strip():
            yield f"{speaker}: {part.text}"
        elif isinstance(part, ev.ToolCallPart):
            yield f"Tool Call: {part.name}({arguments_preview(part)})"
    if message.error_message:
        yield f"[Error: {message.error_message}]"


# --- both ------------------------------------------------------------------------------------------------


def arguments_preview(call: ev.ToolCallPart) -> str:
    """A call's arguments as JSON, cut to the documented length."""
    return _ENCODER.encode(call.arguments).decode()[:ARGUMENT_CHARACTERS]


def _cut(text: str) -> str:
    return text if len(text) <= RESULT_CHARACTERS else f"{text[:RESULT_CHARACTERS]}..."


def _is_long(message: ev.Message) -> bool:
    if message.role == "toolResult":
        return len(message.text) > RESULT_CHARACTERS
    return any(len(_ENCODER.encode(call.arguments)) > ARGUMENT_CHARACTERS for call in message.tool_calls)
