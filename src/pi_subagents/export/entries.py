"""A run's conversation as entries, one after the other: what was said, called, returned and noticed.

Every page and transcript is made of these, whether all of a journal is there already or it still grows. No message is
cut: one that is very long comes as several entries, so that no writer needs more memory for it than for any other. Text
is safe to print: what a terminal would obey is taken out here, so that no writer has to think of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from pi_subagents.encoding import size_of
from pi_subagents.models import Status
from pi_subagents.models import event as ev
from pi_subagents.progress import diff_figures, notice, preview_tool_call
from pi_subagents.text import clip, counted, one_line, printable, shorten_path
from pi_subagents.text.streamed import StreamedText

_PREVIEW_CELLS = 160
_WORD_CELLS = 40
"""Words of other versions are shown as they are, up to this length."""
_MAX_WAITING = 1000
_MAX_WAITING_CALLS = 500
_MAX_WAITING_BYTES = 4 * 1024 * 1024
"""Calls wait for their results, and what follows them waits with them; a result that comes later stands by itself."""
_MAX_SEEN = 10_000
ENTRY_CHARACTERS = 4 * 1024 * 1024
"""A longer text comes as several entries."""


@dataclass(frozen=True, slots=True)
class Said:
    """Text of the agent; `unfinished` if the run ended, or stands, in the middle of it."""

    text: str
    unfinished: bool = False


@dataclass(frozen=True, slots=True)
class Thought:
    """What the agent thought before it spoke."""

    text: str


@dataclass(frozen=True, slots=True)
class Given:
    """The first message to the agent where it is more than the task: files, earlier runs, then the task."""

    text: str


@dataclass(frozen=True, slots=True)
class Added:
    """A message in the conversation that is neither the task nor the agent's: steering, a summary, a command."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """The agent calls a tool."""

    id: str
    name: str
    preview: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    at: int = 0


