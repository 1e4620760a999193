"""`sessions reindex`: the same index, made from nothing but the disk."""

from __future__ import annotations

import json
import shutil

from pi_subagents.models import Reason
from pi_subagents.testing import answer, assistant, prints, script, tool_call
from tests.kit.sessions import Shelf, says
from tests.surfaces.cli.session_desk import TIMEOUT_S, Desk


def test_the_rebuilt_index_is_identical_to_the_one_that_grew(desk: Desk) -> None:
    other = Shelf(desk.root / "other", desk.shelf.agent_dir)
    # Real runs: completed with tools, failed, refused, resumed here and from elsewhere.
    good = script(prints(assistant("Looking", tool_call("ls")), *answer("Fine")))
    tasks = [{"name": "good", "prompt": good}, {"name": "bad", "prompt": script(["exit", 3])}]
    (desk.project / "tasks.json").write_text(json.dumps(tasks))
    out, _ = desk.start("run", "--json", "--tasks", "tasks.json").communicate(timeout=TIMEOUT_S)
    session_id = json.loads(out)[0]["sessionId"]
    refused = json.dumps({"tasks": [{"name": "refused", "prompt": "x", "profile": "nobody"}]})
    desk.start("call", "delegate_to_subagents", refused).communicate(timeout=TIMEOUT_S)
    desk.run("resume", session_id, "Go on")
    other.add(name="there")
    resumed = json.dumps({"tasks": [{"name": "from elsewhere", "prompt": "And on", "resume": session_id}]})
    desk.start("call", "delegate_to_subagents", resumed, cwd=other.project).communicate(timeout=TIMEOUT_S)
    desk.shelf.add(says("x"), name="running", ends=None)
    before = desk.shelf.index.rows()
    assert len(before) == 7
    done = desk.run("reindex")
    assert (done.exit_code, done.out) == (0, "Indexed 7 runs in 2 projects.\n")
    assert desk.shelf.index.rows() == before


def test_progress_names_each_project(desk: Desk) -> None:
    desk.shelf.add()
    desk.shelf.add(ends=Reason.TIMEOUT)
    assert desk.run("reindex").err == f"{desk.project}: 2 runs\n"


def test_a_lost_index_and_a_project_it_never_knew_are_brought_back(desk: Desk) -> None:
    desk.shelf.add(name="unknown", indexed=False)
    done = desk.run("reindex")
    assert done.out == "Indexed 1 run in 1 project.\n"
    assert [row["name"] for row in desk.shelf.index.rows()] == ["unknown"]


def test_a_directory_without_runs_does_not_become_a_project(desk: Desk) -> None:
    assert desk.run("reindex").out == "Indexed 0 runs in 0 projects.\n"
    assert desk.shelf.index.projects() == []


def test_an_index_that_cannot_be_written_is_an_error_in_words(desk: Desk) -> None:
    desk.shelf.add()
    shutil.rmtree(desk.shelf.agent_dir / "subagents")
    (desk.shelf.agent_dir / "subagents").write_text("in the way")
    done = desk.run("reindex")
    assert done.exit_code == 1
    assert "error: cannot rebuild the index" in done.err
    assert "Traceback" not in done.err
