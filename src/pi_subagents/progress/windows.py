"""A window: the rolling view of one run that people watch, as a fold over its events.

Facts (status, usage, counts, times) are read from the run's state and never counted again here; a window adds
its lines and the live area below them.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, Literal

import msgspec

from pi_subagents.encoding import json_facts
from pi_subagents.fold import RunState
from pi_subagents.models import Status
from pi_subagents.models import event as ev
from pi_subagents.progress.arguments import text_of
from pi_subagents.progress.history import MAX_MESSAGES, History, WindowLine
from pi_subagents.progress.previews import output_lines, preview_tool_call, summarise_tool_result
from pi_subagents.progress.words import notice
from pi_subagents.text import Segment, Style, clean, clip, clip_start, shorten_path

DEFAULT_MAX_LINES = 15
DEFAULT_PREVIEW_WIDTH = 160
MAX_PARTIAL_CHARS = 8192
"""Only the end of what is being written is ever shown: this fills a large screen."""
MAX_LINE_CELLS = 2000
"""A line longer than any screen is cut; the run's record keeps it whole."""
_MAX_NESTED_CALLS = 20
"""A script may make thousands of calls; the first few say what it is about."""
_MAX_REMEMBERED_CALLS = 500
_NAMES_A_FILE = ("→ edit → ", "→ write → ")
"""Calls whose line says already which file is changed, and how."""
_MAX_TEXT_LINES = 4 * MAX_MESSAGES
_MAX_TEXT_CHARACTERS = MAX_MESSAGES * MAX_LINE_CELLS

_TOLD_OF_OTHERS = ("beginning", "knows_tokens", "knows_cost", "context_used", "context_size", "changed_files", "denied")
WindowStatus = Literal["running", "completed", "error"]


def documented_status(status: Status) -> WindowStatus:
    """A run's state in the words of windows and of the `delegate` tools."""
    if status is Status.COMPLETED:
        return "completed"
    return "error" if status.is_terminal else "running"


class LiveArea:
    """What is going on at this moment, below the lines: unfinished text, a tool's output, a notice.

    It is gone once the finished message or result is there, and no record of it is kept. Takes pieces as they come and
    puts them together only when somebody looks.
    """

    def __init__(self) -> None:
        self._deltas: deque[ev.Delta] = deque()
        self._chars = 0
        self._shown: dict[str, str | None] = {}

    def write(self, delta: ev.Delta) -> bool:
        """Add a piece of a message; arguments of a tool call are not shown before they are complete."""
        if delta.kind == "toolCall" or not delta.text:
            return False
        self._deltas.append(delta)
        self._chars += len(delta.text)
        while self._chars - len(self._deltas[0].text) >= MAX_PARTIAL_CHARS:
            self._chars -= len(self._deltas.popleft().text)
        self.show("notice", None)
        return True

    def show(self, what: Literal["tool line", "notice", "stopping"], words: str | None) -> bool:
        """Show a tool's last line, a notice until something new happens, or that the run is stopped; None: no more."""
        changed = words != self._shown.get(what)
        self._shown[what] = words
        return changed

    def clear_message(self) -> bool:
        """The message is complete, or a new one begins."""
        changed = bool(self._deltas)
        self._deltas.clear()
        self._chars = 0
        return self.show("notice", None) or changed

    def lines(self) -> list[Segment]:
        """The area line by line; thoughts are dim."""
        lines = list(self._message_lines())
        if output := clean(self._shown.get("tool line") or "").strip():
            lines.append((Style.DIM, f"  {clip(output, MAX_LINE_CELLS)}"))
        return lines + [(Style.WARNING, words) for what in ("notice", "stopping") if (words := self._shown.get(what))]

    def _message_lines(self) -> Iterator[Segment]:
        self._join_deltas()
        for delta in self._deltas:
            style = Style.DIM if delta.kind == "thinking" else Style.TEXT
            for line in clean(delta.text, keep_newlines=True).split("\n"):
                if line := line.rstrip():
                    yield style, clip_start(line, MAX_LINE_CELLS)  # its end is what is new

    def _join_deltas(self) -> None:
        """Keep what was put together for this look, so that the next one has only the new pieces to add."""
        runs = [
            (kind, "".join(delta.text for delta in run))
            for kind, run in groupby(self._deltas, lambda delta: delta.kind)
        ]
        self._deltas = deque(ev.Delta(kind=kind, text=text[-MAX_PARTIAL_CHARS:]) for kind, text in runs)
        self._chars = sum(len(delta.text) for delta in self._deltas)


