"""What happens in a run, in words: one line for the surfaces that have no window.

What the agent says comes first; what its tools do is said when they start and when they end. An event without
news gives no line, and a line never says more than its event: arguments that are missing stay missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from pi_subagents.models import Reason, Status
from pi_subagents.models import event as ev
from pi_subagents.progress.arguments import Arguments, first_line, text_of
from pi_subagents.text import clean, clip, counted, one_line

_MEGABYTE = 1_000_000
_NOUNS = {"turn": "Model error", "summary": "Summary failed"}


def notice(event: ev.Event) -> str | None:
    """The line for an event around the conversation; None for every other one and when there is no news."""
    handler = _NOTICES.get(type(event))
    return handler(event) if handler else None


def _retry_started(event: ev.RetryStarted) -> str:
    words = f"{_NOUNS.get(event.what, 'Error')}, retrying"
    if event.delay_ms > 0:
        words += f" in {event.delay_ms / 1000:.3g} s"
    if event.attempt > 0:
        words += f" ({event.attempt}/{event.max_attempts})" if event.max_attempts else f" ({event.attempt})"
    return _with_detail(words, event.message)


def _held_back(event: ev.HeldBack) -> str:
    seconds = max(event.until - event.at, 0) / 1000
    return f"Waiting {seconds:.3g} s: {text_of(event.provider)} asked us to slow down"


def _retry_ended(event: ev.RetryEnded) -> str | None:
    if event.success:
        return None
    attempts = f" after {counted(event.attempt, 'attempt')}" if event.attempt > 0 else ""
    return _with_detail(f"{_NOUNS.get(event.what, 'Error')}, gave up{attempts}", event.message)


def _compaction_ended(event: ev.CompactionEnded) -> str:
    if event.aborted:
        return _with_detail("Compaction aborted", event.message)
    return _with_detail("Compaction failed", event.message) if event.message else "Compaction finished"


def _extension_failed(event: ev.ExtensionFailed) -> str:
    path = text_of(event.path)
    return _with_detail(f"Extension failed: {path}" if path else "Extension failed", event.message)


def _details_dropped(event: ev.DetailsDropped) -> str:
    return (
        f"The journal has reached {event.bound // _MEGABYTE:,} MB: from here on it leaves out details, "
        "such as streamed and printed text, and cuts long messages"
    )


def _file_changed(event: ev.FileChanged) -> str | None:
    path = text_of(event.path)
    return f"Changed {path}{diff_figures(event.diff)}" if path else None


def diff_figures(diff: str) -> str:
    """` (+3 -1)`: how many lines a diff adds and removes; nothing where there is none."""
    lines = diff.split("\n")
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
    return f" (+{added} -{removed})" if added or removed else ""


def _approval_requested(event: ev.ApprovalRequested) -> str:
    return _with_detail("Asks for permission", event.what or event.tool_name)


def _approval_answered(event: ev.ApprovalAnswered) -> str:
    word = "Allowed" if event.allowed else "Denied"
    if event.by == "profile":  # the line that the profile has, or could have
        return f"{word} (approvals: {'allow' if event.allowed else 'deny'})"
    return f"{word} by {text_of(event.by) or 'somebody'}"


def _with_detail(words: str, detail: str | None) -> str:
    text = text_of(detail)
    return f"{words}: {text}" if text else words


_NOTICES: dict[type[ev.Event], Callable[[Any], str | None]] = {
    ev.HeldBack: _held_back,
    ev.RetryStarted: _retry_started,
    ev.RetryEnded: _retry_ended,
    ev.CompactionStarted: lambda event: "Compacting the conversation",
    ev.CompactionEnded: _compaction_ended,
    ev.StopRequested: lambda event: _with_detail("Stopping", event.message),
    ev.FileChanged: _file_changed,
    ev.ApprovalRequested: _approval_requested,
    ev.ApprovalAnswered: _approval_answered,
    ev.ExtensionFailed: _extension_failed,
    ev.ThinkingLevelChanged: lambda event: text_of(event.note) or None,
    ev.Dropped: lambda event: f"Left out a record of {event.size} bytes: too large to keep",
    ev.DetailsDropped: _details_dropped,
}


COMMAND_CELLS = 100
"""A shell command is cut here even where lines may be longer: its beginning says what it does."""
_MAX_REMEMBERED = 1000
"""Calls and results without their counterpart; an agent has so many only if it leaves out half its events."""


class _Phrases(msgspec.Struct, frozen=True):
    """How one tool's work is put; `{}` stands for what it works on."""

    key: str
    doing: str
    done: str
    failed: str


_PHRASES = {
    "read": _Phrases("path", "Reading {}", "Finished reading {}", "Read failed: {}"),
    "grep": _Phrases("pattern", "Searching code for {}", "Search finished", "Search failed"),
    "find": _Phrases("pattern", "Scanning for {}", "Scan finished", "Scan failed"),
    "ls": _Phrases("path", "Listing {}", "Finished listing {}", "Listing failed: {}"),
    "edit": _Phrases("path", "Editing {}", "Finished editing {}", "Edit failed: {}"),
    "write": _Phrases("path", "Writing {}", "Finished writing {}", "Write failed: {}"),
    "codemode": _Phrases("code", "Running a script: {}", "Script finished", "Script failed"),
    "tool_search": _Phrases("query", "Looking for tools: {}", "Search for tools finished", "Search for tools failed"),
    "bash": _Phrases("command", "{}", "Command finished: {}", "Command failed: {}"),
}
_PHRASES["powershell"] = _PHRASES["bash"]
_END_WORDS = {Status.COMPLETED: "Completed", Status.FAILED: "Failed", Status.ABORTED: "Aborted"}


