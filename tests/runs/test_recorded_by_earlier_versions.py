"""Runs that earlier versions recorded are listed, shown, exported and resumed as if they were of today."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.kit.command import called, called_json
from tests.kit.sessions import Shelf

RECORDED = Path(__file__).parents[1] / "data" / "recorded" / "0.1.0"

TEAS = "c028b60066dddeda"
MORE = "a33b52ba9d1bfcb7"
LEAVES = "0cc3f71f4ddd134f"
WATER = "1d880e9e02347b60"
CHOICE = "8df82ef0a493c8a4"
KETTLE = "fde0e6879f60a783"
LOST = "1c62670c4266d50c"
DAMAGED = "0bc5778bc383c708"

# session: its name, how its latest run ended, tools and tokens of all its runs, and something that was said in it
KNOWN: dict[str, tuple[str, str, str, int, int, str]] = {
    TEAS: ("name the teas", "completed", "settled", 2, 669, "Two teas: Assam and Sencha."),
    MORE: ("order more", "failed", "agent_error", 0, 0, "This model cannot order tea."),
    LEAVES: ("count the leaves", "aborted", "cancelled", 1, 150, "One, two,"),
    WATER: ("wait for the water", "failed", "timeout", 0, 150, "Timed out after 1s."),
    CHOICE: ("choose a tea", "completed", "settled", 1, 450, "Assam."),
    KETTLE: ("Look for a kettle.", "completed", "settled", 1, 300, "There is no kettle."),
    LOST: ("warm the pot", "failed", "lost", 1, 300, "The pot is warm."),
    DAMAGED: ("pour the water", "completed", "settled", 0, 150, "Poured."),
}


@pytest.fixture
def runs(shelf_here: Shelf) -> Path:
    """The records in the project of a user who is there; git keeps no modes, so they are set anew."""
    shutil.copytree(RECORDED, shelf_here.folder)
    for path in (shelf_here.folder, *shelf_here.folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return shelf_here.folder


def listed() -> dict[str, dict[str, Any]]:
    return {one["sessionId"]: one for one in called_json("sessions", "list", "--json")}


def journal(runs: Path, session: str) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(runs.glob(f"*-{session}/events.jsonl")))


def test_lists_have_the_recorded_values(runs: Path) -> None:
    found = listed()
    assert {
        one: (row["name"], row["status"], row["reason"], row["total"]["toolCount"], row["total"]["tokens"])
        for one, row in found.items()
    } == {one: known[:-1] for one, known in KNOWN.items()}
    assert [one for one, row in found.items() if row["damaged"]] == [DAMAGED]
    told = {"profile": "taster", "provider": "offline", "model": "scripted"}
    assert found[TEAS] == {**found[TEAS], **told, "createdAt": 1794980623868, "completedAt": 1794980626791}
    assert (found[KETTLE]["preset"], found[CHOICE]["runCount"]) == ("scout", 2)


@pytest.mark.parametrize("session", KNOWN)
def test_it_is_found_by_the_beginning_of_its_id_and_shown(session: str, runs: Path) -> None:
    name, status, _, _, _, said = KNOWN[session]
    for arguments in (("show",), ("export",), ("export", "--format", "html")):
        shown = called("sessions", *arguments, session[:6]).stdout
        assert name in shown
        assert status in shown
        assert said in shown


def test_a_session_of_two_runs_is_told_in_order(runs: Path) -> None:
    shown = called("sessions", "show", CHOICE).stdout
    assert shown.index("Choose a tea for the morning.") < shown.index("Assam.") < shown.index("And for the evening?")
    assert called_json("sessions", "output", CHOICE, "--json")["output"] == "Sencha."


def test_a_background_run_is_one_still(runs: Path) -> None:
    (run,) = called_json("background", "list", "--json")
    assert (run["sessionId"], run["preset"], run["status"]) == (KETTLE, "scout", "completed")


def test_a_lost_run_is_closed_with_all_that_was_recorded(runs: Path) -> None:
    before = journal(runs, LOST)
    output = called("sessions", "output", LOST)
    assert (output.exit_code, output.stdout.strip()) == (1, "The pot is warm.")
    after = journal(runs, LOST)
    assert after.startswith(before)
    (end,) = [json.loads(line) for line in after[len(before) :].splitlines()]
    assert (end["type"], end["status"], end["reason"]) == ("ended", "failed", "lost")


def test_nothing_else_is_written_by_looking(runs: Path) -> None:
    before = {one: journal(runs, one) for one in KNOWN if one != LOST}
    listed()
    for session in KNOWN:
        called("sessions", "show", session)
    assert {one: journal(runs, one) for one in before} == before


def test_a_completed_session_is_retold_when_it_is_resumed(runs: Path) -> None:
    arguments = ("sessions", "resume", CHOICE, "And at noon?", "--cwd", str(Path.cwd()), "--json")
    (result,) = called_json(*arguments)  # the scripted agent answers with what it was told
    assert (result["status"], result["sessionId"]) == ("completed", CHOICE)
    told = result["output"]
    assert told.index("Choose a tea for the morning.") < told.index("Assam.") < told.index("Sencha.")
    assert told.index("Sencha.") < told.index("And at noon?")
    assert listed()[CHOICE]["runCount"] == 3
