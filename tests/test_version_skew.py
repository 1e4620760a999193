"""Records of other versions: what this one does not know is kept, shown by its own name, and never written over."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from click.testing import CliRunner, Result

from pi_subagents.models import Reason, Status, is_run_id
from pi_subagents.models.run import transition
from pi_subagents.place import Place
from pi_subagents.runs.listing import Wanted, list_sessions
from pi_subagents.runs.roster import Roster
from pi_subagents.store import JOURNAL_FILE, RESULT_FILE, load_run, read_journal
from pi_subagents.surfaces.cli.app import app
from pi_subagents.testing import SCRIPTED_AGENT
from tests.kit.sessions import Shelf

SESSION = "a3f7b9c2d1e8f4a1"
RUN = f"20261101T140322000-{SESSION}"
CREATED = {
    **{
        "type": "created",
        "at": 1793541802000,
        "runId": RUN,
        "sessionId": SESSION,
        "name": "newer",
        "prompt": "Save it",
    },
    **{
        "cwd": "/",
        "harness": "acp",
        "resumeMode": "fork",
        "background": True,
        "owner": "terminal",
        "mood": {"good": 1},
    },
}
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
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    """A user in a project with one sound run, and one that a newer version has ended."""
    shelf = Shelf(tmp_path / "project", tmp_path / "agent")
    (shelf.project / ".pi").mkdir(parents=True)
    monkeypatch.chdir(shelf.project)
    monkeypatch.setenv("PI_AGENT_DIR", str(shelf.agent_dir))
    monkeypatch.setenv(*SCRIPTED_AGENT)
    shelf.add(name="sound")
    write_newer(shelf)
    shelf.index.rebuild()
    yield shelf
    shelf.close()


def write_newer(shelf: Shelf) -> Path:
    run_dir = shelf.project / ".pi" / "subagents" / "runs" / RUN
    run_dir.mkdir()
    created = json.dumps(CREATED | {"cwd": str(shelf.project)})
    (run_dir / JOURNAL_FILE).write_text("\n".join([created, *NEWER, ""]))
    (run_dir / "lease").touch()
    return run_dir


def journal_of(shelf: Shelf) -> bytes:
    return (shelf.project / ".pi" / "subagents" / "runs" / RUN / JOURNAL_FILE).read_bytes()


def command(*arguments: str) -> Result:
    result = CliRunner().invoke(app, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def test_what_another_version_ended_is_ended_and_not_damaged(shelf: Shelf) -> None:
    before = journal_of(shelf)
    state = load_run(shelf.project / ".pi" / "subagents" / "runs" / RUN)
    assert (state.status, state.reason, state.error) == ("paused_forever", "budget", "The budget is spent.")
    assert (state.name, state.text, state.resume_mode) == ("newer", "Half of it is done.", "fork")
    assert state.usage.total_tokens == 42
    assert state.status.is_terminal
    assert not state.is_damaged
    assert journal_of(shelf) == before


SURFACES: dict[str, Callable[[], str]] = {
    "sessions list": lambda: command("sessions", "list").stdout,
    "sessions list --json": lambda: command("sessions", "list", "--json").stdout,
    "sessions show": lambda: command("sessions", "show", SESSION).stdout,
    "sessions show --json": lambda: command("sessions", "show", SESSION, "--json").stdout,
    "sessions output": lambda: command("sessions", "output", SESSION).stderr,
    "sessions stop": lambda: command("sessions", "stop", SESSION).stdout,
    "sessions export": lambda: command("sessions", "export", SESSION).stdout,
    "sessions export --html": lambda: command("sessions", "export", SESSION, "--format", "html").stdout,
    "background list": lambda: command("background", "list").stdout,
    "background status": lambda: command("background", "status", RUN).stdout,
    "background logs": lambda: command("background", "logs", RUN).stdout,
    "call background_agent_status": lambda: (
        command("call", "background_agent_status", json.dumps({"runId": RUN})).stdout
    ),
}


@pytest.mark.parametrize("surface", SURFACES)
def test_its_word_is_shown_as_it_is_and_the_record_left_as_it_is(surface: str, shelf: Shelf) -> None:
    before = journal_of(shelf)
    shown = SURFACES[surface]()
    assert "paused_forever" in shown
    assert "damaged" not in shown.replace('"damaged":false', "").replace('"damaged": false', "")
    assert journal_of(shelf) == before


def test_events_of_other_versions_are_shown_by_their_names(shelf: Shelf) -> None:
    assert "reserved (an event that this version does not know)" in command("sessions", "show", SESSION).stdout
    assert "[audio: a part that this version does not know]" in command("sessions", "show", SESSION).stdout
    printed = [json.loads(line) for line in command("sessions", "show", SESSION, "--json").stdout.splitlines()]
    (reserved,) = [line["record"] for line in printed if line["type"] == "unknown"]
    assert reserved == {"type": "reserved", "at": 1793541802001, "tokens": 5000}


def test_a_model_gets_its_output_and_its_reason(shelf: Shelf) -> None:
    answer = json.loads(command("call", "get_subagent_output", json.dumps({"sessionId": SESSION})).stdout)
    assert answer["content"][0]["text"] == "Half of it is done."
    assert (answer["details"]["status"], answer["details"]["reason"]) == ("error", "budget")


def test_it_can_be_resumed_and_stays_as_it_was(shelf: Shelf) -> None:
    before = journal_of(shelf)
    (result,) = json.loads(command("sessions", "resume", SESSION, "Go on", "--json").stdout)
    assert (result["status"], result["sessionId"]) == ("completed", SESSION)
    assert "Half of it is done." in result["output"]
    assert journal_of(shelf) == before


def test_it_can_be_deleted(shelf: Shelf) -> None:
    assert command("sessions", "clean", "--keep", "0", "--yes").exit_code == 0
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
    wanted = Wanted(shelf.project)
    list_sessions(Place.here(), wanted)
    (result,) = (run for run in shelf.project.rglob(RESULT_FILE) if run.parent.name == RUN)
    assert json.loads(result.read_bytes())["status"] == "paused_forever"
    with sqlite3.connect(shelf.index.path) as connection:
        connection.execute("UPDATE runs SET status = 'asleep', reason = 'tired\x1b[2J' WHERE name = 'sound'")
        connection.execute("ALTER TABLE runs ADD COLUMN mood TEXT DEFAULT 'fine'")
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    found = {session.state.name: session for session in list_sessions(Place.here(), wanted)}
    assert (found["sound"].state.status, found["sound"].state.reason) == ("asleep", "tired??2J")
    assert (found["newer"].state.status, found["newer"].state.reason) == ("paused_forever", "budget")
    assert "? asleep" in command("sessions", "list").stdout
    assert not command("sessions", "list", "--status", "running").stdout


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


def test_the_run_of_these_tests_is_named_as_runs_are(shelf: Shelf) -> None:
    assert is_run_id(RUN)
    assert all(read_journal(shelf.project / ".pi" / "subagents" / "runs" / RUN / JOURNAL_FILE))
