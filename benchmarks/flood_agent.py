"""An agent that prints records as `pi` does, faster than any model: a program of its own that no module imports.

Its prompt is JSON: for how many seconds, how many records a second, and after how many it ends sooner. It keeps to that
rate by the clock, so that a reader that falls behind is not spared anything; the last message says how many records
there were.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

_TICK_S = 0.01
_BLOCK_BYTES = 1 << 18
_WORDS = [f"word-{number}" for number in range(17)]


def turn(number: int) -> list[dict[str, Any]]:
    """One turn of an agent: it thinks, writes a paragraph, calls a tool that reports its progress, and reads on."""
    call = {"type": "toolCall", "id": f"call-{number}", "name": "bash", "arguments": {"command": f"make part-{number}"}}
    about = {"toolCallId": call["id"], "toolName": "bash"}
    words = [f"{word} " for word in _WORDS] + ["\n"]
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "".join(words)}, call],
        "stopReason": "toolUse",
        "usage": {"input": 900, "output": 40, "totalTokens": 940, "cost": {"total": 0.0001}},
    }
    result = {"role": "toolResult", **about, "content": [{"type": "text", "text": f"made part {number}\n" * 5}]}
    progress = [{"content": [{"type": "text", "text": f"part {number}: {step}0 %"}]} for step in range(1, 6)]
    return [
        {"type": "turn_start"},
        {"type": "message_start", "message": {"role": "assistant", "content": []}},
        *(
            {"type": "message_update", "assistantMessageEvent": {"type": "thinking_delta", "delta": w}}
            for w in words[:6]
        ),
        *({"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": w}} for w in words),
        {"type": "message_end", "message": message},
        {"type": "tool_execution_start", **about, "args": call["arguments"]},
        *({"type": "tool_execution_update", **about, "args": {}, "partialResult": partial} for partial in progress),
        {"type": "tool_execution_end", **about, "result": {}, "isError": False},
        {"type": "message_end", "message": result},
        {"type": "turn_end", "message": message, "toolResults": [result]},
    ]


def last_words(records: int, turns: int) -> list[dict[str, Any]]:
    """The end of a run, with figures that a reader can check."""
    text = f"Printed {records} records in {turns} turns."
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": "stop"}
    end = {"type": "agent_end", "messages": [], "willRetry": False}
    return [{"type": "message_end", "message": message}, end, {"type": "agent_settled"}]


def write(data: bytes) -> None:
    """Write all of it; this waits for a reader that is slow."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def main() -> None:
    """Print until the time is over, or enough has been printed."""
    order = json.load(sys.stdin)
    most = order["records"] or sys.maxsize
    start, records, turns = time.monotonic(), 0, 0
    while (now := time.monotonic() - start) < order["seconds"] and records < most:
        block = bytearray()
        while records < min(now * order["rate"], most) and len(block) < _BLOCK_BYTES:
            printed = turn(turns)
            block += b"".join(json.dumps(record).encode() + b"\n" for record in printed)
            records, turns = records + len(printed), turns + 1
        write(bytes(block))
        if len(block) < _BLOCK_BYTES:
            time.sleep(_TICK_S)
    write(b"".join(json.dumps(record).encode() + b"\n" for record in last_words(records, turns)))


if __name__ == "__main__":
    main()
