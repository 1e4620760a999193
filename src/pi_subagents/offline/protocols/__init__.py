"""The protocols of providers that the offline model speaks: each reads requests and writes answers, without I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from pi_subagents.offline.protocols.chat import ChatCompletions
from pi_subagents.offline.protocols.frames import Frame
from pi_subagents.offline.protocols.messages import COUNT_PATH, Messages, count_tokens
from pi_subagents.offline.protocols.responses import Responses
from pi_subagents.offline.request import Arrival, Request
from pi_subagents.offline.script import CutStream, Fail, Hang, Turn


class WireProtocol(Protocol):
    """How a provider's clients ask and what they understand; a script knows nothing of it."""

    path: str
    """The address that its clients post to."""

    def read(self, arrival: Arrival) -> Request:
        """The request; raises RequestError if it is none."""

    def turn(self, turn: Turn, request: Request) -> Iterator[Frame]:
        """The whole stream of a turn."""

    def beginning(self, answer: CutStream | Hang, request: Request) -> Iterator[Frame]:
        """The beginning of a stream that never ends as it should."""

    def error(self, fail: Fail) -> bytes:
        """The JSON for an error."""


_ALL: tuple[WireProtocol, ...] = (ChatCompletions(), Messages(), Responses())
PROTOCOLS: Mapping[str, WireProtocol] = {protocol.path: protocol for protocol in _ALL}
# What clients ask beside their conversation; no script sees it.
SIDE_ANSWERS: Mapping[str, Callable[[bytes], bytes]] = {COUNT_PATH: count_tokens}
FALLBACK: WireProtocol = _ALL[0]
"""Writes the errors for addresses that belong to no protocol."""

__all__ = ["FALLBACK", "PROTOCOLS", "SIDE_ANSWERS", "Frame", "WireProtocol"]
