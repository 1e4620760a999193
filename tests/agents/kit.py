"""Agents that cost nothing: a fake runner, fake slots, and the pool on top of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pi_subagents.agents.pool import AgentPool, Keeping
from pi_subagents.harness import Invocation
from pi_subagents.runners import Footprint, Sink, SpawnFailed, Stream
from tests.kit.slots import FakeSlots

START_S = 0.5
STATE = b'{"state": "fresh"}'


@dataclass(frozen=True)
class FakeRenewal:
    """A process renews itself when it is asked to, and says so."""

    fingerprint: str = "kind"
    instructions: Mapping[str, bytes] = field(default_factory=dict)
    request: bytes = b"renew"

    around: Mapping[Path, str] | None = field(default_factory=dict)

    conversation_file = Path("/run/child-session.jsonl")
    question = b"renew"

    def command(self, folder: Path, conversation: Path) -> tuple[str, ...]:
        return ("pi", str(folder), str(conversation))

    def surroundings(self) -> Mapping[Path, str] | None:
        return self.around

    def identity(self, frame: bytes) -> str | None:
        return "model" if b"state" in frame else None

    def heard(self, frame: bytes, conversation: Path) -> bytes | bool:
        return bool(json.loads(frame)["state"] == "fresh")


INVOCATION = Invocation(("pi",), {}, Path("/"), b"task", interactive=True, renewal=FakeRenewal())


def footprint(processes: int, memory_bytes: int) -> Footprint:
    """That of the first so many processes."""
    return Footprint(frozenset((pid, 0) for pid in range(processes)), memory_bytes)


class FakeAgentProcess:
    """Prints its state when it is renewed, and answers every task after `task_s`."""

    reused = False
    containment = "fake"

    def __init__(self, world: World, invocation: Invocation, sink: Sink, pid: int) -> None:
        self.pid = pid
        self.argv = invocation.argv
        self.world = world
        self.sink = sink
        self.heard: list[bytes] = [invocation.stdin] if invocation.stdin else []
        self.gone = False
        self.is_ready = False
        self.is_slow_to_end = False
        self.footprint = footprint(3, 100)
        self.unread: list[bytes] = []
        asyncio.get_running_loop().call_later(START_S, self.be_ready)

    def be_ready(self) -> None:
        self.is_ready = True
        if self.world.says:
            self.prints(self.world.says)

    def prints(self, record: bytes, stream: Stream = "stdout") -> None:
        if not self.gone:
            self.sink.on_output(stream, record + b"\n")

    def send(self, data: bytes) -> None:
        self.heard.append(data)
        if data == b"renew" and self.is_ready and self.world.renews:
            self.prints(self.world.renews)

    def close_input(self) -> None:
        if not self.is_slow_to_end:
            asyncio.get_running_loop().call_soon(self.exits, 0)

    finish = terminate = kill = close_input

    def release(self, *, reusable: bool) -> None: ...

    def weigh(self) -> Footprint:
        return self.footprint

    def drain(self) -> None:
        for data in self.unread:
            self.sink.on_output("stderr", data)

    def exits(self, code: int) -> None:
        if not self.gone:
            self.gone = True
            self.sink.on_exit(code)


class World:
    """A runner whose processes cost nothing, and the agents on top of it."""

    def __init__(self, *, idle_s: float = 60, slots: FakeSlots | None = None) -> None:
        self.processes: list[FakeAgentProcess] = []
        self.says, self.renews = STATE, STATE
        """What a process says when it has started, and when it is asked to begin anew."""
        self.fails = False
        self.slots = slots
        self.memory_is_short = False
        keeping = Keeping(idle_s, 1000)
        self.agents = AgentPool(self, keeping, slots=slots, cores=2, memory_is_short=lambda: self.memory_is_short)

    def start(self, invocation: Invocation, sink: Sink) -> FakeAgentProcess:
        if self.fails:
            raise SpawnFailed("no")
        self.processes.append(FakeAgentProcess(self, invocation, sink, len(self.processes) + 1))
        return self.processes[-1]

    async def task(self, task_s: float = 0.0, *, ok: bool = True, renewal: FakeRenewal | None = None) -> Job:
        """One task from its slot to its release."""
        job, invocation = Job(), replace(INVOCATION, renewal=renewal or FakeRenewal())
        async with self.agents.slot(invocation) as slot:
            job.process = slot.start(job)
        job.reused = job.process.reused
        while True:
            if job.exit_code is not None or self._told(job):
                break
            await asyncio.sleep(0.01)
        await asyncio.sleep(task_s)
        job.process.finish()
        await job.ended.wait()
        job.process.release(reusable=ok)
        return job

    def _told(self, job: Job) -> bool:
        process = self.processes[job.process.pid - 1]
        return bool(job.output) or (process.heard[-1:] == [b"task"] and b"renew" in process.heard)


class Job:
    """A run's end of a process."""

    process: Any
    reused = False

    def __init__(self) -> None:
        self.output: list[bytes] = []
        self.exit_code: int | None = None
        self.ended = asyncio.Event()

    def on_output(self, stream: Stream, data: bytes) -> None:
        self.output.append(data)

    def on_replaced(self, pid: int, containment: str) -> None: ...

    def on_exit(self, exit_code: int) -> None:
        self.exit_code = exit_code
        self.ended.set()
