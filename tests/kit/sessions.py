"""Sessions on disk as the store itself writes them: finished, running, lost, of any age."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pi_subagents.clock import now_ms
from pi_subagents.fold import RunState, fold
from pi_subagents.models import Reason, Status, Usage
from pi_subagents.models import event as ev
from pi_subagents.outcome import ending
from pi_subagents.paths import runs_dir
from pi_subagents.place import Place
from pi_subagents.runs.listing import SessionSummary, Wanted, list_sessions
from pi_subagents.store import Index, Lease, RunRecord, load_run, publish
from pi_subagents.store.record import open_run

HOUR_S = 3600
DAY_S = 86_400


@dataclass
class Kept:
    """A run on the shelf; `record` is there while somebody holds it."""

    session_id: str
    run_dir: Path
    state: RunState
    record: RunRecord | None = None

    def append(self, *events: ev.Event) -> None:
        """The holder writes on."""
        assert self.record is not None
        self.record.append(events)
        fold(self.state, events)

    def let_go(self) -> None:
        """The holder dies, or is done."""
        assert self.record is not None
        self.record.close()
        self.record = None

    def end(self, reason: Reason = Reason.SETTLED, message: str | None = None, at: int | None = None) -> None:
        """The holder writes the end and lets go."""
        self.append(ending(reason, message, now_ms() if at is None else at))
        self.let_go()

    def hand_over(self) -> Lease:
        """The holder leaves the run to another process, which has this."""
        assert self.record is not None
        handed_over = os.dup(self.record.lease_fd)
        self.record.leave()
        self.record = None
        return Lease(handed_over)


@dataclass
class Shelf:
    """Where a project keeps its runs, and the index under the agent directory."""

    project: Path
    agent_dir: Path
    held: list[Kept] = field(default_factory=list)

    def add(
        self,
        *events: ev.Event,
        name: str = "task",
        prompt: str = "Do it",
        age_s: float = HOUR_S,
        session_id: str | None = None,
        profile: str | None = None,
        preset: str | None = None,
        ends: Reason | None = Reason.SETTLED,
        message: str | None = None,
        indexed: bool = True,
        indexed_as_running: bool = False,
        cwd: Path | None = None,
        file_count: int = 0,
        harness: str = "pi-json",
    ) -> Kept:
        """A run that began `age_s` ago and took a second; with `ends` None it is still held, until it is let go."""
        session_id = session_id or secrets.token_hex(8)
        at = now_ms() - int(age_s * 1000)
        run_id = run_id_at(at, session_id)
        run_dir = runs_dir(self.project) / run_id
        created = ev.Created(
            at=at,
            run_id=run_id,
            session_id=session_id,
            name=name,
            prompt=prompt,
            cwd=str(cwd or self.project),
            harness=harness,
            profile=profile,
            preset=preset,
            file_count=file_count,
        )
        kept = Kept(session_id, run_dir, fold(RunState(), [created]))
        kept.record = publish(run_dir, {"runId": run_id}, created)
        kept.append(ev.Started(at=at, pid=1, containment="fake"), *events)
        if indexed_as_running:
            self.index.record(self.project, {run_dir: kept.state})
        if ends is None:
            self.held.append(kept)
        else:
            kept.append(ending(ends, message, at + 1000))
            kept.let_go()
            load_run(run_dir)  # makes the derived files
        if indexed and not indexed_as_running:
            self.index.record(self.project, {run_dir: kept.state})
        return kept

    @property
    def index(self) -> Index:
        return Index(self.agent_dir)

    @property
    def place(self) -> Place:
        return Place(self.project, self.agent_dir, {})

    @property
    def folder(self) -> Path:
        """Where the records are."""
        return runs_dir(self.project)

    def list_of(self, session_id: str) -> Path:
        """The list of a session's runs."""
        return self.folder / ".sessions" / session_id

    def lose_index(self) -> None:
        """Have something in the place of the index of which nothing can be made."""
        self.index.path.unlink(missing_ok=True)
        self.index.path.mkdir(parents=True)

    def listed(self, *, place: Place | None = None, **wanted: Any) -> list[SessionSummary]:
        """The sessions as they are listed, those of the project unless told otherwise."""
        wanted.setdefault("project", self.project)
        return list_sessions(place or self.place, Wanted(**wanted))

    @property
    def runs(self) -> list[str]:
        """The names of all visible run directories."""
        return sorted(path.name for path in self.folder.iterdir() if not path.name.startswith("."))

    def close(self) -> None:
        for kept in self.held:
            if kept.record is not None:
                kept.let_go()


def take_lease(run_dir: Path) -> Lease | None:
    """Hold the run in a directory, unless somebody else does."""
    with open_run(run_dir) as run:
        return Lease.of_run(run)


def run_id_at(at: int, session_id: str) -> str:
    """A run id as it would have been made at that time."""
    return f"{datetime.fromtimestamp(at // 1000, UTC):%Y%m%dT%H%M%S}{at % 1000:03d}-{session_id}"


def says(*parts: ev.Part | str, at: int = 0, **fields: Any) -> ev.Message:
    """A complete message of the agent."""
    made = tuple(ev.TextPart(part) if isinstance(part, str) else part for part in parts)
    fields.setdefault("usage", Usage(input=100, output=20, total_tokens=120, cost=0.01))
    return ev.Message(at=at, role="assistant", parts=made, provider="offline", model="scripted", **fields)


def call(call_id: str, name: str, **arguments: Any) -> ev.ToolCallPart:
    """A part of an agent's message: the call of a tool."""
    return ev.ToolCallPart(call_id, name, arguments)


def returns(call_id: str, name: str, text: str, at: int = 0, *, is_error: bool = False) -> ev.Message:
    """What a tool returned."""
    parts = (ev.TextPart(text),)
    return ev.Message(at=at, role="toolResult", tool_call_id=call_id, tool_name=name, parts=parts, is_error=is_error)


def was_told(text: str) -> ev.Message:
    """A message to the agent."""
    return ev.Message(role="user", parts=(ev.TextPart(text),))


def run_of(
    *events: ev.Event, prompt: str = "Do it", status: Status | None = Status.COMPLETED, **fields: Any
) -> Sequence[ev.Event]:
    """All events of a run in memory; without a status it has not ended."""
    created = ev.Created(
        at=1000,
        run_id="20261101T140322000-a3f7b9c2d1e8f4a1",
        session_id="a3f7b9c2d1e8f4a1",
        name="review",
        prompt=prompt,
        cwd="/home/ann/tea",
        harness="pi-json",
        **fields,
    )
    reasons = {Status.COMPLETED: Reason.SETTLED, Status.ABORTED: Reason.CANCELLED, Status.FAILED: Reason.TIMEOUT}
    end = [ev.Ended(at=13_300, status=status, reason=reasons[status], message=None)] if status else []
    return [created, ev.Started(at=1000, pid=1, containment="fake"), *events, *end]
