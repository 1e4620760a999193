"""`sessions resume`: the next run of a session, from wherever the user stands."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.models import Reason
from tests.kit.sessions import Shelf, says
from tests.surfaces.cli.desk import MODEL, Desk

SESSION = "a3f7b9c2d1e8f4a1"


def write_profile(project: Path, name: str) -> None:
    folder = project / ".pi" / "agent-profiles"
    folder.mkdir(parents=True)
    (folder / f"{name}.md").write_text(f"---\nname: {name}\nmodel: {MODEL}\n---\nYou are it.\n")


def test_the_agent_is_told_what_happened_and_what_to_do_now(desk: Desk) -> None:
    desk.shelf.add(
        says("The number is 4711."), prompt="Find the number", session_id=SESSION, name="hunt", ends=Reason.TIMEOUT
    )
    done = desk.run("resume", SESSION[:5], "Now", "double", "it", "--json")
    (result,) = done.json()
    assert (done.exit_code, result["status"], result["sessionId"], result["name"]) == (0, "completed", SESSION, "hunt")
    # The scripted agent answers with what it was told.
    assert result["output"].startswith("Previously:\n\nUser: Find the number\n\nAssistant: The number is 4711.")
    assert result["output"].endswith("Instructions:\n\nNow double it")
    (session,) = desk.run("list", "--json").json()
    assert (session["runCount"], session["status"]) == (2, "completed")


def test_profile_and_directory_are_those_of_the_session(desk: Desk) -> None:
    write_profile(desk.project, "p")
    (desk.root / "elsewhere").mkdir()
    desk.shelf.add(session_id=SESSION, profile="p", cwd=desk.root / "elsewhere")
    (result,) = desk.run("resume", SESSION, "Go on", "--json").json()
    assert result["profile"] == "p"
    assert result["status"] == "completed"
    (created, *_) = desk.run("show", SESSION, "--run", "2", "--json").out.splitlines()
    assert f'"cwd":"{desk.root / "elsewhere"}"' in created


def test_from_another_project_it_is_still_the_sessions_own(desk: Desk) -> None:
    other = Shelf(desk.root / "other", desk.shelf.agent_dir)
    other.add(session_id=SESSION, profile="p")
    write_profile(other.project, "p")
    (result,) = desk.run("resume", SESSION, "Go on", "--json").json()
    assert result["status"] == "completed"
    assert Path(result["runDir"]).parent == other.project / ".pi" / "subagents" / "runs"
    assert {row["project"] for row in desk.shelf.index.rows()} == {str(other.project)}


def test_the_prompt_can_come_from_standard_input(desk: Desk) -> None:
    desk.shelf.add(session_id=SESSION)
    (result,) = desk.run("resume", SESSION, "-", "--json", stdin="From a pipe").json()
    assert result["output"].endswith("Instructions:\n\nFrom a pipe")


def test_a_session_that_is_running_cannot_be_resumed(desk: Desk) -> None:
    desk.shelf.add(session_id=SESSION, ends=None)
    done = desk.run("resume", SESSION, "Go on")
    assert (done.exit_code, done.out) == (1, "")
    assert f'Cannot resume: session "{SESSION}" is still running. Wait for it to complete before resuming.' in done.err
    assert len(desk.shelf.runs) == 1


def test_a_directory_that_is_gone_is_an_error_before_anything_starts(desk: Desk) -> None:
    desk.shelf.add(session_id=SESSION, cwd=desk.root / "gone")
    done = desk.run("resume", SESSION, "Go on")
    assert (done.exit_code, done.err) == (
        1,
        f"error: {desk.root / 'gone'}, where the session worked, no longer exists; "
        "choose another directory with --cwd\n",
    )
    assert len(desk.shelf.runs) == 1
    assert desk.run("resume", SESSION, "Go on", "--cwd", str(desk.project)).exit_code == 0


def test_without_a_prompt_nothing_is_resumed(desk: Desk) -> None:
    desk.shelf.add(session_id=SESSION)
    assert desk.run("resume", SESSION).exit_code == 2
    assert desk.run("resume", SESSION, " ").exit_code == 1
    assert len(desk.shelf.runs) == 1