class ProgressWords:
    """Turns one run's events into lines, in order; it remembers what tools were called for.

    A tool's end is told by its `ToolEnded` and by its result's message; whichever comes first speaks. Lines
    are cut at `width` cells if it is given; with `multiline` what the agent says keeps its line breaks.
    """

    def __init__(
        self,
        *,
        width: int | None = None,
        cwd: str | None = None,
        multiline: bool = False,
    ) -> None:
        self._width = width
        self._cwd = cwd
        self._multiline = multiline
        self._subjects: dict[str, str | None] = {}
        self._told: dict[str, type[ev.Event]] = {}
        self._last_stderr: str | None = None
        self._asked: dict[str, str] = {}

    def say(self, event: ev.Event) -> str | None:
        """The line for `event`, or None if it is nothing to people."""
        handler = _HANDLERS.get(type(event))
        words = handler(self, event) if handler else notice(event)
        if not words or self._width is None:
            return words
        return "\n".join(clip(line, self._width) for line in words.split("\n"))

    def _message(self, event: ev.Message) -> str | None:
        if event.role == "toolResult":
            return self._tool_done(event, event.tool_call_id or "", event.tool_name or "", event.is_error)
        if event.role != "assistant":
            return None
        for call in event.tool_calls:
            self._remember(call.id, call.name, call.arguments)
        return self._free_text(event.text)

    def _free_text(self, text: str) -> str | None:
        if self._multiline:
            return clean(text, keep_newlines=True).strip() or None
        return one_line(text) or None

    def _tool_started(self, event: ev.ToolStarted) -> str:
        subject = self._remember(event.id, event.name, event.arguments)
        self._told.pop(event.id or event.name, None)
        phrases = _PHRASES.get(event.name)
        return phrases.doing.format(subject) if phrases and subject else f"Running {_label(event.name)}"

    def _tool_done(self, event: ev.Event, call_id: str, name: str, failed: bool) -> str | None:
        key = call_id or name
        subject = self._subjects.pop(key, None)
        if self._told.get(key, type(event)) is not type(event):
            del self._told[key]
            return None
        _put(self._told, key, type(event))
        phrases = _PHRASES.get(name)
        if phrases and subject:
            return (phrases.failed if failed else phrases.done).format(subject)
        return f"{_label(name)} {'failed' if failed else 'finished'}"

    def _remember(self, call_id: str, name: str, arguments: object) -> str | None:
        subject = self._subject(name, arguments)
        _put(self._subjects, call_id or name, subject)
        return subject

    def _subject(self, name: str, arguments: object) -> str | None:
        phrases = _PHRASES.get(name)
        if phrases is None or not isinstance(arguments, Mapping):
            return None
        if phrases.key == "command":
            command = arguments.get("command")
            line = first_line(command, cwd=self._cwd) if isinstance(command, str) else ""
            return clip(line, COMMAND_CELLS) or None
        reader = Arguments(arguments, self._cwd)
        return reader.path("path", "file_path") if phrases.key == "path" else reader.text(phrases.key)

    def _stderr(self, event: ev.Stderr) -> None:
        lines = clean(event.text, keep_newlines=True).strip().rsplit("\n", 1)
        self._last_stderr = lines[-1].strip() or self._last_stderr

    def _file_changed(self, event: ev.FileChanged) -> str | None:
        path = Arguments({"path": event.path}, self._cwd).path("path")
        return _file_changed(msgspec.structs.replace(event, path=path or ""))

    def _approval_requested(self, event: ev.ApprovalRequested) -> str:
        _put(self._asked, event.id, text_of(event.what or event.tool_name) or "")
        return _approval_requested(event)

    def _approval_answered(self, event: ev.ApprovalAnswered) -> str:
        return _with_detail(_approval_answered(event), self._asked.pop(event.id, None))

    def _ended(self, event: ev.Ended) -> str:
        words = _END_WORDS.get(event.status, event.status.value)
        if event.status is Status.COMPLETED:
            return words
        words += f": {text}" if (text := text_of(event.message)) else f" ({event.reason})"
        cause = self._last_stderr if event.reason is Reason.SPAWN else None
        return f"{words} [stderr]: {cause}" if cause and cause not in words else words


def _label(name: str) -> str:
    return text_of(name) or "tool"


def _put(memory: dict[str, Any], key: str, value: object) -> None:
    memory[key] = value
    if len(memory) > _MAX_REMEMBERED:
        del memory[next(iter(memory))]


_HANDLERS: dict[type[ev.Event], Callable[[ProgressWords, Any], str | None]] = {
    ev.Message: ProgressWords._message,
    ev.ToolStarted: ProgressWords._tool_started,
    ev.ToolEnded: lambda words, event: words._tool_done(event, event.id, event.name, event.is_error),
    ev.FileChanged: ProgressWords._file_changed,
    ev.ApprovalRequested: ProgressWords._approval_requested,
    ev.ApprovalAnswered: ProgressWords._approval_answered,
    ev.Output: lambda words, event: words._free_text(event.text),
    ev.Stderr: ProgressWords._stderr,
    ev.Ended: ProgressWords._ended,
}
