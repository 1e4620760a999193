"""Records of other versions: what this one does not know is kept, shown by its own name, and never written over."""

from __future__ import annotations

import json
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from pi_subagents.models import Reason, Status
from pi_subagents.models.run import transition
from pi_subagents.place import Place
from pi_subagents.runs.roster import Roster
from pi_subagents.store import JOURNAL_FILE, RESULT_FILE, load_run
from tests.kit.command import called, called_json
from tests.kit.sessions import Shelf

SESSION = "a3f7b9c2d1e8f4a1"
RUN = f"20261101T140322000-{SESSION}"
CREATED = (
    f'{{"type":"created","at":1793541802000,"runId":"{RUN}","sessionId":"{SESSION}","name":"newer","prompt":"Save it",'
    '"harness":"telepathy","resumeMode":"fork","background":true,"owner":"terminal","mood":{"good":1},"cwd":'
)
NEWER = (
    '{"type":"reserved","at":1793541802001,"tokens":5000}',
    '{"type":"started","at":1793541802002,"pid":7,"containment":"microvm","host":"other"}',
    '{"type":"delta","at":1793541802003,"kind":"audio","text":"…"}',
    '{"type":"message","at":1793541803000,"role":"assistant","parts":[{"type":"text","text":"Half of it is done."},'
    '{"type":"audio","data":"UklGRg=="}],"usage":{"totalTokens":42,"carbon":1.5},"confidence":0.9}',
    '{"type":"retry_started","at":1793541803001,"what":"payment","attempt":1}',
    '{"type":"stop_requested","at":1793541803002,"reason":"budget","message":"The budget is spent."}',
    '{"type":"ended","at":1793541804000,"status":"paused_forever","reason":"budget","message":"The budget is spent."}',
)


@pytest.fixture
def shelf(shelf_here: Shelf) -> Shelf:
    """A user in a project with one sound run, and one that a newer version has ended."""
    shelf_here.add(name="sound")
    run_dir = shelf_here.folder / RUN
    run_dir.mkdir()
    created = f"{CREATED}{json.dumps(str(shelf_here.project))}}}"
    (run_dir / JOURNAL_FILE).write_text("\n".join([created, *NEWER, ""]))
    (run_dir / "lease").touch()
    shelf_here.index.rebuild()
    return shelf_here


def journal_of(shelf: Shelf) -> bytes:
    return (shelf.folder / RUN / JOURNAL_FILE).read_bytes()


def test_what_another_version_ended_is_ended_and_not_damaged(shelf: Shelf) -> None:
    before = journal_of(shelf)
    state = load_run(shelf.folder / RUN)
    assert (state.status, state.reason, state.error) == ("paused_forever", "budget", "The budget is spent.")
    assert (state.name, state.text, state.resume_mode) == ("newer", "Half of it is done.", "fork")
    assert state.usage.total_tokens == 42
    assert state.status.is_terminal
    assert not state.is_damaged
    assert journal_of(shelf) == before


SURFACES = (
    *("sessions list", "sessions list --json", f"sessions show {SESSION}", f"sessions show {SESSION} --json"),
    *(f"sessions output {SESSION}", f"sessions stop {SESSION}", f"sessions export {SESSION}"),
    *(f"sessions export {SESSION} --format html", "background list", f"background status {RUN}"),
    *(f"background logs {RUN}", f'call background_agent_status {{"runId":"{RUN}"}}'),
)


@pytest.mark.parametrize("surface", SURFACES)
def test_its_word_is_shown_as_it_is_and_the_record_left_as_it_is(surface: str, shelf: Shelf) -> None:
    before = journal_of(shelf)
    shown = called(*surface.split(" ")).output
    assert "paused_forever" in shown
    assert "damaged" not in shown.replace('"damaged":false', "").replace('"damaged": false', "")
    assert journal_of(shelf) == before


def test_events_of_other_versions_are_shown_by_their_names(shelf: Shelf) -> None:
    assert "reserved (an event that this version does not know)" in called("sessions", "show", SESSION).stdout
    assert "[audio: a part that this version does not know]" in called("sessions", "show", SESSION).stdout
    printed = [json.loads(line) for line in called("sessions", "show", SESSION, "--json").stdout.splitlines()]
    (reserved,) = [line["record"] for line in printed if line["type"] == "unknown"]
    assert reserved == {"type": "reserved", "at": 1793541802001, "tokens": 5000}


