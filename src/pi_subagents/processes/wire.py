"""Standard input and output as a wire of LF-framed messages: bounded, and out of reach of everything else here.

While the wire is held, file descriptor 0 is empty and 1 is standard error, so that neither a stray `print` nor a child
can disturb the conversation.
"""

from __future__ import annotations

import os
import queue
import select
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.jsonl import Frame, Framer

if TYPE_CHECKING:  # loaded when it is needed: the first answer can do without
    import asyncio

_CHUNK = 1 << 16
_WAITING_CHUNKS = 8


class Wire:
    """Takes over the standard streams of this process; longer messages than the limit arrive as `Oversized`."""

    def __init__(self, max_message_bytes: int) -> None:
        self._input, self._output = os.dup(0), os.dup(1)
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        self._framer = Framer(max_message_bytes)
        self._unread: list[Frame] = []
        self._looked_at = 0
        self._ended = False
        self._to_write: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] | None = None

    def look(self, within_s: float | None = None) -> Frame | None:
        """Wait for the next message; it stays to be read. None if there is none in time, or never will be."""
        while self._looked_at == len(self._unread):
            if self._ended or not select.select([self._input], [], [], within_s)[0]:
                return None
            chunk = os.read(self._input, _CHUNK)
            self._ended = not chunk
            self._unread.extend(self._framer.feed(chunk) if chunk else self._framer.finish())
        self._looked_at += 1
        return self._unread[self._looked_at - 1]

    def forget(self) -> None:
        """What has been looked at needs no further reading."""
        del self._unread[: self._looked_at]
        self._looked_at = 0

    def write(self, message: bytes) -> None:
        """Send a message with its line ending; raises BrokenPipeError when nobody reads any more."""
        view = memoryview(message)
        while view:
            view = view[os.write(self._output, view) :]

    async def send(self, message: bytes) -> None:
        """The same without holding up anybody else, however slowly the client reads."""
        import asyncio

        if self._to_write is None:
            self._to_write = queue.SimpleQueue()
            _in_thread(self._drain, self._to_write, asyncio.get_running_loop())
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._to_write.put((message, written))
        await written

    async def messages(self) -> AsyncIterator[Frame]:
        """Every message until the client hangs up."""
        import asyncio

        for frame in self._unread:
            yield frame
        self._unread.clear()
        if self._ended:
            return
        chunks: asyncio.Queue[bytes] = asyncio.Queue(_WAITING_CHUNKS)
        _in_thread(self._pump, chunks, asyncio.get_running_loop())
        while chunk := await chunks.get():
            for frame in self._framer.feed(chunk):
                yield frame
        for frame in self._framer.finish():
            yield frame

    def _pump(self, chunks: asyncio.Queue[bytes], loop: asyncio.AbstractEventLoop) -> None:
        chunk = b"-"
        with suppress(RuntimeError):  # the loop has ended, and nobody wants to hear of it any more
            while chunk:
                try:
                    chunk = os.read(self._input, _CHUNK)
                except OSError:
                    chunk = b""
                taken = threading.Semaphore(0)
                loop.call_soon_threadsafe(_put, chunks, chunk, taken)
                taken.acquire()

    def _drain(
        self, to_write: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]], loop: asyncio.AbstractEventLoop
    ) -> None:
        with suppress(RuntimeError):
            while True:
                message, written = to_write.get()
                try:
                    self.write(message)
                except OSError as error:
                    loop.call_soon_threadsafe(_settle, written, error)
                else:
                    loop.call_soon_threadsafe(_settle, written, None)


def _in_thread(work: Callable[..., None], *arguments: object) -> None:
    # Not from a pool: neither a read nor a write can be interrupted, and a pool is waited for at the end.
    threading.Thread(target=work, args=arguments, name="wire", daemon=True).start()


def _put(chunks: asyncio.Queue[bytes], chunk: bytes, taken: threading.Semaphore) -> None:
    import asyncio

    putting = asyncio.ensure_future(chunks.put(chunk))
    putting.add_done_callback(lambda _: taken.release())


def _settle(written: asyncio.Future[None], error: OSError | None) -> None:
    if written.done():
        return
    if error is None:
        written.set_result(None)
    else:
        written.set_exception(error)
