"""Agents that kill their guard, each in its own way, and a program that lets them: what is alive after their end?

Everything an attack starts has its number in its command line, where no change of environment hides it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from tempfile import NamedTemporaryFile

from pi_subagents.harness import Invocation
from pi_subagents.runners import LocalProcess, LocalRunner, Mechanism, Stream
from pi_subagents.runners.guard import children_of
from tests.kit.processes import all_pids, command_line
from tests.kit.waiting import PATIENCE_S

_DAEMON = "trap '' TERM HUP INT; (exec sleep 900.$1 &); (setsid sleep 900.$1 &); kill -9 $2; exec sleep 900.$1"
_CHAIN = """
import os, sys, time
guard = os.getppid()
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        for generation in range(20_000):
            if generation == 20:
                os.system(f"kill -9 {guard} 2>/dev/null")
            if os.fork():
                os._exit(0)
            with open(sys.argv[2], "ab") as diary:
                diary.write(b".")
            time.sleep(0.001)
        os._exit(0)
time.sleep(300)
"""
_RESTLESS_SESSIONS = _CHAIN.replace("time.sleep(0.001)", "os.setsid(); time.sleep(0.001)")

ATTACKS: dict[str, list[str]] = {
    "the agent kills its guard": [
        *("sh", "-c", "trap '' TERM; (trap '' TERM; exec sleep 900.$1) & kill -9 $PPID; exec sleep 900.$1", "sh")
    ],
    "a daemon without an environment kills it": [
        *("sh", "-c", f'env -i setsid sh -c "{_DAEMON.replace("$", chr(92) + "$")}" sh $1 $PPID & wait', "sh")
    ],
    "a daemon kills guard and agent": [
        *("sh", "-c", f'setsid sh -c "{_DAEMON.replace("$", chr(92) + "$")}" sh $1 "$PPID $$" & wait', "sh")
    ],
    "processes that only start the next kill it": [sys.executable, "-I", "-S", "-c", _CHAIN],
    "the same, each in a session of its own": [sys.executable, "-I", "-S", "-c", _RESTLESS_SESSIONS],
}


class End:
    """Waits for the end of a process."""

    process: LocalProcess

    def __init__(self) -> None:
        self.code: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.said = b""

    def on_output(self, stream: Stream, data: bytes) -> None:
        self.said += data if stream == "stderr" else b""

    def on_replaced(self, pid: int, containment: str) -> None: ...

    def on_exit(self, exit_code: int) -> None:
        self.code.set_result(exit_code)


def start(argv: list[str], mechanism: Mechanism = "guard", end: End | None = None) -> End:
    """Start an agent in a containment."""
    end = end or End()
    invocation = Invocation(tuple(argv), {"PATH": os.environ["PATH"]}, Path("/"), b"")
    end.process = LocalRunner(mechanism).start(invocation, end)
    return end


def alive(number: str) -> list[int]:
    """Everything of an attack that is not dead."""
    return [pid for pid in all_pids() if number.encode() in command_line(pid) and pid != os.getpid()]


async def attack(name: str) -> tuple[bool, str]:
    """Let an agent attack; returns whether anything of it is alive when its end is reported, and what was said then."""
    number = str(int.from_bytes(os.urandom(6)))
    with NamedTemporaryFile(prefix=f"attack-{number}-") as diary:
        end = start([*ATTACKS[name], number, diary.name])
        async with asyncio.timeout(PATIENCE_S):
            await end.code
        before = _length(diary.name)
        await asyncio.sleep(0.03)
        return bool(alive(number)) or _length(diary.name) > before, end.said.decode()


def _length(diary: str) -> int:
    """Who lives for a millisecond is hardly ever seen, but writes a byte."""
    return Path(diary).stat().st_size


async def main(tries: int) -> None:
    """Print what every try came to."""
    for name in ATTACKS:
        outcomes = [await attack(name) for _ in range(tries)]
        json.dump({"name": name, "outcomes": outcomes, "children": children_of(os.getpid())}, sys.stdout)
        sys.stdout.write("\n")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
