"""`sessions output`: the final text and nothing else, so that a script can use it."""

from __future__ import annotations

from pi_subagents.models import Reason
from pi_subagents.models import event as ev
from tests.kit.sessions import HOUR_S, Shelf, call, says
from tests.surfaces.cli.session_desk import Desk

SESSION = "a3f7b9c2d1e8f4a1"


def test_the_final_text_of_the_latest_run_stands_alone(desk: Desk) -> None:
    desk.shelf.add(says("First."), session_id=SESSION, age_s=9)
    desk.shelf.add(says("Looking.", call("1", "ls")), says("def f():\n\treturn 1\n"), session_id=SESSION, age_s=8)
    done = desk.run("output", SESSION[:6])
    assert (done.exit_code, done.out, done.err) == (0, "def f():\n\treturn 1\n", "")


def test_a_failed_run_is_exit_code_one_with_the_reason_beside_the_text(desk: Desk) -> None:
    desk.shelf.add(says("Half"), session_id=SESSION, ends=Reason.TIMEOUT, message="Timed out after 7s.")
    done = desk.run("output", SESSION)
    assert (done.exit_code, done.out, done.err) == (1, "Half\n", "✗ failed: Timed out after 7s. (ran for 1.0s)\n")


def test_a_run_that_said_nothing_leaves_standard_output_empty(desk: Desk) -> None:
    desk.shelf.add(session_id=SESSION)
    done = desk.run("output", SESSION)
    assert (done.exit_code, done.out, done.err) == (0, "", "(no text output from sub-agent)\n")


def test_a_running_session_gives_the_text_so_far_and_an_exit_code_of_its_own(desk: Desk) -> None:
    desk.shelf.add(says("Before."), ev.Delta(kind="text", text="So far"), session_id=SESSION, ends=None)
    done = desk.run("output", SESSION)
    assert (done.exit_code, done.out) == (3, "So far\n")
    assert "Still running" in done.err


def test_programs_get_the_text_with_its_circumstances(desk: Desk) -> None:
    kept = desk.shelf.add(
        says("Half\x1b[2J"), name="n", session_id=SESSION, ends=Reason.CANCELLED, message="Cancelled", profile="p"
    )
    done = desk.run("output", SESSION, "--json")
    document = done.json()
    assert done.exit_code == 1
    assert document["usage"]["totalTokens"] == 120
    expected = {
        "status": "aborted",
        "reason": "cancelled",
        "error": "Cancelled",
        "output": "Half\x1b[2J",
        "profile": "p",
    }
    assert expected.items() <= document.items()
    assert (document["runCount"], document["runDir"]) == (1, str(kept.run_dir))


def test_escapes_in_the_text_do_not_reach_the_terminal(desk: Desk) -> None:
    desk.shelf.add(says("a\x1b[2Jb\x9b31mc"), session_id=SESSION)
    assert desk.run("output", SESSION).out == "abc\n"


def test_a_session_of_another_project_is_found(desk: Desk) -> None:
    Shelf(desk.root / "other", desk.shelf.agent_dir).add(says("There."), session_id=SESSION)
    assert desk.run("output", SESSION[:4]).out == "There.\n"
    assert desk.run("output", SESSION).out == "There.\n"


def test_an_ambiguous_beginning_is_named(desk: Desk) -> None:
    desk.shelf.add(session_id="abcd1111aaaaaaaa", name="one", age_s=2.5 * HOUR_S)
    desk.shelf.add(session_id="abcd2222aaaaaaaa", name="two\n", age_s=1.5 * HOUR_S)
    done = desk.run("output", "abcd")
    assert done.exit_code == 1
    assert done.err == (
        'error: "abcd" matches 2 session ids; give a longer prefix:\n'
        "  abcd2222    1h ago  two \n"
        "  abcd1111    2h ago  one\n"
    )
