"""Journals spoilt at random: one bad record costs nobody else anything, and nothing is written outside of it.

Each case is one spoilt journal. They are tried by the dozen, in one project with two sound runs, by everything that
walks over runs. A failure prints the mutations that lead to it, and every part of the test always tries the same ones;
`./scripts/soak` tries others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from pi_subagents.delegation.retelling import Told, retelling
from pi_subagents.export import RunPage, session_markdown
from pi_subagents.export.transcripts import session_transcript
from pi_subagents.models import event as ev
from pi_subagents.place import Place
from pi_subagents.progress import ProgressWords, Window, body_segments, header_segments
from pi_subagents.runs.background import announcement, counts
from pi_subagents.runs.forms import run_row, session_row
from pi_subagents.runs.listing import SessionSummary, Wanted, list_sessions
from pi_subagents.runs.live import follow_run
from pi_subagents.runs.retention import Rule, find_dispensable
from pi_subagents.runs.roster import WatchedRun
from pi_subagents.runs.run import entries
from pi_subagents.runs.sessions import Sessions
from pi_subagents.store import JOURNAL_FILE, RESULT_FILE, Index
from pi_subagents.store.writing import result_document
from pi_subagents.surfaces.watch.run_list import tall_row
from tests.kit.sessions import DAY_S, Shelf, call, returns, says, was_told
from tests.security.mutations import Mutation, lines_to_insert, some_mutations, spoilt

CASES = int(os.environ.get("SOAK_CASES", "5000"))
SEED = int(os.environ.get("SOAK_SEED", "0"))
PARTS = 10
AT_ONCE = 50
NOW_MS = 1_900_000_000_000


@dataclass
class Scene:
    """A project with two sound runs and some whose journals are replaced again and again."""

    shelf: Shelf
    sound: dict[Path, bytes]
    victims: list[Path]
    journal: bytes

    def spoil(self, batch: dict[Path, list[Mutation]]) -> None:
        """Give each of the victims a journal with these mutations."""
        other = next(path.parent.name for path in self.sound if path.name == JOURNAL_FILE)
        inserted = lines_to_insert(other)
        for run_dir, mutations in batch.items():
            (run_dir / JOURNAL_FILE).write_bytes(spoilt(self.journal, mutations, inserted))
            (run_dir / RESULT_FILE).unlink(missing_ok=True)

    @property
    def place(self) -> Place:
        return Place(self.shelf.project, self.shelf.agent_dir, {})

    @property
    def files(self) -> dict[Path, bytes]:
        """Everything in the project that no spoilt run owns."""
        found = (path for path in self.shelf.project.rglob("*") if path.is_file() and path.parent not in self.victims)
        return {path: path.read_bytes() for path in found}


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setattr(os, "fsync", lambda _fd: None)  # no power is cut here
    shelf = Shelf(tmp_path / "project", tmp_path / "agent")
    talk = (
        was_told("Do it"),
        ev.Delta(at=4, kind="text", text="I"),
        says("I look.", call("1", "bash", command="ls", limits=[1, 2.5, None]), at=NOW_MS, stop_reason="toolUse"),
        ev.ToolStarted(at=NOW_MS, id="1", name="bash", arguments={"command": "ls"}),
        returns("1", "bash", "a\nb", at=NOW_MS),
        ev.RetryStarted(at=NOW_MS, attempt=1, max_attempts=3, delay_ms=2000, message="busy"),
        says("Done.", at=NOW_MS),
        ev.AgentEnded(at=NOW_MS, will_retry=False),
        ev.Stderr(at=NOW_MS, text="Error: none\n"),
        ev.Exited(at=NOW_MS, exit_code=0),
    )
    first = shelf.add(*talk, name="sound", age_s=3 * DAY_S)
    shelf.add(says("Again."), name="sound too", age_s=2 * DAY_S)
    victims = [
        shelf.add(*talk, name=f"victim {number}", age_s=DAY_S - number, indexed=False).run_dir
        for number in range(AT_ONCE)
    ]
    scene = Scene(shelf, {}, victims, (victims[0] / JOURNAL_FILE).read_bytes())
    scene.sound = scene.files
    assert first.run_dir / JOURNAL_FILE in scene.sound
    yield scene
    shelf.close()


@pytest.mark.parametrize("part", range(PARTS))
def test_a_spoilt_journal_harms_nobody_else(part: int, scene: Scene) -> None:
    before = sound_sessions(list_sessions(scene.place, Wanted(scene.shelf.project, limit=1000)))
    random = Random(part + SEED)
    for _ in range(CASES // PARTS // AT_ONCE or 1):
        batch = {run_dir: some_mutations(random) for run_dir in scene.victims}
        scene.spoil(batch)
        Index(scene.shelf.agent_dir).rebuild()
        listed = list_sessions(scene.place, Wanted(scene.shelf.project, limit=1000))
        assert sound_sessions(listed) == before
        assert {session.run_dir for session in listed} >= set(scene.victims)
        msgspec.json.encode(list(map(session_row, listed)))
        assert len(list(find_dispensable(scene.shelf.project, Rule()))) == AT_ONCE + 2
        for session in listed:
            try:
                look_at(session, scene)
            except BaseException as error:
                error.add_note(f"mutations: {batch.get(session.run_dir)}")
                raise
        assert scene.files == scene.sound, batch


def sound_sessions(sessions: list[SessionSummary]) -> list[dict[str, Any]]:
    return [session_row(session) for session in sessions if session.state.name.startswith("sound")]


def look_at(session: SessionSummary, scene: Scene) -> None:
    """As every surface does, without its terminal."""
    (run,) = Sessions(scene.place).find(session.latest.session_id).runs
    state, run_dir, listed = run.state, run.run_dir, session.state
    assert run.is_over
    assert (state.run_id, state.status, state.is_damaged) == (run_dir.name, listed.status, listed.is_damaged)
    events = list(follow_run(run_dir))
    window, words = Window(state, max_lines=5), ProgressWords(cwd=state.cwd)
    for event in events:
        window.apply(event)
        words.say(event)
    header_segments(window, NOW_MS)
    body_segments(window)
    "".join(session_markdown([RunPage(state, entries(events))]))
    session_transcript([state])
    retelling([Told(state)], 10_000)
    shown = [run_row(run), result_document(state), counts([run]), announcement(run), window.to_details()]
    msgspec.json.encode([shown, events])
    watched = WatchedRun(session)
    tall_row(watched, 80, NOW_MS, with_project=True)
