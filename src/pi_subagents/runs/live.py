"""A run that another process holds: followed through its journal as it grows, and spoken to over a socket.

The socket takes one JSON request and gives one JSON answer. Its path must be short, so it lives in a runtime directory;
a file in the run directory says where.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_subagents.encoding import as_utf8, encode_any
from pi_subagents.errors import StoreError
from pi_subagents.models import Reason
from pi_subagents.models.event import AnyEvent, Ended
from pi_subagents.outcome import CANCELLED_SENTENCE
from pi_subagents.paths import is_own_socket
from pi_subagents.store import JOURNAL_FILE, is_held, load_run
from pi_subagents.store.reading import JournalTail
from pi_subagents.store.record import address_of, put_address, take_address_away
from pi_subagents.store.slots import new_address, remove_if_dead

if TYPE_CHECKING:
    from pi_subagents.supervisor import Holder

POLL_S = 0.25
WATCH_S = 0.1
"""Where windows are drawn, a quarter of a second would show."""
_MAX_REQUEST_BYTES = 16 * 1024 * 1024
_TIMEOUT_S = 5.0


class RunFollower:
    """Looks at a run again and again: tells every event from its beginning on once, the last one being its end.

    A run that loses its holder meanwhile is closed, and its end told like any other.
    """

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.ended = False
        self._tail = JournalTail(run_dir / JOURNAL_FILE)

    @property
    def at_end(self) -> bool:
        """Whether the last look went to the end of what there was."""
        return self._tail.at_end

    def look(self) -> list[AnyEvent]:
        """The events since the last look, a few megabytes of them at most; raises StoreError."""
        if self.ended:
            return []
        # Asked before reading: whoever lets go of a run has written its end.
        held = is_held(self.run_dir)
        events = list(self._up_to_end(self._tail.read()))
        if self.at_end and not held and not self.ended:
            events += self._up_to_end(self._end_of_unheld())
        return events

    def _up_to_end(self, events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
        for event in events:
            yield event
            if isinstance(event, Ended):
                self.ended = True
                return

    def _end_of_unheld(self) -> Iterator[AnyEvent]:
        state = load_run(self.run_dir)
        rest = self._tail.read()
        yield from rest
        if not any(isinstance(event, Ended) for event in rest):  # a disk that cannot be written: told, not recorded
            at, reason = state.completed_at or state.last_event_at, state.reason or Reason.LOST
            yield Ended(at=at, status=state.status, reason=reason, message=state.error)


async def watch_run(run_dir: Path) -> AsyncIterator[list[AnyEvent]]:
    """The same for a program with an event loop, which goes on meanwhile: all that came since the last time at once."""
    follower = RunFollower(run_dir)
    while not follower.ended:
        if events := await asyncio.to_thread(follower.look):
            yield events
        if follower.at_end and not follower.ended:
            await asyncio.sleep(WATCH_S)


def follow_run(run_dir: Path, pause: Callable[[float], None] = time.sleep) -> Iterator[AnyEvent]:
    """Every event of a run from its beginning on, the last one being its end; raises StoreError."""
    follower = RunFollower(run_dir)
    while True:
        yield from follower.look()
        if follower.ended:
            return
        if follower.at_end:
            pause(POLL_S)


# --- spoken to ------------------------------------------------------------------------------------------------


@asynccontextmanager
async def serving(runs: Mapping[Path, Holder]) -> AsyncIterator[None]:
    """Take requests for these runs, if any, while the block runs; where there can be no socket, do without."""
    if not runs:
        yield
        return

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, TimeoutError):
            async with asyncio.timeout(_TIMEOUT_S):
                reply = _answer(await reader.readline(), runs)
            writer.write(encode_any(reply) + b"\n")
            await writer.drain()
        writer.close()

    try:
        path = new_address(str(os.getpid()))
        server = await asyncio.start_unix_server(answer, path, limit=_MAX_REQUEST_BYTES)
        path.chmod(0o600)
    except OSError:
        yield
        return
    # No agent waits until all of them have it.
    telling = asyncio.ensure_future(asyncio.to_thread(_put_addresses, runs, str(path)))
    try:
        yield
    finally:
        server.close()
        path.unlink(missing_ok=True)
        await telling
        for run_dir in runs:
            take_address_away(run_dir)


def _put_addresses(runs: Iterable[Path], address: str) -> None:
    for run_dir in runs:
        with suppress(OSError, StoreError):
            put_address(run_dir, address)


def _answer(line: bytes, runs: Mapping[Path, Holder]) -> dict[str, Any]:
    import json  # it takes what is no text in a path; few runs are spoken to

    try:
        request = json.loads(line)
        holder = runs[Path(request["run"])]
        match request:
            case {"op": "steer", "text": str(text)}:
                problem = holder.steer(as_utf8(text))
                return {"ok": problem is None, "error": problem}
            case {"op": "stop"}:
                holder.stop(Reason.CANCELLED, as_utf8(str(request.get("message") or CANCELLED_SENTENCE)))
                return {"ok": True}
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return {"ok": False, "error": "not a request that this run understands"}


def ask_holder(run_dir: Path, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """Put a request to whoever holds a run; None if nobody answers."""
    import json

    path = address_of(run_dir)
    # A record may name any address: only a socket of ours is spoken to.
    if path is None or not is_own_socket(Path(path)):
        return None
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(_TIMEOUT_S)
            line.connect(path)
            line.sendall(json.dumps({"run": str(run_dir), **request}).encode() + b"\n")
            with line.makefile("rb") as answers:
                reply: dict[str, Any] = json.loads(answers.readline())
                return reply
    except ConnectionRefusedError:
        if remove_if_dead(Path(path)):  # its holder was killed
            take_address_away(run_dir)
        return None
    except (OSError, ValueError):
        return None
