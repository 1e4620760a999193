"""The other side of the wire: requests and notifications in both directions, any number of them at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any

import msgspec

from pi_subagents.encoding import converted
from pi_subagents.errors import PiSubagentsError
from pi_subagents.jsonl import Frame, Oversized
from pi_subagents.processes.wire import Wire
from pi_subagents.surfaces.bridge.handshake import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MAX_MESSAGE_BYTES,
    METHOD_NOT_FOUND,
    Params,
    Refusal,
    answer,
    decode,
    encode,
    params_of,
    refuse,
)
from pi_subagents.text.harmless import printable

OnRequest = tuple[type, Callable[[Any], Awaitable[Any]]]
OnNotice = tuple[type, Callable[[Any], None]]
"""What a message's parameters have to be, and who is given them."""

_FOR_PEOPLE = frozenset({"dialog", "message", "screen", "ui"})
_FLUSH_S = 1.0
"""Somebody who does not read what is left for so long will not read it at all."""

logger = logging.getLogger(__name__)


class HungUp(Exception):  # noqa: N818 - an event, not an error
    """The other side is gone, and a question to it will not be answered."""


class Peer:
    """Speaks JSON-RPC over a wire. Notifications are heard in the order in which they came, requests side by side."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._on_request: Mapping[str, OnRequest] = {}
        self._on_notice: Mapping[str, OnNotice] = {}
        self._outgoing: asyncio.Queue[bytes] = asyncio.Queue()
        self._questions: dict[int, asyncio.Future[Any]] = {}
        self._numbers = count(1)
        self._under_way: set[asyncio.Task[None]] = set()
        self._gone = asyncio.Event()

    async def listen(self, on_request: Mapping[str, OnRequest], on_notice: Mapping[str, OnNotice]) -> None:
        """Take messages until the other side hangs up; what it has asked until then may still be under way."""
        self._on_request, self._on_notice = on_request, on_notice
        self._writing = asyncio.create_task(self._write())
        reading, gone = asyncio.create_task(self._read()), asyncio.create_task(self._gone.wait())
        try:
            await asyncio.wait([reading, gone], return_when=asyncio.FIRST_COMPLETED)
        finally:
            reading.cancel()
            self._hang_up()

    async def finish(self) -> None:
        """Wait until every request has been answered and every message is written, if anybody still reads."""
        if self._under_way:
            await asyncio.wait(self._under_way)
        with suppress(TimeoutError):
            await asyncio.wait_for(self.flush(), _FLUSH_S)
        self._writing.cancel()

    # --- to the other side --------------------------------------------------------------------------------------

    def notify(self, method: str, params: Params) -> None:
        """Tell something."""
        self._post(encode({"method": method, "params": _shown(method, params)}))

    async def request(self, method: str, params: Params) -> Any:
        """Ask something; raises HungUp, or Refusal if it cannot be answered."""
        if self._gone.is_set():
            raise HungUp
        number = next(self._numbers)
        question = self._questions[number] = asyncio.get_running_loop().create_future()
        self._post(encode({"id": number, "method": method, "params": _shown(method, params)}))
        try:
            return await question
        finally:
            self._questions.pop(number, None)

    async def flush(self) -> None:
        """Wait until everything that was said until now is written, or nobody reads any more."""
        await self._outgoing.join()

    def _post(self, message: bytes) -> None:
        self._outgoing.put_nowait(message)

    async def _write(self) -> None:
        while True:
            message = await self._outgoing.get()
            try:
                await self._wire.send(message)
            except OSError:
                self._hang_up()
            finally:
                self._outgoing.task_done()

    # --- from the other side ------------------------------------------------------------------------------------

    async def _read(self) -> None:
        async for frame in self._wire.messages():
            self._take(frame)

    def _take(self, frame: Frame) -> None:
        try:
            if isinstance(frame, Oversized):
                raise Refusal(
                    INVALID_REQUEST, f"a message of {frame.size} bytes is too large; the limit is {MAX_MESSAGE_BYTES}"
                )
            message = decode(frame)
        except Refusal as refusal:
            logger.warning("a message could not be understood: %s", refusal)
            self._post(refuse(None, refusal))
            return
        method, params = message.get("method"), params_of(message)
        if not isinstance(method, str):
            self._settle(message)
        elif "id" in message:
            # Begun here and now, so that whatever is heard next finds it begun.
            request = asyncio.create_task(self._answer(message["id"], method, self._begin(method, params)))
            self._under_way.add(request)
            request.add_done_callback(self._under_way.discard)
        else:
            self._hear(method, params)

    def _hear(self, method: str, params: Params) -> None:
        if method not in self._on_notice:
            logger.info("unknown notification: %s", method)
            return
        kind, handle = self._on_notice[method]
        try:
            handle(converted(params, kind))
        except msgspec.ValidationError as error:
            logger.warning("%s: %s", method, error)
        except Exception:  # one message must not end the conversation
            logger.exception("%s failed", method)

    def _begin(self, method: str, params: Params) -> Awaitable[Any]:
        if method not in self._on_request:
            return _raise(Refusal(METHOD_NOT_FOUND, f"unknown method: {method}"))
        kind, handle = self._on_request[method]
        try:
            return handle(converted(params, kind))
        except msgspec.ValidationError as error:
            return _raise(Refusal(INVALID_PARAMS, str(error)))

    async def _answer(self, number: Any, method: str, work: Awaitable[Any]) -> None:
        try:
            self._post(answer(number, await work))
        except Refusal as refusal:
            self._post(refuse(number, refusal))
        except HungUp:
            pass
        except Exception as error:
            logger.exception("%s failed", method)
            words = str(error) if isinstance(error, PiSubagentsError) else f"{type(error).__name__}: {error}"
            self._post(refuse(number, Refusal(INTERNAL_ERROR, words)))

    def _settle(self, message: dict[str, Any]) -> None:
        number = message.get("id")
        question = self._questions.get(number) if isinstance(number, int) else None
        if question is None or question.done():
            return
        error = message.get("error")
        if isinstance(error, dict):
            question.set_exception(Refusal(INTERNAL_ERROR, str(error.get("message"))))
        else:
            question.set_result(message.get("result"))

    def _hang_up(self) -> None:
        self._gone.set()
        for question in self._questions.values():
            if not question.done():
                question.set_exception(HungUp())


async def _raise(refusal: Refusal) -> Any:
    raise refusal


def _shown(method: str, params: Any) -> Any:
    """What goes straight to the person's terminal, without what that would obey; all else as it is."""
    return _harmless(params) if method.partition("/")[0] in _FOR_PEOPLE else params


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {key: _harmless(item) for key, item in value.items()}
    return [_harmless(item) for item in value] if isinstance(value, (list, tuple)) else value
