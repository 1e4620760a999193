"""One run that is on disk: read back, followed, waited for, stopped, steered, resumed, written as a page."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from pi_subagents import export
from pi_subagents.clock import elapsed_ms, now_ms
from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.errors import InvalidCall
from pi_subagents.files import is_below
from pi_subagents.fold import RunState
from pi_subagents.harness import AGENTS, DEFAULT_AGENT, HARNESSES, harness_named
from pi_subagents.models import DEFAULT_TIMEOUT_S, Reason, Status, Task, Usage, short_id
from pi_subagents.models.event import AnyEvent, Event
from pi_subagents.models.gathered import RecentMessages
from pi_subagents.outcome import CANCELLED_SENTENCE
from pi_subagents.paths import project_of
from pi_subagents.runs.live import ask_holder, follow_run, watch_run
from pi_subagents.store import (
    JOURNAL_FILE,
    META_FILE,
    is_held,
    load_run,
    read_file,
    read_journal,
    request_stop,
)
from pi_subagents.store.record import was_made_here
from pi_subagents.text.streamed import StreamedText

PageKind = Literal["md", "html"]


def pieces(run_dirs: Sequence[Path], kind: PageKind) -> Iterator[str]:
    """The runs of a session as one text, bit by bit: it may be long. Raises StoreError before the first bit."""
    pages = [run_page(folder) for folder in run_dirs]
    return export.session_html(pages, now_ms()) if kind == "html" else _markdown(pages)


def _markdown(pages: Sequence[export.RunPage]) -> Iterator[str]:
    for number, block in enumerate(export.session_markdown(pages)):
        yield f"\n{block}\n" if number else f"{block}\n"


def run_page(run_dir: Path) -> export.RunPage:
    """A run as it is now, closed if it was lost; raises StoreError."""
    return export.RunPage(facts_of(run_dir), _StoredEntries(run_dir))


def facts_of(run_dir: Path) -> RunState:
    """The true state of a run without what was said in it: a session may have a great many; raises StoreError."""
    state = load_run(run_dir)
    state.messages, state.partial, state.final_text = RecentMessages(), StreamedText(), None
    return state


class _StoredEntries(msgspec.Struct, frozen=True):
    """The conversation as the journal has it, read anew each time and never held in memory."""

    run_dir: Path

    def __iter__(self) -> Iterator[export.Entry]:
        return entries(read_journal(self.run_dir / JOURNAL_FILE))


def entries(events: Iterable[Event]) -> Iterator[export.Entry]:
    """The conversation in `events`, with what was not finished at their end."""
    conversation = export.Conversation()
    for event in events:
        yield from conversation.take(event)
    yield from conversation.rest()


_POLL_S = 0.1


class RunResult(msgspec.Struct, frozen=True):
    """How one task ended. `output` is the agent's last text; `error` a sentence when it did not complete.

    `agent` did it: `pi`, `claude` …. Without `knows_tokens` or `knows_cost`, more may have been used than `usage` says.
    `beginning` is what it knew of its session: nothing (`fresh`), its own conversation (`resumed`), or what it was
    told (`retold`).
    `denied` counts the permission requests that were denied.
    """

    name: str
    session_id: str
    run_id: str
    run_dir: Path
    status: Status
    reason: Reason | None
    output: str
    error: str | None
    exit_code: int | None
    profile: str | None
    provider: str | None
    model: str | None
    usage: Usage
    tool_count: int
    started_at: int | None
    completed_at: int | None
    agent: str = ""
    beginning: Literal["fresh", "resumed", "retold"] = "fresh"
    knows_tokens: bool = True
    knows_cost: bool = True
    context_used: int | None = None
    context_size: int | None = None
    changed_files: tuple[str, ...] = ()
    denied: int = 0

    @property
    def ok(self) -> bool:
        """Whether the task was completed."""
        return self.status is Status.COMPLETED

    @property
    def duration_s(self) -> float:
        """From the start of the agent to the end of the run; 0 for an agent that never started."""
        return self.duration_ms / 1000

    @property
    def duration_ms(self) -> int:
        """The same, as documents have it."""
        return elapsed_ms(self.started_at, self.completed_at)


_SAID_OTHERWISE = ("run_dir", "output", "changed_files")
_TOLD_OF_STATE = tuple(name for name in RunResult.__struct_fields__ if name not in _SAID_OTHERWISE)


class Run(msgspec.Struct, frozen=True):
    """One run: where its record is, and its state when that was read.

    A run is not removed alone: its session is, with all of its runs.
    """

    run_dir: Path
    state: RunState

    @classmethod
    def load(cls, run_dir: Path) -> Run:
        """The run in a directory as it is now; closes it if it was lost. Raises StoreError."""
        return cls(run_dir, load_run(run_dir))

    @property
    def id(self) -> str:
        return self.state.run_id

    @property
    def session_id(self) -> str:
        return self.state.session_id

    @property
    def project(self) -> Path:
        return project_of(self.run_dir)

    @property
    def journal(self) -> Path:
        return self.run_dir / JOURNAL_FILE

    @property
    def is_over(self) -> bool:
        return self.state.status.is_terminal

    @property
    def result(self) -> RunResult:
        """How it stands; while it is not over, `output` is the text so far."""
        state = self.state
        return RunResult(
            run_dir=self.run_dir,
            output=state.text,
            changed_files=tuple(state.changed_files),
            **{name: getattr(state, name) for name in _TOLD_OF_STATE},
        )

    @property
    def summary(self) -> str | None:
        """What the caller wants to be told when it is over, instead of the agent's text."""
        try:
            return decode_json(read_file(self.run_dir / META_FILE), _Meta).summary
        except JsonError:
            return None

    # --- what happens in it -----------------------------------------------------------------------------------

    def events(self) -> Iterator[AnyEvent]:
        """What has happened so far, oldest first, from disk; raises StoreError."""
        return read_journal(self.journal)

    def follow(self, pause: Callable[[float], None] = time.sleep) -> Iterator[AnyEvent]:
        """The same, and what happens from now on until the run is over; raises StoreError."""
        return follow_run(self.run_dir, pause)

    def watch(self) -> AsyncIterator[list[AnyEvent]]:
        """The same for a program with an event loop: all that has come since the last time at once."""
        return watch_run(self.run_dir)

    def wait(self, timeout: float | None = None) -> Run:
        """The run as it ended, once its holder has let go of it; raises TimeoutError after `timeout` seconds."""
        for (run,) in as_they_end([self], timeout):
            return run
        raise TimeoutError(f"run {self.id} is not over after {timeout:g} s")

    def look(self) -> Run:
        """The run as it is now. The journal of one at work is left alone: whoever lets go of it has written its end."""
        return self if self.state.status is not Status.QUEUED and self.is_held else Run.load(self.run_dir)

    @property
    def is_done(self) -> bool:
        """Whether it is over and nobody has to clear up behind it any more; raises StoreError."""
        # What never started may end long before the turn for which its holder keeps it.
        return self.is_over and (self.state.started_at is None or not self.is_held)

    @property
    def is_held(self) -> bool:
        """Whether somebody holds it now, to go on with it or to clear up behind it; raises StoreError."""
        return is_held(self.run_dir)

    # --- what can be done with it -----------------------------------------------------------------------------

    def stop(self, message: str = CANCELLED_SENTENCE) -> None:
        """Ask whoever holds it to stop it; returns at once. Raises StoreError."""
        request_stop(self.run_dir, message)

    def steer(self, text: str) -> None:
        """Tell the agent something before its next turn; raises InvalidCall, which says why it was not told."""
        now = Run.load(self.run_dir)
        if problem := now.why_not_steered():
            raise problem
        answer = ask_holder(self.run_dir, {"op": "steer", "text": text})
        if answer is None:
            raise InvalidCall(f"Session {short_id(self.session_id)} does not answer; it may have just ended.")
        if not answer.get("ok"):
            raise InvalidCall(f"Session {short_id(self.session_id)} did not get it: {answer.get('error')}.")

    def why_not_steered(self) -> InvalidCall | None:
        """What keeps the agent of a run that is not over from being told anything; None: it can be asked."""
        session, name = f"Session {short_id(self.session_id)}", self.state.harness
        harness = harness_named(name) if name in HARNESSES else None
        if harness is not None and not harness.can_steer:
            other = harness.steerable_as
            return InvalidCall(
                f"{session} cannot be steered: its agent uses the harness {name}, which takes no messages.",
                advice=f'to steer the next one, set "harness: {other}" in its profile or in subagents.harness'
                if other
                else "",
            )
        if self.state.status is Status.QUEUED:
            return InvalidCall(f"{session} is still queued; its agent has not started.")
        return None

    def resumed_task(
        self,
        prompt: str,
        *,
        cwd: Path | None = None,
        profile: str | None = None,
        timeout_s: float | None = None,
        files: tuple[str, ...] = (),
        agent: str | None = None,
    ) -> Task:
        """The task that continues the session: same directory, profile or preset, and agent, unless told otherwise.

        With another profile, or if this version does not know the agent, the profile chooses the agent. The model and
        the thinking level that were asked for hold only for the same profile and agent.

        Raises InvalidCall if there is no prompt, or if the directory is gone.
        """
        if not prompt.strip():
            raise InvalidCall("the prompt is empty; say what the agent should do now")
        self.require_ours()
        before = self.state.other_agent if not profile and self.state.other_agent in AGENTS else None
        agent = agent or before
        is_same = not profile and (agent or DEFAULT_AGENT) == self.state.agent
        return Task(
            self.state.name,
            prompt,
            cwd=str(cwd.absolute() if cwd else self._directory()),
            profile=profile or self.state.profile,
            timeout=timeout_s or DEFAULT_TIMEOUT_S,
            resume=self.session_id,
            files=files,
            preset=None if profile else self.state.preset,
            model=self.state.requested_model if is_same else None,
            thinking_level=self.state.requested_thinking if is_same else None,
            agent=agent,
        )

    def require_ours(self) -> None:
        """Raise InvalidCall for a record that somebody else made: it can be looked at and nothing else."""
        if self.state.foreign:
            raise InvalidCall(
                f'Cannot resume: session "{self.session_id}" has a {self.state.foreign} ({self.run_dir}).'
            )

    def _directory(self) -> Path:
        cwd, project = Path(self.state.cwd), self.project
        if not cwd.is_dir():
            raise InvalidCall(f"{cwd}, where the session worked, no longer exists; choose another directory with --cwd")
        if not is_below(cwd, project) and not was_made_here(self.run_dir):
            # A record that came with the project does not say where else an agent works next.
            raise InvalidCall(f"{cwd}, where the session worked, is outside {project}; to use it, pass it with --cwd")
        return cwd

    def export(self, kind: PageKind = "md") -> Iterator[str]:
        """The whole run as Markdown, or as one HTML page, in pieces; raises StoreError."""
        return pieces([self.run_dir], kind)


class _Meta(msgspec.Struct):
    summary: str | None = None


def as_they_end(runs: Iterable[Run], timeout: float | None = None) -> Iterator[list[Run]]:
    """The runs as they ended, those that end at once together, until all have or `timeout` seconds have passed."""
    pending = list(runs)
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        looked = [run.look() for run in pending]
        done = {run.run_dir for run in looked if run.is_done}
        if done:
            yield [run for run in looked if run.run_dir in done]
        pending = [run for run in looked if run.run_dir not in done]
        if not pending or (deadline is not None and time.monotonic() >= deadline):
            return
        time.sleep(_POLL_S)
