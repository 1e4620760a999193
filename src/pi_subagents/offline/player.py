"""Plays a script: from a request to the answer it gets, counting the attempts at each step.

The count per (conversation, step) is the only state in the offline model; everything else is in the request.
"""

from __future__ import annotations

import threading
from collections import Counter

from pi_subagents.offline.request import Request
from pi_subagents.offline.script import Attempts, Call, CutStream, Fail, Hang, Say, Script, Turn

Played = Turn | Fail | CutStream | Hang


class Player:
    """Answers requests from a script; safe to call from many threads."""

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