class Window:
    """Lines and live area of one run; the caller folds an event into `state` first, then applies it here."""

    def __init__(
        self,
        state: RunState,
        *,
        max_lines: int = DEFAULT_MAX_LINES,
        preview_width: int = DEFAULT_PREVIEW_WIDTH,
    ) -> None:
        self.state = state
        self.max_lines = max_lines
        self.preview_width = preview_width
        self.run_dir: str | None = None
        self._history = History()
        self._live = LiveArea()
        self._calls: dict[str, WindowLine] = {}
        self._running: dict[str, int] = {}
        self._asked: dict[str, ev.ApprovalRequested] = {}
        self._answered: dict[str, tuple[WindowLine, str]] = {}
        self._denied: set[str] = set()

    def apply(self, event: ev.Event) -> bool:
        """Take in one event; True if the window looks different now."""
        handler = _HANDLERS.get(type(event))
        return False if handler is None else handler(self, event)

    @property
    def status(self) -> WindowStatus:
        return documented_status(self.state.status)

    @property
    def lines(self) -> list[WindowLine]:
        """The last `max_lines` lines."""
        return self._history.last(self.max_lines)

    @property
    def all_messages(self) -> list[WindowLine]:
        """The last 500 lines."""
        return self._history.last()

    def running_since(self) -> dict[int, int]:
        """When the tools that run now were started (ms), by the identity of the last line of their call."""
        calls = ((self._calls.get(call_id), at) for call_id, at in self._running.items())
        return {id(line): at for line, at in calls if line is not None}

    @property
    def live_lines(self) -> list[Segment]:
        """What is going on right now, a segment per line."""
        return self._live.lines()

    def elapsed_ms(self, now_ms: int) -> int:
        """How long the run has been going; once it has ended, how long it went."""
        if self.state.started_at is None:
            return 0
        end = now_ms if self.state.completed_at is None else self.state.completed_at
        return max(end - self.state.started_at, 0)

    def to_details(self) -> dict[str, object]:
        """The window as the `details` of `delegate_to_subagents` carry it."""
        lines, everything = ([_told(line) for line in which] for which in (self.lines, self.all_messages))
        return {**self.to_facts(), "lines": lines, "allMessages": everything}

    def to_facts(self) -> dict[str, object]:
        """The same without its lines."""
        state = self.state
        return {
            "name": _safe(state.name),
            "sessionId": state.session_id,
            "status": self.status,
            "exitCode": state.exit_code,
            "model": _safe(state.model),
            "stopReason": state.stop_reason,
            "errorMessage": _safe(state.error),
            "profileName": state.asked_as,
            "provider": _safe(state.provider),
            "thinkingLevel": state.thinking_level,
            "timeout": state.timeout_s,
            "todoTotal": state.todo_total,
            "todoCompleted": state.todo_completed,
            "toolCount": state.tool_count,
            "fileCount": state.file_count,
            "startedAt": state.started_at,
            "completedAt": state.completed_at,
            "runId": state.run_id,
            "runDir": self.run_dir,
            "usage": state.usage.to_json(),
            "reason": None if state.reason is None else state.reason.value,
            **told_besides(state),
        }

    def _message(self, event: ev.Message) -> bool:
        if event.role == "toolResult":
            return self._tool_result(event)
        if event.role != "assistant":
            return False
        self._live.clear_message()
        for part in event.parts:
            if isinstance(part, ev.TextPart):
                self._add_text(part.text)
            elif isinstance(part, ev.ToolCallPart):
                self._add_call(part.id, part.name, part.arguments)
        return True

    def _tool_result(self, event: ev.Message) -> bool:
        changed = self._tool_ended(event.tool_call_id or "")
        call = self._calls.get(event.tool_call_id or "")
        nested = [self._preview(made.name, made.arguments)[0] for made in event.nested_calls[:_MAX_NESTED_CALLS]]
        below = [WindowLine(f"  → {preview}", "tool") for preview in nested]
        summary = summarise_tool_result(event.tool_name or "", event.text, was_cut=event.truncated)
        if summary is not None and not event.is_error:
            below.insert(0, WindowLine(f"  {summary}", "tool"))
        # For `pi` the lines are those of the reference, and whoever reads `Denied` knows that it failed.
        if event.is_error and self.state.other_agent and event.tool_call_id not in self._denied:
            below.insert(0, WindowLine(_failure(event.text), "tool"))
        self._history.insert_below(call, *below)
        if event.tool_call_id and call is not None and (output := tuple(output_lines(event.text))):
            last = self._history.add_output(below[-1] if below else call, output)
            self._calls[event.tool_call_id] = last or call  # where a second result goes
            changed |= last is not None
        return changed or bool(below)

    def _message_started(self, event: ev.MessageStarted) -> bool:
        return event.role == "assistant" and self._live.clear_message()

    def _add_text(self, text: str, *, prefix: str = "") -> bool:
        # The end of a long text fills the window more than once.
        end = clean(text[-_MAX_TEXT_CHARACTERS:], keep_newlines=True).rsplit("\n", _MAX_TEXT_LINES)
        lines = [line for line in end[-_MAX_TEXT_LINES:] if line.strip()]
        for line in lines:
            self._history.append(WindowLine(clip(prefix + line.rstrip(), MAX_LINE_CELLS)))
        return bool(lines)

    def _add_call(self, call_id: str, name: str, arguments: object) -> bool:
        if call_id in self._calls:
            return False
        first, *more = self._preview(name, arguments)
        lines = [WindowLine(f"→ {first}", "tool"), *(WindowLine(f"  {text}", "tool") for text in more)]
        for line in lines:
            self._history.append(line)
        if answered := self._answered.pop(call_id, None):
            line, words = answered
            self._history.remove(line)
            self._put_below(lines[-1], words)
        if call_id:
            self._calls[call_id] = lines[-1]
            if len(self._calls) > _MAX_REMEMBERED_CALLS:
                del self._calls[next(iter(self._calls))]
        return True

    def _tool_started(self, event: ev.ToolStarted) -> bool:
        if event.at and len(self._running) < _MAX_REMEMBERED_CALLS:
            self._running[event.id] = event.at
        return self._add_call(event.id, event.name, event.arguments)

    def _tool_ended(self, call_id: str) -> bool:
        self._running.pop(call_id, None)
        return self._live.show("tool line", None)

    def _preview(self, name: str, arguments: object) -> list[str]:
        return preview_tool_call(name, arguments, width=self.preview_width, cwd=self.state.cwd).split("\n")

    def _started(self, _event: ev.Started) -> bool:
        self._live.show("notice", None)
        return True

    def _ended(self, _event: ev.Ended) -> bool:
        self._running.clear()
        self._live.show("notice", None)
        self._live.show("tool line", None)
        self._live.show("stopping", None)
        return True

    def _lost(self, event: ev.Event) -> bool:
        """What is missing from the window for good stays visible in it."""
        return self._add_text(notice(event) or "")

    def _noticed(self, event: ev.Event) -> bool:
        return self._live.show("notice", notice(event))

    def _file_changed(self, event: ev.FileChanged) -> bool:
        call = self._calls.get(event.tool_call_id or "")
        if call is not None and call.text.startswith(_NAMES_A_FILE):
            return False
        path = shorten_path(clean(event.path), cwd=self.state.cwd, home=os.environ.get("HOME"))
        words = notice(msgspec.structs.replace(event, path=path))
        return words is not None and bool(self._put_below(call, words))

    def _approval_requested(self, event: ev.ApprovalRequested) -> bool:
        if len(self._asked) < _MAX_REMEMBERED_CALLS:
            self._asked[event.id] = event
        return self._noticed(event)

    def _approval_answered(self, event: ev.ApprovalAnswered) -> bool:
        self._live.show("notice", None)
        asked = self._asked.pop(event.id, None)
        call_id = (asked.tool_call_id or "") if asked else ""
        call = self._calls.get(call_id)
        words = notice(event) or ""
        what = f": {text_of(asked.what)}" if asked and asked.what and call is None else ""
        line = self._put_below(call, f"{words}{what}")
        if not event.allowed and call_id and len(self._denied) < _MAX_REMEMBERED_CALLS:
            self._denied.add(call_id)
        # The call may come later; that of an agent's own sub-agent never does.
        if call_id and call is None and len(self._answered) < _MAX_REMEMBERED_CALLS:
            self._answered[call_id] = line, words
        return True

    def _put_below(self, call: WindowLine | None, words: str) -> WindowLine:
        """Put a line below the call that it is about, or at the end if there is none."""
        line = WindowLine(clip(f"  {words}" if call else words, MAX_LINE_CELLS), "tool")
        self._history.insert_below(call, line)
        return line


