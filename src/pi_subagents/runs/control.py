"""Speaking to a run that another process holds: a socket that takes one JSON request and gives one JSON answer.

A socket's path must be short, so it lives in a runtime directory; a file in the run directory says where.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_subagents.encoding import as_utf8
from pi_subagents.errors import StoreError
from pi_subagents.models import Reason
from pi_subagents.outcome import CANCELLED_SENTENCE
from pi_subagents.paths import is_own_socket
from pi_subagents.store.record import address_of, put_address, take_address_away
from pi_subagents.store.slots import new_address, remove_if_dead

if TYPE_CHECKING:
    from pi_subagents.supervisor import Supervisor

_MAX_REQUEST_BYTES = 16 * 1024 * 1024
_TIMEOUT_S = 5.0


@asynccontextmanager
async def serving(runs: Mapping[Path, Supervisor]) -> AsyncIterator[None]:
    """Take requests for these runs, if any, while the block runs; where there can be no socket, do without."""
    if not runs:
        yield
        return

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, TimeoutError):
            async with asyncio.timeout(_TIMEOUT_S):
                reply = _answer(await reader.readline(), runs)
            writer.write(json.dumps(reply).encode() + b"\n")
            await writer.drain()
        writer.close()

    try:
        path = new_address(str(os.getpid()))
        server = await asyncio.start_unix_server(answer, path, limit=_MAX_REQUEST_BYTES)
        path.chmod(0o600)
    except OSError:
        yield
        return
    for run_dir in runs:
        with suppress(OSError, StoreError):
            put_address(run_dir, str(path))
    try:
        yield
    finally:
        server.close()
        path.unlink(missing_ok=True)
        for run_dir in runs:
            take_address_away(run_dir)


def _answer(line: bytes, runs: Mapping[Path, Supervisor]) -> dict[str, Any]:
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
