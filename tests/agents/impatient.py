"""An agent that speaks ACP and asks whether it may write a file; with `--impatient` it does not wait for the answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

WANTED = "wanted.txt"
_OPTIONS = [{"optionId": kind, "kind": kind, "name": kind} for kind in ("allow_once", "reject_once")]


def tell(**record: Any) -> None:
    """Send a record."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **record}) + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """Say something to whoever gave the task."""
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    tell(method="session/update", params={"sessionId": "s", "update": update})


def ask_and_write(file: Path) -> None:
    """Ask for permission, and write the file: after the answer, or at once."""
    call = {"toolCallId": "write_file__1", "kind": "edit", "title": "Write it", "status": "pending"}
    tell(
        id="may-i",
        method="session/request_permission",
        params={"sessionId": "s", "toolCall": call, "options": _OPTIONS},
    )
    if "--impatient" not in sys.argv:
        sys.stdin.readline()
    file.write_text("written\n", encoding="utf-8")
    say("Written.")


def main() -> None:
    """Answer what a client asks, one record a line."""
    folder = Path()
    for record in map(json.loads, sys.stdin):
        method, params = record.get("method"), record.get("params", {})
        result: dict[str, Any] = {}
        if method == "initialize":
            result = {"protocolVersion": 1, "agentCapabilities": {}}
        elif method == "session/new":
            folder, result = Path(params["cwd"]), {"sessionId": "s"}
        elif method == "session/prompt":
            ask_and_write(folder / WANTED)
            result = {"stopReason": "end_turn"}
        if method and "id" in record:
            tell(id=record["id"], result=result)


if __name__ == "__main__":
    main()