def test_a_model_gets_its_output_and_its_reason(shelf: Shelf) -> None:
    answer = called_json("call", "get_subagent_output", json.dumps({"sessionId": SESSION}))
    assert answer["content"][0]["text"] == "Half of it is done."
    assert (answer["details"]["status"], answer["details"]["reason"]) == ("error", "budget")


def test_it_can_be_resumed_and_stays_as_it_was(shelf: Shelf) -> None:
    before = journal_of(shelf)
    (result,) = called_json("sessions", "resume", SESSION, "Go on", "--json")
    assert (result["status"], result["sessionId"]) == ("completed", SESSION)
    assert "Half of it is done." in result["output"]
    assert journal_of(shelf) == before


def test_it_can_be_deleted(shelf: Shelf) -> None:
    assert called("sessions", "clean", "--keep", "0", "--yes").exit_code == 0
    assert shelf.runs == []


def test_those_who_watch_see_the_word(shelf: Shelf) -> None:
    from pi_subagents.surfaces.watch.run_list import flat_row, tall_row

    roster = Roster(Place.here(), shelf.project)
    roster.apply(roster.look())
    (run,) = [run for run in roster.runs if run.state.name == "newer"]
    assert not run.is_active
    for row in (partial(flat_row, names=30), tall_row):
        text = "".join(piece for line in row(run, 120, 1793541900000, with_project=False) for _, piece in line)
        assert "paused_forever" in text


def test_the_index_of_another_version_is_read_as_it_is(shelf: Shelf) -> None:
    shelf.listed()
    (result,) = (run for run in shelf.project.rglob(RESULT_FILE) if run.parent.name == RUN)
    assert json.loads(result.read_bytes())["status"] == "paused_forever"
    with sqlite3.connect(shelf.index.path) as connection:
        connection.execute("UPDATE runs SET status = 'asleep', reason = 'tired\x1b[2J' WHERE name = 'sound'")
        connection.execute("ALTER TABLE runs ADD COLUMN mood TEXT DEFAULT 'fine'")
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    found = {session.state.name: session for session in shelf.listed()}
    assert (found["sound"].state.status, found["sound"].state.reason) == ("asleep", "tired??2J")
    assert (found["newer"].state.status, found["newer"].state.reason) == ("paused_forever", "budget")
    assert "? asleep" in called("sessions", "list").stdout
    assert not called("sessions", "list", "--status", "running").stdout


OLDER = (
    f'{{"type":"created","at":1793541802000,"runId":"{RUN}","sessionId":"{SESSION}","name":"older","prompt":"p",'
    '"cwd":"/","harness":"pi-json"}',
    '{"type":"started","at":1793541802002,"pid":7,"containment":"guard"}',
    '{"type":"ended","at":1793541804000,"status":"completed","reason":"settled"}',
)


def test_the_records_of_an_older_version_read_as_ever(tmp_path: Path) -> None:
    (tmp_path / RUN).mkdir()
    (tmp_path / RUN / JOURNAL_FILE).write_text("\n".join([*OLDER, ""]))
    state = load_run(tmp_path / RUN)
    assert (state.status, state.name, state.is_damaged) == (Status.COMPLETED, "older", False)


@pytest.mark.parametrize("kind", [Status, Reason])
def test_an_unknown_word_survives_every_way_through_the_program(kind: type[Status] | type[Reason]) -> None:
    word = msgspec.json.decode(b'"paused_forever"', type=kind)
    assert (word, word.value, str(word), f"{word}") == ("paused_forever",) * 4
    assert msgspec.json.encode([word]) == b'["paused_forever"]'
    assert word not in list(kind)
    with pytest.raises(ValueError, match="not a valid"):
        kind(cast(Any, 7))


def test_an_unknown_word_cannot_be_long_nor_lead_a_terminal_astray() -> None:
    word = Status(f"\x1b[2J<b>\n{'w' * 100}")
    assert word == f"??2J?b??{'w' * 32}"
    assert Status("") == "unknown"


def test_nothing_follows_the_end_of_another_version() -> None:
    assert transition(Status.RUNNING, Status("paused_forever")) == "paused_forever"
    with pytest.raises(ValueError, match="cannot go from paused_forever to running"):
        transition(Status("paused_forever"), Status.RUNNING)
