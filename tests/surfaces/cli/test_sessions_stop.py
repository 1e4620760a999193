"""`sessions stop`: from another process, and with the truth about what became of the run."""

from __future__ import annotations

import json
import subprocess

from pi_subagents.models import Reason
from pi_subagents.outcome import ending
from pi_subagents.store import stop_request
from pi_subagents.testing import answer, prints, script
from pi_subagents.testing.agent import ignores_sigterm, pauses, touches
from tests.kit.sessions import says
from tests.kit.waiting import until
from tests.surfaces.cli.session_desk import TIMEOUT_S, Desk

SESSION = "a3f7b9c2d1e8f4a1"


def start_run(desk: Desk, prompt: str) -> tuple[subprocess.Popen[str], str]:
    """A real run of the scripted agent, and its session's id."""
    process = desk.start("run", "--json", prompt)
    until(lambda: (desk.root / "ready").exists(), "the agent is at work")
    (session,) = desk.run("list", "--json", "--status", "running").json()
    return process, session["sessionId"]


def test_a_run_of_another_process_is_stopped_and_its_end_told(desk: Desk) -> None:
    process, session_id = start_run(desk, script(touches(desk.root / "ready"), pauses(300)))
    done = desk.run("stop", session_id)
    assert (done.exit_code, done.out) == (0, f"Session {session_id[:8]} has ended: ✗ aborted (cancelled)\n")
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert [result["status"] for result in json.loads(out)] == ["aborted"]


def test_an_agent_that_ignores_the_request_is_gone_all_the_same(desk: Desk) -> None:
    process, session_id = start_run(desk, script(ignores_sigterm(), touches(desk.root / "ready"), pauses(300)))
    # It gets 5 of the 8 seconds that are waited for its end; a busy machine may need the rest for itself.
    told = until(lambda: done.out if (done := desk.run("stop", session_id)).exit_code == 0 else "", "it is over")
    assert "aborted" in told
    process.communicate(timeout=TIMEOUT_S)


def test_a_session_that_is_over_is_said_to_be_over(desk: Desk) -> None:
    kept = desk.shelf.add(session_id=SESSION, ends=Reason.TIMEOUT, message="Timed out after 7s.")
    done = desk.run("stop", SESSION)
    assert done.exit_code == 0
    ending = "✗ failed (timeout) – Timed out after 7s. (ran for 1.0s)"
    assert done.out == f"Session {SESSION[:8]} has already ended: {ending}\n"
    assert stop_request(kept.run_dir) is None


def test_a_lost_session_is_said_to_be_lost(desk: Desk) -> None:
    desk.shelf.add(session_id=SESSION, ends=None).let_go()
    done = desk.run("stop", SESSION)
    assert done.exit_code == 0
    assert "has already ended: ✗ failed (lost)" in done.out


def test_a_run_that_completes_meanwhile_is_not_called_stopped(desk: Desk) -> None:
    kept = desk.shelf.add(says("Done."), session_id=SESSION, ends=None)
    process = desk.start("sessions", "stop", SESSION)
    until(lambda: stop_request(kept.run_dir) is not None, "the request is made")
    kept.append(ending(Reason.SETTLED, None, 5))
    kept.let_go()
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out) == (0, f"Session {SESSION[:8]} completed before it could be stopped.\n")


def test_a_run_that_does_not_end_in_time_is_exit_code_one(desk: Desk) -> None:
    desk.shelf.add(session_id=SESSION, ends=None)  # its holder does not listen
    done = desk.run("stop", SESSION)
    assert (done.exit_code, done.out) == (1, "")
    assert f"Session {SESSION[:8]} was asked to stop but has not ended within 8 s" in done.err


def test_a_session_that_is_not_there_cannot_be_stopped(desk: Desk) -> None:
    done = desk.run("stop", "feedfeedfeedfeed")
    assert done.exit_code == 1
    assert 'Session "feedfeedfeedfeed" not found. The session may have expired or the ID is incorrect.' in done.err


def test_an_agent_that_has_answered_is_not_stopped(desk: Desk) -> None:
    process = desk.start("run", "--json", script(prints(*answer("Hello"))))
    out, _ = process.communicate(timeout=TIMEOUT_S)
    (result,) = json.loads(out)
    assert (
        desk.run("stop", result["sessionId"]).out
        == f"Session {result['sessionId'][:8]} has already ended: ✓ completed\n"
    )
