"""Drives one run from its record to its final state.

The only place where a process and an agent protocol meet. Everything happens on one event loop: the process reports
through callbacks, each of which journals first, folds, and only then tells the observer. Whatever goes wrong on the
way, `run` returns a state that is final, or whose journal could not be written and says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from pi_subagents.clock import NowMs, now_ms
from pi_subagents.errors import StoreError
from pi_subagents.fold import RunState, fold
from pi_subagents.harness import Harness, Invocation
from pi_subagents.jsonl import Oversized
from pi_subagents.models import event as ev
from pi_subagents.models.run import Reason, Status
from pi_subagents.outcome import (
    CANCELLED_SENTENCE,
    LOOP_SENTENCE,
    SPAWN_SENTENCE,
    conclude,
    ending,
    timeout_sentence,
)
from pi_subagents.progress import ProgressWords
from pi_subagents.redaction import Redactor
from pi_subagents.results import result_document
from pi_subagents.runners import Process, Runner, SpawnFailed, Stream
from pi_subagents.store import RunRecord, stop_request
from pi_subagents.supervisor.limits import Deadline, Limits, LoopDetector
from pi_subagents.supervisor.stream import EventStream

Observer = Callable[[RunState, Sequence[ev.Event]], None]

STOP_GRACE_S = 5.0
"""From the polite request to the kill, as documented."""
REAP_S = 5.0
"""How long the kernel may take to end what was killed; longer means a process stuck in the kernel."""
SETTLE_GRACE_S = 2.0
"""How long an agent that has nothing left to do may take to exit."""
QUIET_GRACE_S = 30.0
"""The same for versions that do not announce that they have settled: they may still be tidying up."""
_DELTA_INTERVAL_S = 0.1
_REQUEST_INTERVAL_S = 0.5
"""How often to look whether another process asks for a stop."""

_log = logging.getLogger(__name__)


class Supervisor:
    """One run. Use once. A `problem` means that the task cannot be run: recording it is all there is to do."""

    def __init__(
        self,
        record: RunRecord,
        state: RunState,
        invocation: Invocation,
        harness: Harness,
        runner: Runner,
        limits: Limits,
        *,
        problem: str | None = None,
        observer: Observer | None = None,
        now_ms: NowMs = now_ms,
    ) -> None:
        self.state = state
        self._record = record
        self._invocation = invocation
        self._runner = runner
        self._limits = limits
        self._problem = problem
        self._observer = observer
        self._now_ms = now_ms
        self._redactor = Redactor(invocation.secrets)
        self._stream = EventStream(harness.decoder(), self._redactor, now_ms)
        self._words = ProgressWords(cwd=state.cwd, multiline=True)
        self._loops = LoopDetector(limits.loop_count)
        self._process: Process | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._stopped_after_settling = False
        self._broken: StoreError | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}

    # --- what others may ask ------------------------------------------------------------------------------

    def stop(self, reason: Reason = Reason.CANCELLED, message: str = CANCELLED_SENTENCE) -> None:
        """Ask the run to end; the first to ask decides why it ended. Returns at once."""
        if self.state.status.is_terminal or self.state.stop is not None:
            return
        self._happened([ev.StopRequested(at=self._now_ms(), reason=reason, message=message)])
        if self._process is None:
            self._end()  # still waiting for its turn: there is nothing to stop
        else:
            self._escalate()

    async def run(self) -> RunState:
        """Start the agent and see it through; returns the final state."""
        try:
            if self._problem is not None and not self.state.status.is_terminal:
                self._happened([ending(Reason.INVALID, self._problem, self._now_ms())])
            if not self.state.status.is_terminal:
                await self._start_and_wait()
            self._end()
        finally:
            self._cancel_timers()
            await self._settle_record()
        return self.state

    # --- the way of a run ---------------------------------------------------------------------------------

    async def _start_and_wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._gone: asyncio.Future[int] = loop.create_future()
        try:
            self._process = self._runner.start(self._invocation, self)
        except SpawnFailed as failure:
            self._happened([ev.Stderr(at=self._now_ms(), text=str(failure))])
            self._happened([ending(Reason.SPAWN, SPAWN_SENTENCE, self._now_ms())])
            return
        self._deadline = Deadline(self._limits, loop.time())
        started = ev.Started(at=self._now_ms(), pid=self._process.pid, containment=self._process.containment)
        self._happened([started])
        self._arm_deadline()
        self._look_for_request()
        await asyncio.to_thread(self._sync)
        await self._wait_until_gone()

    async def _wait_until_gone(self) -> None:
        # A cancelled caller asks for a stop and still waits for the end: it never leaves a process behind.
        while not self._gone.done():
            try:
                await asyncio.shield(self._gone)
            except asyncio.CancelledError:
                if self._gone.cancelled():
                    raise
                self.stop()
        if self._stopping is not None:
            self._stopping.cancel()

    def _end(self) -> None:
        if self.state.status.is_terminal:
            return
        if self._broken is not None:
            self._fold([ending(Reason.RECORD, str(self._broken), self._now_ms())])
            return
        if self._process is None:
            assert self.state.stop is not None
            self._happened([ending(self.state.stop.reason, self.state.stop.message, self._now_ms())])
            return
        self._happened([self._verdict()])

    def _verdict(self) -> ev.Ended:
        verdict = conclude(self.state, self._now_ms(), stopped_after_settling=self._stopped_after_settling)
        never_spoke = self.state.message_count == 0 and not self.state.settled
        if verdict.reason is Reason.EXIT and self.state.exit_code in (126, 127) and never_spoke:
            return ending(Reason.SPAWN, SPAWN_SENTENCE, self._now_ms())
        return verdict

    async def _settle_record(self) -> None:
        try:
            await asyncio.to_thread(self._write_result)
        except StoreError as error:
            self._lost_the_record(error)
        finally:
            self._record.close()
        if self._broken is not None and self.state.status is not Status.FAILED:
            self.state.status, self.state.reason = Status.FAILED, Reason.RECORD
            self.state.error = str(self._broken)

    def _write_result(self) -> None:
        for name in self._invocation.temporary:
            self._record.remove(name)
        for name in self._invocation.written_by_agent if self._redactor else ():
            self._record.rewrite(name, self._redactor.record)
        self._record.sync()
        self._record.write_result(result_document(self.state))

    # --- what the process reports -------------------------------------------------------------------------

    def on_output(self, stream: Stream, data: bytes) -> None:
        """Called by the process with every chunk it prints."""
        if stream == "stderr":
            clean = self._redactor.record(data)
            self._record.stderr.write(clean)
            self._happened([ev.Stderr(at=self._now_ms(), text=clean.decode("utf-8", "replace"))])
            return
        self._take(*self._stream.feed(data))
        if self._stream.has_pending and "delta" not in self._timers:
            self._after("delta", _DELTA_INTERVAL_S, self._release_pending)

    def on_exit(self, exit_code: int) -> None:
        """Called by the process when nothing of it is left and all its output has been delivered."""
        self._take(*self._stream.finish())
        self._happened([ev.Exited(at=self._now_ms(), exit_code=exit_code)])
        if not self._gone.done():
            self._gone.set_result(exit_code)

    def _take(self, events: list[ev.AnyEvent], frames: list[Any]) -> None:
        lines = [frame for frame in frames if not isinstance(frame, Oversized)]
        if lines:
            self._record.stdout.write(b"\n".join(lines) + b"\n")
        if events:
            self._happened(events)

    def _release_pending(self) -> None:
        if events := self._stream.take_pending():
            self._happened(events)

    # --- what follows from it -----------------------------------------------------------------------------

    def _happened(self, events: Sequence[ev.AnyEvent]) -> None:
        """Journal, fold, show: in this order, or not at all."""
        if self._broken is not None:
            return
        try:
            self._record.append(events)
        except StoreError as error:
            self._lost_the_record(error)
            return
        self._fold(events)
        self._react(events)

    def _fold(self, events: Sequence[ev.AnyEvent]) -> None:
        fold(self.state, events)
        self._write_transcript(events)
        if self._observer is None:
            return
        try:
            self._observer(self.state, events)
        except Exception:  # noqa: BLE001 - an observer is somebody else's code; it must not cost the run its result
            _log.exception("an observer of run %s failed", self.state.run_id)

    def _write_transcript(self, events: Sequence[ev.AnyEvent]) -> None:
        lines = [words for event in events if (words := self._words.say(event))]
        if lines:
            self._record.transcript.write(("\n".join(lines) + "\n").encode("utf-8", "replace"))

    def _react(self, events: Sequence[ev.AnyEvent]) -> None:
        for event in events:
            if isinstance(event, ev.Message | ev.ToolStarted):
                self._watch_tool_calls(event)
        if self.state.settled or self.state.pass_ended:
            grace = SETTLE_GRACE_S if self.state.settled else QUIET_GRACE_S
            self._after("settle", grace, self._overstayed)
        else:
            self._cancel("settle")

    def _watch_tool_calls(self, event: ev.Message | ev.ToolStarted) -> None:
        calls = event.tool_calls if isinstance(event, ev.Message) else []
        if calls or isinstance(event, ev.ToolStarted):
            self._working()
        for call in calls:
            if self._loops.tool_called(call):
                self.stop(Reason.LOOP, LOOP_SENTENCE)

    def _working(self) -> None:
        if self._process is not None and self._deadline.tool_called(asyncio.get_running_loop().time()):
            self._arm_deadline()

    def _arm_deadline(self) -> None:
        self._cancel("deadline")
        if self._deadline.at is not None:
            delay = self._deadline.at - asyncio.get_running_loop().time()
            self._after("deadline", max(0.0, delay), self._deadline_reached)

    def _deadline_reached(self) -> None:
        if not self._deadline.passed(asyncio.get_running_loop().time()):
            self._arm_deadline()
            return
        self.stop(Reason.TIMEOUT, timeout_sentence(self._limits.timeout_s or 0))

    def _look_for_request(self) -> None:
        message = stop_request(self._record.path)
        if message is not None:
            self.stop(Reason.CANCELLED, message or CANCELLED_SENTENCE)
        else:
            self._after("request", _REQUEST_INTERVAL_S, self._look_for_request)

    def _overstayed(self) -> None:
        if self._stopping is None:
            self._stopped_after_settling = True
            self._escalate()

    def _lost_the_record(self, error: StoreError) -> None:
        """Without a journal there is no truth about the run: end it, and say why."""
        _log.error("%s", error)
        self._broken = error
        self._escalate()

    # --- ending the process -------------------------------------------------------------------------------

    def _escalate(self) -> None:
        if self._process is not None and self._stopping is None:
            self._stopping = asyncio.get_running_loop().create_task(self._end_process(self._process))

    async def _end_process(self, process: Process) -> None:
        process.terminate()
        await asyncio.wait([self._gone], timeout=STOP_GRACE_S)
        if self._gone.done():
            return
        process.kill()
        await asyncio.wait([self._gone], timeout=REAP_S)
        if not self._gone.done():
            _log.error("process %s of run %s does not end after SIGKILL", process.pid, self.state.run_id)
            self.on_exit(128 + 9)

    # --- timers -------------------------------------------------------------------------------------------

    def _after(self, name: str, delay_s: float, action: Callable[[], None]) -> None:
        if name not in self._timers:

            def fire() -> None:
                self._timers.pop(name, None)
                action()

            self._timers[name] = asyncio.get_running_loop().call_later(delay_s, fire)

    def _cancel(self, name: str) -> None:
        if timer := self._timers.pop(name, None):
            timer.cancel()

    def _cancel_timers(self) -> None:
        for name in list(self._timers):
            self._cancel(name)

    def _sync(self) -> None:
        try:
            self._record.sync()
        except StoreError as error:
            _log.error("%s", error)