@dataclass(frozen=True, slots=True)
class Returned:
    """What a tool gave back; `call` is the call it answers, where there is one."""

    name: str
    text: str
    call: Called | None = None
    is_error: bool = False
    at: int = 0


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something around the conversation: a retry, output outside of it, an error."""

    text: str
    kind: Literal["notice", "output", "error"] = "notice"


@dataclass(frozen=True, slots=True)
class Changed:
    """A file that the agent changed, relative to where it works, with the diff if it reports one."""

    path: str
    figures: str
    diff: str


Entry = Said | Thought | Given | Added | Called | Returned | Noticed | Changed


def entry_size(entry: Entry) -> int:
    """About how many bytes an entry takes."""
    if isinstance(entry, Called):
        return size_of(entry.arguments)
    return len(entry.diff if isinstance(entry, Changed) else entry.text)


def _texts(text: str) -> Iterator[str]:
    """A text that is safe to print, in pieces that are not too long; an empty one is a piece, too."""
    starts = range(0, max(len(text), 1), ENTRY_CHARACTERS)
    return (printable(text[start : start + ENTRY_CHARACTERS]) for start in starts)


class Conversation:
    """Turns one run's events into entries, in order."""

    def __init__(self) -> None:
        self._prompt = ""
        self._cwd: str | None = None
        self._partial: dict[str, StreamedText] = {}
        self._calls: dict[str, tuple[Called, int]] = {}
        self._waiting_bytes = 0
        self._seen: dict[int, None] = {}
        self._asked: dict[str, str] = {}
        self._task_told = False
        self._last_error: str | None = None

    def take(self, event: ev.Event) -> Iterator[Entry]:
        """The entries that `event` completes."""
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            yield from handler(self, event)
        elif words := notice(event):
            yield Noticed(words)

    def rest(self) -> Iterator[Entry]:
        """What the agent has begun to say and not finished; afterwards it is told."""
        partial, self._partial = self._partial, {}
        for kind in ("thinking", "text"):
            text = printable(str(partial.get(kind, "")))
            if text.strip():
                yield Thought(text) if kind == "thinking" else Said(text, unfinished=True)

    def _created(self, event: ev.Created) -> Iterator[Entry]:
        self._prompt, self._cwd = event.prompt, event.cwd
        if event.note:
            yield Noticed(printable(event.note))

    def _message(self, event: ev.Message) -> Iterator[Entry]:
        if event.role == "assistant":
            yield from self._assistant(event)
        elif event.role == "toolResult":
            yield from self._tool_result(event)
        elif event.role == "user" and not self._task_told:
            self._task_told = True
            if event.text != self._prompt:
                yield from map(Given, _texts(event.text))
        elif text := _text_with_images(event):
            yield from (Added(printable(event.role), piece) for piece in _texts(text))

    def _assistant(self, event: ev.Message) -> Iterator[Entry]:
        self._partial = {}
        made = bool(event.tool_calls)
        for part in event.parts:
            if isinstance(part, ev.TextPart) and part.text.strip():
                yield from map(Said, _texts(part.text))
            elif isinstance(part, ev.ThinkingPart) and part.text.strip():
                yield from map(Thought, _texts(part.text))
            elif isinstance(part, ev.ToolCallPart):
                called = self._call(part.id, part.name, part.arguments, event.at)
                yield called if made else Noticed(f"Interrupted during a tool call: {called.preview}")
            elif isinstance(part, ev.OtherPart):
                yield Noticed(_words_for(part))
        self._last_error = event.error_message
        if event.error_message:
            yield Noticed(printable(event.error_message), "error")

    def _tool_result(self, event: ev.Message) -> Iterator[Entry]:
        call, size = self._calls.pop(event.tool_call_id or "", (None, 0))
        self._waiting_bytes -= size
        for text in _texts(_text_with_images(event)):
            yield Returned(printable(event.tool_name or "tool"), text, call, event.is_error, event.at)
            call = None

    def _tool_started(self, event: ev.ToolStarted) -> Iterator[Entry]:
        if hash(event.id) not in self._seen:
            yield self._call(event.id, event.name, event.arguments, event.at)

    def _call(self, call_id: str, name: str, arguments: Mapping[str, Any], at: int) -> Called:
        preview = preview_tool_call(name, arguments, width=_PREVIEW_CELLS, cwd=self._cwd)
        called = Called(call_id, printable(name), preview, arguments, at)
        self._await_result(called)
        self._seen[hash(call_id)] = None
        if len(self._seen) > _MAX_SEEN:
            del self._seen[next(iter(self._seen))]
        return called

    def _await_result(self, called: Called) -> None:
        _, replaced = self._calls.pop(called.id, (None, 0))
        size = size_of(called.arguments)
        self._calls[called.id] = called, size
        self._waiting_bytes += size - replaced
        while len(self._calls) > 1 and (
            len(self._calls) > _MAX_WAITING_CALLS or self._waiting_bytes > _MAX_WAITING_BYTES
        ):
            _, size = self._calls.pop(next(iter(self._calls)))
            self._waiting_bytes -= size

    def _file_changed(self, event: ev.FileChanged) -> Iterator[Entry]:
        path = one_line(shorten_path(event.path, cwd=self._cwd)) or "(unnamed)"
        figures = diff_figures(event.diff)
        for diff in _texts(event.diff):
            yield Changed(path, figures, diff)

    def _approval_requested(self, event: ev.ApprovalRequested) -> Iterator[Entry]:
        if len(self._asked) < _MAX_WAITING:
            self._asked[event.id] = one_line(event.what or event.tool_name or "")
        yield Noticed(notice(event) or "")

    def _approval_answered(self, event: ev.ApprovalAnswered) -> Iterator[Entry]:
        what = self._asked.pop(event.id, "")
        yield Noticed(f"{notice(event)}{what and ': '}{what}")

    def _delta(self, event: ev.Delta) -> Iterator[Entry]:
        self._partial.setdefault(event.kind, StreamedText()).add(event.text)
        yield from ()

    def _message_started(self, _event: ev.MessageStarted) -> Iterator[Entry]:
        yield from self.rest()

    def _ended(self, event: ev.Ended) -> Iterator[Entry]:
        yield from self.rest()
        if event.status is not Status.COMPLETED and event.message and event.message != self._last_error:
            yield Noticed(printable(event.message), "error")


