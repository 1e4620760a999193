"""The transcripts: conversations as they were, in which what differs each time stands as if it never did.

A line begins with `>` if the extension says it, with `<` if the bridge does, with `#` if nobody does. What the bridge
says is looked for in any order; `tool/update`s are compared by what they add up to.

`python -m tests.bridge.golden` records all of them anew, from what the extension says in them.
"""

from __future__ import annotations

import json
import queue
import re
import tempfile
from pathlib import Path
from typing import Any

from pi_subagents import __version__
from tests.bridge.kit import Desk, Extension
from tests.bridge.patching import fold_patches
from tests.kit.json_lines import Message
from tests.process.kit import make_stage

FOLDER = Path(__file__).with_name("transcripts")
_RUN_ID = re.compile(r"\d{8}T\d{9}-[0-9a-f]{16}")
_SESSION_IDS = re.compile(r'"sessionIds": \[[^\]]*\]')
_CLOCK = re.compile(r"\b\d+(\.\d)?s\b(?!/)")


class Neutral:
    """Puts fixed words in the place of ids, times and paths; runs are numbered in the order in which they were made."""

    def __init__(self, desk: Desk, bridge: Extension) -> None:
        self._bridge = bridge
        self._paths = {str(desk.stage.project): "/project", desk.environ["PI_AGENT_DIR"]: "/agent"}

    def said(self) -> list[Message]:
        """Everything the bridge has said, as it is written down."""
        numbers = self._numbers()
        return [self._value("", message, numbers) for message in self._bridge.said]

    def real(self, text: str) -> str:
        """What the extension says, with the ids and paths of this time."""
        for run_id, number in self._numbers().items():
            text = text.replace(f"run-{number}", run_id).replace(f"session-{number}", run_id.rpartition("-")[2])
        for path, name in self._paths.items():
            text = text.replace(name, path)
        return text.replace("VERSION", __version__)

    def _numbers(self) -> dict[str, int]:
        said = "\n".join(json.dumps(message) for message in self._bridge.said)
        found = {each[0] for each in _RUN_ID.finditer(said)}
        # Two runs of a call may have been made in the same millisecond.
        tasks = " ".join(each[0] for each in _SESSION_IDS.finditer(said))
        in_order = sorted(found, key=lambda run_id: (run_id[:18], tasks.find(run_id[19:])))
        return {run_id: number for number, run_id in enumerate(in_order, 1)}

    def _value(self, name: str, value: Any, numbers: dict[str, int]) -> Any:
        if isinstance(value, dict):
            return {key: self._value(key, member, numbers) for key, member in value.items()}
        if isinstance(value, list):
            return [self._value(name, member, numbers) for member in value]
        if isinstance(value, str):
            return self._text(value, numbers)
        return 1 if name.endswith("At") and value is not None else value

    def _text(self, text: str, numbers: dict[str, int]) -> str:
        for run_id, number in numbers.items():
            text = text.replace(run_id, f"run-{number}").replace(run_id.rpartition("-")[2], f"session-{number}")
        for path, name in self._paths.items():
            text = text.replace(path, name)
        return _CLOCK.sub("0s", text.replace(__version__, "VERSION"))


def read(path: Path) -> list[tuple[str, Message]]:
    """The lines of a transcript, each with its direction."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(line[0], json.loads(line[2:])) for line in lines if line[0] != "#"]


def replay(transcript: list[tuple[str, Message]], desk: Desk) -> list[Message]:
    """Say what the extension says in it, each when its time has come; what the bridge said meanwhile."""
    with desk.bridge(greet=False) as bridge:
        neutral = Neutral(desk, bridge)
        for direction, message in transcript:
            if direction == ">":
                bridge.write(neutral.real(json.dumps(message)).encode() + b"\n")
            elif message.get("method") != "tool/update":
                _wait_for(message, neutral, bridge)
        bridge.hang_up()
        return neutral.said()


def _wait_for(wanted: Message, neutral: Neutral, bridge: Extension) -> None:
    """Hear until somebody says the like, if it was not said already."""
    while not any(_is_like(message, wanted) for message in neutral.said()):
        assert bridge.next() is not None, f"the bridge hung up before it said {wanted}"


def _is_like(message: Message, wanted: Message) -> bool:
    if "method" not in wanted:
        return "method" not in message and message.get("id") == wanted.get("id")
    return message == wanted


def settled(messages: list[Message]) -> tuple[list[str], dict[str, Message]]:
    """What was said, in no order, and what the updates of each delegation add up to."""
    said = sorted(json.dumps(each, sort_keys=True) for each in messages if each.get("method") != "tool/update")
    patches: dict[str, list[Message]] = {}
    for each in messages:
        if each.get("method") == "tool/update":
            patches.setdefault(each["params"]["call"], []).append(each["params"]["patch"])
    return said, {call: folded for call, all_ in patches.items() if "windows" in (folded := fold_patches(all_))}


def record(path: Path) -> None:
    """Write a transcript anew."""
    kept = path.read_text(encoding="utf-8").splitlines()
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(make_stage(Path(folder), "guard"))
        written: list[str | int] = []
        with desk.bridge(greet=False) as bridge:
            neutral = Neutral(desk, bridge)
            for line in kept:
                if line[0] == ">":
                    bridge.write(neutral.real(line[2:]).encode() + b"\n")
                if line[0] != "<":
                    written.append(line)
                    written += _until_silence(bridge)
            bridge.hang_up()
            said = neutral.said()
    lines = [line if isinstance(line, str) else f"< {json.dumps(said[line], ensure_ascii=False)}" for line in written]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _until_silence(bridge: Extension) -> list[int]:
    """The numbers of the messages that come before the bridge waits for more."""
    before = len(bridge.said)
    try:
        while bridge.next(2.0) is not None:
            pass
    except queue.Empty:
        pass
    return list(range(before, len(bridge.said)))


if __name__ == "__main__":
    for each in sorted(FOLDER.glob("*.jsonl")):
        record(each)
