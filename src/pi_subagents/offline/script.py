"""The words of a script: what the offline model answers, conversation by conversation, step by step.

A step is one answer to one request of a conversation. Its index is the number of assistant messages in the
request, so parallel conversations, even with the same prompt, cannot disturb each other, and a request that
is sent again gets the same step again. Only `Attempts` needs a memory; the `Player` keeps it. A turn with
neither text nor call does not advance the conversation: agents leave empty assistant messages out.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pi_subagents.offline.request import Request


@dataclass(frozen=True, slots=True)
class Usage:
    """Token figures of an answer; `cached_tokens` is the part of the prompt that came from a cache."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; as a step of its own, a turn with nothing else in it."""

    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Say:
    """A plain text answer in one piece."""

    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A complete answer: thinking, then text, then tool calls, streamed at a chosen pace.

    Thinking and text are each sent in `chunks` pieces with `chunk_delay_s` between them; `usage` None means
    figures computed from the lengths of request and answer.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    delay_s: float = 0.0
    chunks: int = 1
    chunk_delay_s: float = 0.0
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """An HTTP error instead of an answer, in the provider's JSON form."""

    status: int = 500
    message: str = "the script says: fail"
    retry_after_s: int | None = None


@dataclass(frozen=True, slots=True)
class CutStream:
    """Text, perhaps half of a tool call's arguments, then the connection is closed amid the stream."""

    text: str = ""
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class Hang:
    """Silence, after `text` if there is any, until the client leaves or the server is closed."""

    text: str = ""


Played = Turn | Fail | CutStream | Hang
Answer = Played | Say | Call
Compose = Callable[[Request], Answer]
"""An answer made from the request, for example one that quotes the last tool result."""


class Attempts:
    """What the same step answers the first, second, … time it is asked for; the last answer repeats."""

    def __init__(self, *answers: Answer | Compose) -> None:
        if not answers:
            raise ValueError("Attempts needs at least one answer")
        self.answers = answers

    def answer(self, attempt: int) -> Answer | Compose:
        """The answer for this attempt, counted from 0."""
        return self.answers[min(attempt, len(self.answers) - 1)]


Step = Answer | Compose | Attempts
Match = str | Callable[[Request], bool]
"""A piece of the first user message, or a predicate on the whole request."""


@dataclass(frozen=True, slots=True)
class Route:
    """The steps of those conversations that match; a match of None takes every conversation."""

    match: Match | None
    steps: tuple[Step, ...]

    def takes(self, request: Request) -> bool:
        """Whether this route is the script of the request's conversation."""
        if self.match is None:
            return True
        return self.match in request.first_user_text if isinstance(self.match, str) else self.match(request)


@dataclass(frozen=True, slots=True)
class Script:
    """Conversations and their steps; `when` and `otherwise` each return a new, larger script."""

    routes: tuple[Route, ...] = ()
    fallback: Route | None = None

    def when(self, match: Match, steps: Sequence[Step]) -> Script:
        """Add the steps for matching conversations; the first route that matches wins."""
        return Script((*self.routes, Route(match, tuple(steps))), self.fallback)

    def otherwise(self, steps: Sequence[Step]) -> Script:
        """Set the steps for conversations that no `when` takes, wherever in the chain it is called."""
        return Script(self.routes, Route(None, tuple(steps)))

    def step(self, request: Request) -> Step:
        """The step this request asks for; one that says so when the script has none."""
        candidates = self.routes if self.fallback is None else (*self.routes, self.fallback)
        route = next((route for route in candidates if route.takes(request)), None)
        if route is None:
            return Say(f"The script has no conversation for {request.first_user_text[:60]!r}.")
        if request.step >= len(route.steps):
            return Say(f"The script has run out: it has no step {request.step + 1} of {len(route.steps)}.")
        return route.steps[request.step]


class Player:
    """Answers requests from a script, counting the attempts at each step; safe to call from many threads.

    The count per (conversation, step) is the only state in the offline model; everything else is in the request.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self._lock = threading.Lock()
        self._attempts: Counter[tuple[str, int]] = Counter()

    def answer(self, request: Request) -> Played:
        """The answer to this request; raises whatever a composed answer's own function raises."""
        step = self._script.step(request)
        if isinstance(step, Attempts):
            step = step.answer(self._count_attempt(request))
        answer = step(request) if callable(step) else step
        if isinstance(answer, Say):
            return Turn(text=answer.text)
        return Turn(calls=(answer,)) if isinstance(answer, Call) else answer

    def _count_attempt(self, request: Request) -> int:
        key = (request.conversation, request.step)
        with self._lock:
            self._attempts[key] += 1
            return self._attempts[key] - 1
