"""Agents as children of this process.

Nothing is awaited between the start of a process and its ownership; reading, writing and noticing its end are
callbacks of the event loop. The end is the exit of the process, never the end of its output: a grandchild can hold
a pipe open for hours.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO

import msgspec

from pi_subagents.harness import Invocation
from pi_subagents.paths import find_program
from pi_subagents.runners.containment import Containment, Mechanism, contain
from pi_subagents.runners.contract import MachineSlots, Sink, SlotLease, SpawnFailed, Stream
from pi_subagents.runners.guard import children_of

_AGENT_BYTES = 150_000_000
_AGENTS_PER_CORE = 8
_MIN_AGENTS = 4
_PAGE = os.sysconf("SC_PAGE_SIZE")
_STARTED, _RESIDENT_PAGES = 19, 21
"""Fields of /proc/PID/stat, counted from that behind the name."""


class Footprint(msgspec.Struct, frozen=True):
    """What there is at one moment: processes by their ids and when they were started, which nothing else has again."""

    processes: frozenset[tuple[int, int]]
    memory_bytes: int


def room_for_agents() -> int:
    """How many agents this machine takes without suffering: half of its memory, and so many for each core."""
    memory = os.sysconf("SC_PHYS_PAGES") * _PAGE
    cores = len(os.sched_getaffinity(0))
    return max(_MIN_AGENTS, min(memory // 2 // _AGENT_BYTES, cores * _AGENTS_PER_CORE))


_CHUNK_BYTES = 256 * 1024
_DRAIN_CHUNKS = 16
"""A pipe holds 64 KiB, at most 1 MiB."""
_DRAIN_S = 1.0
"""How long output may still arrive after the process has gone."""
_FORCE_S = 1.0
"""How long a wrapper may take to end everything; one that its agent has stopped for good never does."""
_SWEEP_S = 3.0
"""How long we try to end what a killed wrapper has left behind."""
_LOOK_AGAIN_S = 0.005
_END_S = 1.0
"""How long an agent that nobody supervises any more may take to end with its input."""
_FREE_SLOT_S = 0.1


class LocalSlot:
    """Room for one agent here."""

    def __init__(self, runner: LocalRunner, invocation: Invocation, lease: SlotLease | None) -> None:
        self._runner = runner
        self._invocation = invocation
        self._lease = lease

    def start(self, sink: Sink) -> LocalProcess:
        """Start the agent; raises SpawnFailed."""
        process = self._runner.start(self._invocation, sink, self._lease)
        self._lease = None
        return process

    def give_back(self) -> None:
        """Whoever is next may have the room, unless an agent is in it."""
        if self._lease is not None:
            self._lease.release()


class LocalRunner:
    """Starts agents here, each in a session of its own and contained. Without `slots` there is always room."""

    def __init__(self, mechanism: Mechanism, slots: MachineSlots | None = None) -> None:
        self._mechanism = mechanism
        self._slots = slots

    @asynccontextmanager
    async def slot(self, invocation: Invocation) -> AsyncIterator[LocalSlot]:
        """Wait for room on this machine."""
        slot = LocalSlot(self, invocation, await self._wait_for_lease())
        try:
            yield slot
        finally:
            slot.give_back()

    async def _wait_for_lease(self) -> SlotLease | None:
        if self._slots is None:
            return None
        with self._slots.request() as request:
            # Other programs free slots, too, so there is no event to wait for.
            while (lease := self._slots.take()) is None:
                request.repeat()
                await asyncio.sleep(_FREE_SLOT_S)
            return lease

    async def close(self) -> None:
        """Every agent here has a run."""

    def start(self, invocation: Invocation, sink: Sink, lease: SlotLease | None = None) -> LocalProcess:
        """Start an agent whose output goes to `sink`, and which has the lease until its end; raises SpawnFailed."""
        program = invocation.argv[0]
        # The wrapper would start and only then find out; the run would look like an agent that failed.
        if find_program(program, invocation.environ.get("PATH")) is None:
            raise SpawnFailed(f"{program}: not found or not executable")
        try:
            containment = contain(self._mechanism)
        except OSError as error:
            raise SpawnFailed(str(error)) from error
        try:
            popen = subprocess.Popen(
                containment.wrap(invocation.argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=invocation.cwd,
                env=dict(invocation.environ),
                bufsize=0,
                start_new_session=True,
                pass_fds=containment.inherited_fds,
            )
        except (OSError, ValueError) as error:
            containment.close()
            raise SpawnFailed(str(error)) from error
        containment.started(popen.pid)
        return LocalProcess(popen, containment, invocation, sink, lease)


def _swept_sentence(left: list[int]) -> str:
    if not left:
        return "The agent's guard was killed; everything the agent had started was stopped\n"
    pids = ", ".join(map(str, left))
    return f"The agent's guard was killed; these processes of the agent are still running: {pids}\n"


class LocalProcess:
    """One agent process and the three pipes to it."""

    reused = False

    def __init__(
        self,
        popen: subprocess.Popen[bytes],
        containment: Containment,
        invocation: Invocation,
        sink: Sink,
        lease: SlotLease | None,
    ) -> None:
        assert popen.stdin is not None
        self.pid = popen.pid
        self.containment = containment.mechanism
        self._popen = popen
        self._stdin: IO[bytes] = popen.stdin
        self._containment = containment
        self._sink = sink
        self._lease = lease
        self._loop = asyncio.get_running_loop()
        self._unsent: deque[memoryview] = deque([memoryview(invocation.stdin)] if invocation.stdin else [])
        self._closing_input = not invocation.interactive
        self._open: dict[Stream, IO[bytes]] = {}
        self._drain_timer: asyncio.TimerHandle | None = None
        self._exit_code: int | None = None
        self._force_timer: asyncio.TimerHandle | None = None
        self._pidfd = os.pidfd_open(popen.pid)
        self._loop.add_reader(self._pidfd, self._exited)
        self._watch_output("stdout", popen.stdout)
        self._watch_output("stderr", popen.stderr)
        os.set_blocking(self._stdin.fileno(), False)
        self._write_when_possible()

    def terminate(self) -> None:
        if self._exit_code is None:
            self._containment.terminate()

    def kill(self) -> None:
        if self._exit_code is None:
            self._containment.kill()
            self._force_timer = self._force_timer or self._loop.call_later(_FORCE_S, self._popen.kill)

    def send(self, data: bytes) -> None:
        """Say something to an interactive agent; what it no longer hears is dropped."""
        if data and not self._stdin.closed and not self._closing_input:
            self._unsent.append(memoryview(data))
            self._write_when_possible()

    def close_input(self) -> None:
        """Nothing more will be said: an interactive agent ends once it has heard everything."""
        if not self._stdin.closed and not self._closing_input:
            self._closing_input = True
            self._write_when_possible()

    def finish(self) -> None:
        """An agent that is not used again ends with its input."""
        self.close_input()

    def release(self, *, reusable: bool) -> None:
        """It is not used again; should it be alive all the same, because its run broke off, it is ended."""
        if self._exit_code is None:
            self.close_input()
            self._loop.call_later(_END_S, self.kill)

    def weigh(self) -> Footprint:
        """The agent and everything below it; what ends meanwhile is not counted."""
        processes, memory = set[tuple[int, int]](), 0
        waiting = [self._popen.pid]
        while waiting:
            current = waiting.pop()
            with suppress(OSError, ValueError, IndexError):
                # Behind its name, which may have anything in it.
                facts = Path(f"/proc/{current}/stat").read_text(errors="replace").rpartition(")")[2].split()
                processes.add((current, int(facts[_STARTED])))
                memory += int(facts[_RESIDENT_PAGES]) * _PAGE
                waiting += children_of(current)
        return Footprint(frozenset(processes), memory)

    # --- the end -----------------------------------------------------------------------------------------

    def _exited(self) -> None:
        code = self._popen.poll()
        if code is None:
            return
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        if self._force_timer is not None:
            self._force_timer.cancel()
        self._exit_code = code if code >= 0 else 128 - code
        self._stop_writing()
        was_killed = code < 0 and self.containment == "guard"
        self._sweep(self._loop.time() + _SWEEP_S, was_killed=was_killed)

    def _sweep(self, deadline: float, *, was_killed: bool, clean_looks: int = 0) -> None:
        """End what a wrapper did not, a little at a time.

        Who moves while the list of children is read can be missed: after a guard was killed, one look that finds nobody
        is not enough.
        """
        left = self._containment.sweep()
        clean_looks = 0 if left else clean_looks + 1
        if clean_looks < (2 if was_killed else 1) and self._loop.time() < deadline:
            again = partial(self._sweep, deadline, was_killed=was_killed, clean_looks=clean_looks)
            self._loop.call_later(0 if was_killed and left else _LOOK_AGAIN_S, again)
            return
        if was_killed:
            self._sink.on_output("stderr", _swept_sentence(left).encode())
        self._drain_timer = self._loop.call_later(_DRAIN_S, self._finish)
        if not self._open:
            self._finish()

    def _finish(self) -> None:
        if self._drain_timer is not None:
            self._drain_timer.cancel()
        for stream in list(self._open):
            self._close_output(stream)
        self._containment.close()
        if self._lease is not None:
            self._lease.release()
        assert self._exit_code is not None
        self._sink.on_exit(self._exit_code)

    # --- output ------------------------------------------------------------------------------------------

    def drain(self) -> None:
        """Deliver what has been written by now, or so much of it that an agent that never stops writing is no bar."""
        for stream in list(self._open):
            for _ in range(_DRAIN_CHUNKS):
                if stream not in self._open or not self._readable(stream):
                    break

    def _watch_output(self, stream: Stream, pipe: IO[bytes] | None) -> None:
        assert pipe is not None
        os.set_blocking(pipe.fileno(), False)
        self._open[stream] = pipe
        self._loop.add_reader(pipe.fileno(), self._readable, stream)

    def _readable(self, stream: Stream) -> bool:
        """Deliver one chunk; whether there was any."""
        try:
            data = os.read(self._open[stream].fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            self._sink.on_output(stream, data)
            return True
        self._close_output(stream)
        if self._drain_timer is not None and not self._open:
            self._finish()
        return False

    def _close_output(self, stream: Stream) -> None:
        pipe = self._open.pop(stream)
        self._loop.remove_reader(pipe.fileno())
        pipe.close()

    # --- input -------------------------------------------------------------------------------------------

    def _write_when_possible(self) -> None:
        self._loop.add_writer(self._stdin.fileno(), self._writable)

    def _writable(self) -> None:
        try:
            while self._unsent:
                written = os.write(self._stdin.fileno(), self._unsent[0])
                if rest := self._unsent.popleft()[written:]:
                    self._unsent.appendleft(rest)
        except BlockingIOError:
            return
        except OSError:
            self._unsent.clear()  # the agent does not want to hear the rest
            self._closing_input = True
        if self._closing_input:
            self._stop_writing()
        else:
            self._loop.remove_writer(self._stdin.fileno())

    def _stop_writing(self) -> None:
        if not self._stdin.closed:
            self._loop.remove_writer(self._stdin.fileno())
            self._stdin.close()
