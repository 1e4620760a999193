"""Drives one run from its record to its final state.

The only place where a process and an agent protocol meet. Everything happens on one event loop: the process reports
through callbacks, each of which journals first, folds, and only then tells the observer. Whatever goes wrong on the
way, `run` returns a state that is final, or whose journal could not be written and says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pi_subagents.clock import NowMs, now_ms
from pi_subagents.encoding import as_utf8
from pi_subagents.errors import StoreError
from pi_subagents.fold import RunState
from pi_subagents.harness import Harness, Invocation
from pi_subagents.models import event as ev
from pi_subagents.models.run import Reason, Status
from pi_subagents.outcome import (
    CANCELLED_SENTENCE,
    HANDLED_SENTENCE,
    LOOP_SENTENCE,
    NOT_STARTED_SENTENCE,
    SPAWN_SENTENCE,
    conclude,
    ending,
    full_sentence,
    timeout_sentence,
)
from pi_subagents.redaction import Redactor
from pi_subagents.runners import Process, Runner, Slot, SpawnFailed, Stream
from pi_subagents.store import RunRecord, stop_request
from pi_subagents.supervisor.limits import Deadline, Limits, LoopDetector, Pacing
from pi_subagents.supervisor.recorder import AgentOutput, Observer, Recorder
from pi_subagents.supervisor.stopping import Stopping, Timers

SETTLE_GRACE_S = 2.0
"""How long an agent that has nothing left to do may take to exit."""
START_GRACE_S = 60.0
"""How long an agent that has taken the prompt may take to begin; it never does if it took it for a command."""
QUIET_GRACE_S = 30.0
"""The same for versions that do not announce that they have settled: they may still be tidying up."""
_DELTA_INTERVAL_S = 0.1
REQUEST_INTERVAL_S = 0.5
"""How often to look whether another process asks for a stop."""
_STOPPED_S = 5.0
"""A look that comes so late means that this program was stopped (Ctrl+Z), however busy the machine is."""

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
        pacing: Pacing,
        *,
        problem: str | None = None,
        observer: Observer | None = None,
        now_ms: NowMs = now_ms,
    ) -> None:
        self.state = state
        self._record = record
        self._recorder = Recorder(record, state, observer, limits.journal_bytes)
        self._invocation = invocation
        self._runner = runner
        self._limits = limits
        self._problem = problem
        self._pacing = pacing
        self._now_ms = now_ms
        self._redactor = Redactor(invocation.secrets)
        self._dialogue = harness.dialogue(invocation)
        self._output = AgentOutput(self._dialogue, self._redactor, now_ms, record.stdout, record.stderr)
        self._harness = harness
        self._loops = LoopDetector(limits.loop_count)
        self._nested_loops = LoopDetector(limits.loop_count)
        self._process: Process | None = None
        self._gone: asyncio.Future[int] | None = None
        self._stopped_after_settling = False
        self._released = False
        self._waiting: asyncio.Task[None] | None = None
        self._timers = Timers()
        self._stopping = Stopping(self._abort_request, self._timers, self._cannot_reap)
        self._looked_at = 0.0

    # --- what others may ask ------------------------------------------------------------------------------

    def stop(self, reason: Reason = Reason.CANCELLED, message: str = CANCELLED_SENTENCE) -> None:
        """Ask the run to end; the first to ask decides why it ended. Returns at once."""
        if self.state.status.is_terminal or self.state.stop is not None or self._is_gone:
            return
        self._happened([ev.StopRequested(at=self._now_ms(), reason=reason, message=message)])
        if self._process is not None:
            self._end_process()
            return
        self._end(self._verdict())  # still waiting for a slot: there is nothing to stop
        if self._waiting is not None:
            self._waiting.cancel()

    def detach(self, owner: str) -> None:
        """Make the run a background run, of whose end `owner` is to be told."""
        self._happened([ev.Detached(at=self._now_ms(), owner=owner)])

    @property
    def can_steer(self) -> bool:
        """Whether the agent can be told something while it works."""
        return self._harness.can_steer

    def steer(self, text: str) -> str | None:
        """Tell the running agent something before its next turn; returns why not, if it cannot be told."""
        if not self._harness.can_steer:
            return f"this run cannot be steered: its harness ({self._harness.name}) takes no messages"
        if self._process is None or self.state.status.is_terminal or self.state.settled or self._stopping.has_begun:
            return "the agent has already finished" if self._process else "the agent has not started yet"
        if (told := self._dialogue.steer(text)) is None:
            return "the agent takes no messages right now; try again while it is working"
        self._happened([ev.SteerRequested(at=self._now_ms(), text=self._redactor.text(text))])
        self._process.send(told)
        return None

    def heed_request(self) -> None:
        """Stop if another process has asked for it; while the agent works, this looks again by itself."""
        if (message := stop_request(self._record.path)) is not None:
            self.stop(Reason.CANCELLED, message or CANCELLED_SENTENCE)
        elif self._waiting is not None:
            self._timers.set("request", REQUEST_INTERVAL_S, self._look_again)

    def _look_again(self) -> None:
        """Look for a request; what an agent said while we were stopped is still to be read, so that time is not its."""
        now = asyncio.get_running_loop().time()
        late_s = now - self._looked_at - REQUEST_INTERVAL_S
        self._looked_at = now
        if late_s > _STOPPED_S and self._process is not None:
            self._deadline.put_off(late_s)
            self._arm_deadline()
        self.heed_request()

    async def run(self) -> RunState:
        """Start the agent and see it through; returns the final state."""
        try:
            if self._problem is not None and not self.state.status.is_terminal:
                self._end(ending(Reason.INVALID, self._problem, self._now_ms()))
            if not self.state.status.is_terminal:
                await self._start_and_wait()
            await self._finish()
        finally:
            self._timers.cancel_all()
            self._record.close()
            if not self._released:
                self._let_go()
        return self.state

    @property
    def _is_gone(self) -> bool:
        return self._gone is not None and self._gone.done()

    # --- the way of a run ---------------------------------------------------------------------------------

    async def _start_and_wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_task(self._start_in_turn())
        self._looked_at = loop.time()
        self.heed_request()
        await self._see_through(self._waiting)
        if self._process is None or self._gone is None:
            return
        await self._in_thread(self._recorder.sync)
        if self._recorder.broken is not None:
            self._end_process()
        await self._see_through(self._gone)

    async def _start_in_turn(self) -> None:
        """Start the agent as soon as its provider and the machine allow it; no slot is held for a busy provider."""
        while self._process is None and not self.state.status.is_terminal:
            await self._wait_for_provider()
            async with self._runner.slot(self._invocation) as slot:
                if self._held_back_until() == 0 and not self.state.status.is_terminal:
                    self._start(slot)

    async def _wait_for_provider(self) -> None:
        told = 0
        while until := self._held_back_until():
            if until > told:
                provider = self._pacing.provider_of(self.state)
                self._happened([ev.HeldBack(at=self._now_ms(), provider=provider, until=until)])
                told = until
            # Not for all of that time at once: it may be shortened.
            await asyncio.sleep(min((until - self._now_ms()) / 1000, REQUEST_INTERVAL_S))

    def _start(self, slot: Slot) -> None:
        loop = asyncio.get_running_loop()
        self._gone = loop.create_future()
        try:
            process = self._process = slot.start(self)
        except (SpawnFailed, OSError) as failure:  # one task's surroundings never cost the others
            why = as_utf8(self._redactor.text(str(failure)))
            self._happened([ev.Stderr(at=self._now_ms(), text=why)])
            self._end(ending(Reason.SPAWN, SPAWN_SENTENCE, self._now_ms()))
            return
        started = ev.Started(at=self._now_ms(), pid=process.pid, containment=process.containment, reused=process.reused)
        self._deadline = Deadline(self._limits, loop.time())
        self._happened([started])
        self._arm_deadline()

    def _held_back_until(self) -> int:
        return self._pacing.hold(self.state, self._now_ms())

    async def _in_thread(self, work: Callable[..., None], *arguments: object) -> None:
        await self._see_through(asyncio.get_running_loop().run_in_executor(None, work, *arguments))

    async def _see_through(self, future: asyncio.Future[Any]) -> None:
        # A cancelled caller asks for a stop and still waits for the end: it never leaves a process behind.
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError:
                self.stop()
        if not future.cancelled():
            future.result()

    async def _finish(self) -> None:
        """Record the verdict; the result is drafted before, so that what cannot be kept is never called completed."""
        ended = None if self.state.status.is_terminal else self._verdict()
        try:
            await self._in_thread(self._tidy_up, ended)
        except StoreError as error:
            _log.error("%s", error)
            ended = ended and ending(Reason.RECORD, str(error), self._now_ms())
        if ended is not None:
            self._end(ended)
        self._let_go()
        await self._in_thread(self._recorder.publish_result)

    def _let_go(self) -> None:
        """The journal has the end of the run: its agent need not wait for the files that follow from it."""
        process, self._released = self._process, True
        if process is not None:
            process.release(reusable=self.state.status is Status.COMPLETED and not self._stopping.has_begun)

    def _tidy_up(self, ended: ev.Ended | None) -> None:
        change = self._redactor.record if self._redactor else None
        self._record.leave_clean(self._invocation.temporary, self._invocation.written_by_agent, change)
        self._record.remove_placeholders(self._invocation.cwd, self._invocation.placeholders)
        self._record.is_tidy()
        self._recorder.draft_result(ended)

    def _end(self, ended: ev.Ended) -> None:
        if not self.state.status.is_terminal and not self._recorder.happened([ended]):
            self._recorder.show([self._verdict()])

    def _verdict(self) -> ev.Ended:
        if self._recorder.broken is not None:
            return ending(Reason.RECORD, str(self._recorder.broken), self._now_ms())
        after, advice = self._stopped_after_settling, self._invocation.advice
        return conclude(self.state, self._now_ms(), stopped_after_settling=after, advice=advice)

    # --- what the process reports -------------------------------------------------------------------------

    def on_output(self, stream: Stream, data: bytes) -> None:
        """Called by the process with every chunk it prints."""
        self._happened(self._output.feed(stream, data))
        if self._output.has_pending:
            self._timers.set("delta", _DELTA_INTERVAL_S, lambda: self._happened(self._output.take_pending()))
        if self._process is not None and (replies := self._output.take_replies()):
            self._process.send(replies)

    def on_replaced(self, pid: int, containment: str) -> None:
        """Called by a reused process that could not take on the task, when another one has taken its place."""
        self._happened([ev.Replaced(at=self._now_ms(), pid=pid, containment=containment)])

    def on_exit(self, exit_code: int) -> None:
        """Called by the process when nothing of it is left and all its output has been delivered."""
        if self._gone is not None and not self._gone.done():
            self._gone.set_result(exit_code)
            self._happened([*self._output.finish(exit_code), ev.Exited(at=self._now_ms(), exit_code=exit_code)])

    # --- what follows from it -----------------------------------------------------------------------------

    def _happened(self, events: Sequence[ev.AnyEvent]) -> None:
        if not events:
            return
        if self._recorder.happened(self._with_stops_noticed(events)):
            self._react(events)
        else:
            self._end_process()

    def _with_stops_noticed(self, events: Sequence[ev.AnyEvent]) -> Sequence[ev.AnyEvent]:
        """The events, and right behind the call that makes a loop of them, the request to stop.

        Had the agent gone on and settled within the same chunk, a request at its end would come too late.
        """
        if self.state.stop is not None or isinstance(events[0], ev.StopRequested):
            return events
        finished = self._is_gone or self.state.settled or self.state.pass_ended
        if self._recorder.is_full and self._process is not None and not finished:
            sentence = full_sentence(self._limits.journal_bytes)
            return [ev.StopRequested(at=events[0].at, reason=Reason.RECORD, message=sentence), *events]
        for position, event in enumerate(events, start=1):
            if isinstance(event, ev.Message) and self._is_looping(event):
                stop = ev.StopRequested(at=event.at, reason=Reason.LOOP, message=LOOP_SENTENCE)
                return [*events[:position], stop, *events[position:]]
        return events

    def _is_looping(self, message: ev.Message) -> bool:
        # A script that is run again and again stays a loop, whatever it calls in between.
        return any(self._loops.tool_called(call) for call in message.tool_calls) or any(
            self._nested_loops.tool_called(call) for call in message.nested_calls
        )

    def _react(self, events: Sequence[ev.AnyEvent]) -> None:
        self._pacing.heed(self.state, events)
        for event in events:
            self._heed_work(event)
            if isinstance(event, ev.ApprovalRequested):
                self._answer(event)
        if self.state.stop is not None:
            self._end_process()
        if self.state.settled and self._process is not None:
            if self._stopping.has_begun:
                self._process.close_input()
            else:
                self._process.finish()  # an interactive agent waits for this before it exits
        if self.state.disposition == "handled" and not self.state.begun:
            self.stop(Reason.AGENT_ERROR, HANDLED_SENTENCE)
        # An agent that says what became of its prompt may take its time.
        silent = self.state.accepted and not self.state.begun and self.state.disposition is None
        never_started = partial(self.stop, Reason.AGENT_ERROR, NOT_STARTED_SENTENCE)
        self._watch("unstarted", silent, START_GRACE_S, never_started)
        self._watch("settled", self.state.settled, SETTLE_GRACE_S, self._end_process)
        self._watch("quiet", self.state.pass_ended, QUIET_GRACE_S, self._end_process)

    def _abort_request(self) -> bytes:
        """An agent that has not begun has nothing to settle, and may not take a request for what is still to come."""
        return self._dialogue.abort() if self.state.begun else b""

    def _answer(self, request: ev.ApprovalRequested) -> None:
        """Answer a permission request at once, as the profile says: an agent must not wait for it."""
        allowed = self._invocation.approvals == "allow" and self.state.stop is None
        self._happened([ev.ApprovalAnswered(at=self._now_ms(), id=request.id, allowed=allowed)])
        if self._process is not None:
            self._process.send(self._dialogue.answer(request.id, allowed=allowed))

    def _watch(self, name: str, is_idle: bool, grace_s: float, action: Callable[[], None]) -> None:
        if is_idle:
            self._timers.set(name, grace_s, action)
        else:
            self._timers.cancel(name)

    def _heed_work(self, event: ev.AnyEvent) -> None:
        if self._process is None:
            return
        if isinstance(event, ev.ToolEnded):
            self._deadline.tool_ended(event.id)
        elif isinstance(event, ev.ToolStarted) or (isinstance(event, ev.Message) and event.tool_calls):
            running = event.id if isinstance(event, ev.ToolStarted) else None
            if self._deadline.tool_called(asyncio.get_running_loop().time(), running):
                self._arm_deadline()

    def _arm_deadline(self) -> None:
        self._timers.cancel("deadline")
        if self._deadline.at is not None:
            delay_s = self._deadline.at - asyncio.get_running_loop().time()
            self._timers.set("deadline", delay_s, self._deadline_reached)

    def _deadline_reached(self) -> None:
        if not self._deadline.passed(asyncio.get_running_loop().time()):
            self._arm_deadline()
            return
        self.stop(Reason.TIMEOUT, timeout_sentence(self._limits.timeout_s or 0))

    # --- ending the process -------------------------------------------------------------------------------

    def _end_process(self) -> None:
        if self._process is None or self._stopping.has_begun or self._is_gone:
            return
        self._stopped_after_settling = self.state.stop is None and (self.state.settled or self.state.pass_ended)
        self._stopping.begin(self._process)

    def _cannot_reap(self, process: Process) -> None:
        _log.error("process %s of run %s is still there after SIGKILL", process.pid, self.state.run_id)
        self.on_exit(128 + 9)