def _text_with_images(message: ev.Message) -> str:
    others = [part for part in message.parts if isinstance(part, ev.ImagePart | ev.OtherPart)]
    return "\n".join([*([message.text] if message.text else []), *map(_words_for, others)])


def _words_for(part: ev.ImagePart | ev.OtherPart) -> str:
    if isinstance(part, ev.OtherPart):
        return f"[{_foreign(part.kind)}: a part that this version does not know]"
    return f"[{part.mime_type or 'image'}, {counted(part.size, 'character')} of data in the agent's own session file]"


def _foreign(word: str) -> str:
    return clip(one_line(word), _WORD_CELLS)


def _outside(_conversation: Conversation, event: ev.Output | ev.Stderr | ev.ShellOutput) -> Iterator[Entry]:
    for text in _texts(event.text):
        if text := text.strip("\n"):
            yield Noticed(text, "output")


def _unknown(_conversation: Conversation, event: ev.Unknown) -> Iterator[Entry]:
    if event.is_damage:
        yield Noticed("A line of the journal is damaged and cannot be read.", "error")
    elif event.ours:
        yield Noticed(f"{_foreign(event.kind)} (an event that this version does not know)")


_HANDLERS: dict[type[ev.Event], Callable[[Conversation, Any], Iterator[Entry]]] = {
    ev.Created: Conversation._created,
    ev.Message: Conversation._message,
    ev.MessageStarted: Conversation._message_started,
    ev.Delta: Conversation._delta,
    ev.ToolStarted: Conversation._tool_started,
    ev.FileChanged: Conversation._file_changed,
    ev.ApprovalRequested: Conversation._approval_requested,
    ev.ApprovalAnswered: Conversation._approval_answered,
    ev.Output: _outside,
    ev.Stderr: _outside,
    ev.ShellOutput: _outside,
    ev.Unknown: _unknown,
    ev.Ended: Conversation._ended,
}


@dataclass(slots=True)
class Placed:
    """An entry in its place; for a call, with the result that answers it."""

    entry: Entry
    size: int
    result: Returned | None = None

    @property
    def waits(self) -> bool:
        return isinstance(self.entry, Called) and self.result is None

    def answer(self, result: Returned) -> None:
        self.result = result


AnyPlaced = TypeVar("AnyPlaced", bound=Placed)


class Places(Generic[AnyPlaced]):
    """A place for each entry, but for a result that of its call; `size` is about how many bytes they take."""

    def __init__(self, place: Callable[[Entry, int], AnyPlaced]) -> None:
        self.size = 0
        self._place = place
        self._unanswered: dict[int, AnyPlaced] = {}

    def put(self, entry: Entry) -> AnyPlaced | None:
        """The place of an entry; None for a result that has gone to its call."""
        size = entry_size(entry)
        self.size += size
        if isinstance(entry, Returned) and (call := self._unanswered.pop(id(entry.call), None)):
            call.size += size
            call.answer(entry)
            return None
        placed = self._place(entry, size)
        if placed.waits:
            self._unanswered[id(entry)] = placed
        return placed

    def forget(self, placed: AnyPlaced) -> None:
        """Hold it no longer; a result that still comes has a place of its own."""
        self._unanswered.pop(id(placed.entry), None)
        self.size -= placed.size


def paired(entries: Iterable[Entry]) -> Iterator[Placed]:
    """The entries in their order, calls with their results, for a page that is written from beginning to end.

    A result comes some time after its call. What was said and done meanwhile waits with the call, but only so much of
    it: a result that comes later than that stands where it came.
    """
    places, queue = Places(Placed), deque[Placed]()
    for entry in entries:
        if placed := places.put(entry):
            queue.append(placed)
        while queue and (not queue[0].waits or len(queue) > _MAX_WAITING or places.size > _MAX_WAITING_BYTES):
            places.forget(queue[0])
            yield queue.popleft()
    yield from queue
