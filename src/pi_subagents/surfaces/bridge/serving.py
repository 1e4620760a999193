"""From the first byte to the last: the handshake, the conversation, and the end of everything that was started.

When the input ends, or a signal comes, foreground runs are stopped; background runs go on.
"""

from __future__ import annotations

from collections.abc import Callable

from pi_subagents.jsonl import Frame
from pi_subagents.processes.wire import Wire
from pi_subagents.surfaces.bridge.greeting import greet
from pi_subagents.surfaces.bridge.messages import MAX_MESSAGE_BYTES, Refusal, answer, decode, refuse


def serve(once_greeted: Callable[[], None]) -> int:
    """Serve the `pi` that started this process until it hangs up, or a signal comes; the exit code.

    `once_greeted` is called when it has its first answer: what can wait until then, should.
    """
    wire = Wire(MAX_MESSAGE_BYTES)
    first = wire.look()
    if first is None:
        return 0
    try:
        reply = _greeting(first)
        if reply is not None:
            wire.write(reply)
            wire.forget()
    except BrokenPipeError:
        return 0
    once_greeted()
    from pi_subagents.processes.interrupts import Interrupted, run_until_signalled
    from pi_subagents.surfaces.bridge.bridge import Bridge

    try:
        run_until_signalled(Bridge(wire).run())
    except Interrupted as interrupted:
        return interrupted.exit_code
    return 0


def _greeting(frame: Frame) -> bytes | None:
    """The answer to a `hello`; None for any other message, which can wait."""
    if not isinstance(frame, bytes):
        return None
    try:
        message = decode(frame)
    except Refusal:
        return None
    if message.get("method") != "hello" or "id" not in message:
        return None
    params = message.get("params")
    try:
        return answer(message["id"], greet(params if isinstance(params, dict) else {}))
    except Refusal as refusal:
        return refuse(message["id"], refusal)