def _failure(text: str) -> str:
    """What is said below a call that failed, with the first line of its result."""
    first = next(filter(None, output_lines(text)), "")
    return f"  Failed: {first}" if first else "  Failed"


def told_besides(state: RunState) -> dict[str, object]:
    """Further facts, for programs, of a run that resumes a session or whose agent is not `pi`."""
    if state.other_agent is not None:
        return {"agent": state.other_agent, **json_facts(state, *_TOLD_OF_OTHERS)}
    return {} if state.beginning == "fresh" else json_facts(state, "beginning")


def _told(line: WindowLine) -> dict[str, str]:
    return {"text": line.text, "kind": line.kind}


def _safe(text: str | None) -> str | None:
    return None if text is None else clean(text, keep_newlines=True)


_HANDLERS: dict[type[ev.Event], Callable[[Window, Any], bool]] = {
    ev.Delta: lambda window, event: window._live.write(event),
    ev.Message: Window._message,
    ev.MessageStarted: Window._message_started,
    ev.ToolStarted: Window._tool_started,
    ev.ToolProgress: lambda window, event: window._live.show("tool line", event.line),
    ev.ToolEnded: lambda window, event: window._tool_ended(event.id),
    ev.Output: lambda window, event: window._add_text(event.text),
    ev.Stderr: lambda window, event: window._add_text(event.text, prefix="[stderr]: "),
    **dict.fromkeys((ev.ExtensionFailed, ev.Dropped, ev.DetailsDropped), Window._lost),
    **dict.fromkeys((ev.HeldBack, ev.RetryStarted, ev.RetryEnded), Window._noticed),
    **dict.fromkeys((ev.CompactionStarted, ev.CompactionEnded), Window._noticed),
    ev.FileChanged: Window._file_changed,
    ev.ApprovalRequested: Window._approval_requested,
    ev.ApprovalAnswered: Window._approval_answered,
    ev.StopRequested: lambda window, event: window._live.show("stopping", notice(event)),
    ev.Ended: Window._ended,
    **dict.fromkeys((ev.Created, ev.ThinkingLevelChanged, ev.UsageTotal), lambda window, event: True),
    ev.Started: Window._started,
}
