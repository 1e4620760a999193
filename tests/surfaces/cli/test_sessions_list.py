"""`sessions list` and `sessions reindex` as people and programs use them, and session ids in the shell."""

from __future__ import annotations

import json
import shutil
import time

import pytest

from pi_subagents.models import Reason, Usage
from pi_subagents.models.event import UsageTotal
from pi_subagents.testing import answer, assistant, prints, script, tool_call
from pi_subagents.text import cell_width, clean
from tests.kit.sessions import DAY_S, HOUR_S, Shelf, call, says
from tests.surfaces.cli.desk import Desk

SESSION = "a3f7b9c2d1e8f4a1"


def test_a_row_tells_what_a_session_was_and_cost(desk: Desk) -> None:
    desk.shelf.add(says("before"), age_s=3 * HOUR_S, session_id=SESSION)
    desk.shelf.add(
        says("a", call("1", "ls")), says("b"), name="build", age_s=2 * HOUR_S, session_id=SESSION, profile="p"
    )
    done = desk.run("list")
    head, row, total = done.out.splitlines()
    assert " ".join(head.split()) == "status name session agent age time runs tools tokens cost model"
    assert " ".join(row.split()) == f"✓ completed build {SESSION[:8]} p 2h 1.0s 2 1 360 $0.0300 offline/scripted"
    assert total == "1 session, 360 tokens, $0.0300"
    assert (done.exit_code, done.err) == (0, "")


def test_the_newest_is_nearest_to_the_prompt_with_what_all_have_cost_below_it(desk: Desk) -> None:
    for name, age_s in (("oldest", 30), ("older", 20), ("newest", 10)):
        desk.shelf.add(says("x"), name=name, age_s=age_s)
    _head, *rows, total = desk.run("list", "--limit", "2").out.splitlines()
    assert [row.split()[2] for row in rows] == ["older", "newest"]
    assert total == "2 sessions, 240 tokens, $0.0200"


def test_ids_that_begin_alike_are_shown_as_far_as_they_differ(desk: Desk) -> None:
    desk.shelf.add(name="one", session_id=SESSION, age_s=20)
    desk.shelf.add(name="two", session_id=f"{SESSION[:9]}0000000", age_s=10)
    _head, one, two, _total = desk.run("list").out.splitlines()
    assert [row.split()[3] for row in (one, two)] == [SESSION[:10], f"{SESSION[:9]}0"]


PAGER = {"PAGER": "sed s/^/paged:/"}


def test_a_list_that_is_longer_than_the_terminal_is_paged(desk: Desk) -> None:
    for number in range(49):
        desk.shelf.add(name=f"n{number}", age_s=100 - number)
    assert "paged:" not in desk.at_terminal("list", "--limit", "40", variables=PAGER).out
    assert (
        desk.at_terminal("list", "--limit", "49", variables=PAGER).out.splitlines()[-1].startswith("paged:49 sessions")
    )
    assert "paged:" not in desk.at_terminal("list", "--limit", "49", "--no-pager", variables=PAGER).out
    assert "paged:" not in desk.run("list", "--limit", "49", variables=PAGER).out


def test_less_begins_at_the_end_and_obeys_the_user_and_an_empty_pager_is_none(desk: Desk) -> None:
    for number in range(50):
        desk.shelf.add(name=f"n{number}", age_s=100 - number)
    less = desk.root / "bin" / "less"
    less.parent.mkdir()
    less.write_text('#!/bin/sh\ncat >&2\necho "paged: $LESS"\n')
    less.chmod(0o755)
    path = {"PATH": f"{less.parent}:{desk.environ['PATH']}"}
    for variables, options in (({}, "-FRX +G"), ({"LESS": "-S"}, "-S +G")):
        shown = desk.at_terminal("list", "--limit", "50", variables=path | variables).out
        assert shown.splitlines()[-1] == f"paged: {options}"
    assert "paged:" not in desk.at_terminal("list", "--limit", "50", variables={**path, "PAGER": ""}).out


def test_nothing_is_coloured_for_who_wants_no_colours(desk: Desk) -> None:
    desk.shelf.add(name="here")
    assert "\x1b[" in desk.at_terminal("list").out
    assert "\x1b" not in desk.at_terminal("list", variables={"NO_COLOR": "1"}).out


def test_filters_narrow_the_list(desk: Desk) -> None:
    desk.shelf.add(name="old", age_s=5 * DAY_S, ends=Reason.TIMEOUT, profile="p")
    desk.shelf.add(name="bad", age_s=HOUR_S, ends=Reason.TIMEOUT)
    desk.shelf.add(name="good", age_s=60, profile="p")
    desk.shelf.add(name="busy", age_s=5, ends=None)

    def names(*arguments: str) -> list[str]:
        return [session["name"] for session in desk.run("list", "--json", *arguments).json()]

    assert names() == ["busy", "good", "bad", "old"]
    assert names("--status", "failed") == ["bad", "old"]
    assert names("--status", "running") == ["busy"]
    assert names("--profile", "p") == names("--agent", "p") == ["good", "old"]
    assert names("--since", "3d") == ["busy", "good", "bad"]
    assert names("--since", time.strftime("%Y-%m-%d", time.localtime(time.time() - 2 * DAY_S))) == [
        "busy",
        "good",
        "bad",
    ]
    assert names("--limit", "1") == ["busy"]
    assert names("--status", "failed", "--since", "3d") == ["bad"]


def test_programs_get_every_fact(desk: Desk) -> None:
    kept = desk.shelf.add(says("a"), name="build", ends=Reason.LOOP, message="Loop detected", session_id=SESSION)
    (session,) = desk.run("list", "--json").json()
    created = kept.state.created_at
    assert created is not None
    assert session == {
        "sessionId": SESSION,
        "name": "build",
        "status": "failed",
        "reason": "loop",
        "damaged": False,
        "error": "Loop detected",
        "agent": "pi",
        "profile": None,
        "preset": None,
        "provider": "offline",
        "model": "scripted",
        "runCount": 1,
        "project": str(desk.project),
        "runDir": str(kept.run_dir),
        "createdAt": created,
        "startedAt": created,
        "completedAt": created + 1000,
        "toolCount": 0,
        "tokens": 120,
        "cost": 0.01,
        "knowsTokens": True,
        "knowsCost": True,
        "total": {"tokens": 120, "cost": 0.01, "knowsTokens": True, "knowsCost": True, "toolCount": 0},
    }


def test_agents_other_than_pi_are_named_and_a_cost_that_nobody_knows_is_not_nothing(desk: Desk) -> None:
    spent = UsageTotal(usage=Usage(total_tokens=500), has_cost=False)
    desk.shelf.add(says("a"), name="usual", age_s=60)
    desk.shelf.add(says("b"), spent, name="alone", age_s=50, harness="codex")
    desk.shelf.add(says("c"), name="with", profile="deep", harness="claude")
    rows = {line.split()[2]: line.split() for line in desk.run("list").out.splitlines()[1:4]}
    assert rows["usual"][4] == "–"
    assert rows["alone"][4] == "codex"
    assert rows["with"][4:6] == ["deep", "(claude)"]
    assert "unknown" in rows["alone"]
    assert "$0.0100" in rows["with"]
    assert desk.run("list").out.splitlines()[-1] == "3 sessions, 740 tokens, $0.0200+"

    def names(*arguments: str) -> list[str]:
        return [session["name"] for session in desk.run("list", "--json", *arguments).json()]

    assert names("--agent", "codex") == ["alone"]
    assert names("--agent", "claude") == names("--agent", "deep") == ["with"]
    assert names("--agent", "pi") == ["usual"]
    (alone,) = desk.run("list", "--json", "--agent", "codex").json()
    assert (alone["agent"], alone["knowsCost"], alone["total"]["knowsCost"]) == ("codex", False, False)


def test_projects_are_kept_apart_unless_all_are_wanted(desk: Desk) -> None:
    other = Shelf(desk.root / "other", desk.shelf.agent_dir)
    (other.project / "deep" / "inside").mkdir(parents=True)
    other.add(name="there", age_s=5)
    desk.shelf.add(name="here", age_s=10)
    assert "there" not in desk.run("list").out
    everywhere = desk.run("list", "--all").out
    assert [line.split()[2] for line in everywhere.splitlines()[1:-1]] == ["here", "there"]
    assert str(other.project) in everywhere
    assert "there" in desk.run("list", "--project", str(other.project / "deep" / "inside")).out
    contradiction = desk.run("list", "--all", "--project", str(other.project))
    assert contradiction.exit_code == 2


def test_a_project_without_sessions_says_what_to_do(desk: Desk) -> None:
    done = desk.run("list")
    assert (done.exit_code, done.out) == (0, "")
    assert "pi-subagents run" in done.err
    assert "--all" in done.err
    assert desk.run("list", "--json").json() == []


def test_a_time_that_is_none_is_explained(desk: Desk) -> None:
    done = desk.run("list", "--since", "yesterday")
    assert done.exit_code == 2
    assert "'yesterday' is not a time; use a span such as 30m, 2h or 3d, or a date such as 2026-11-01" in done.err


def test_the_path_of_a_project_goes_on_in_the_next_line_where_it_is_too_long(desk: Desk) -> None:
    desk.shelf.add()
    header, *lines = map(clean, desk.at_terminal("list", "--all", columns=80).out.splitlines())
    at = header.index("project")
    assert "".join(line[at:].strip() for line in lines[:-1]) == str(desk.project)


@pytest.mark.parametrize("columns", [60, 80, 100, 120, 200])
def test_rows_fit_the_terminal_and_ids_are_never_cut(desk: Desk, columns: int) -> None:
    desk.shelf.add(says("x"), name="a name that is " + "very " * 20 + "long", session_id=SESSION, profile="p" * 20)
    lines = desk.at_terminal("list", columns=columns).out.splitlines()
    assert len(lines) == 3
    assert SESSION[:8] in lines[1]
    assert ("cost" in lines[0]) == (columns >= 80)
    assert ("model" in lines[0]) == (columns >= 200)
    widths = [cell_width(clean(line)) for line in lines]
    assert max(widths) == columns  # the name takes all that is left


def test_markup_in_a_name_is_not_obeyed(desk: Desk) -> None:
    desk.shelf.add(name="a [red]c")
    assert "a [red]c" in desk.run("list").out


def test_listing_opens_none_of_the_journals(desk: Desk) -> None:
    for number in range(40):
        desk.shelf.add(name=f"n{number}", age_s=100 - number)
    for run_dir in desk.run_dirs:
        (run_dir / "events.jsonl").unlink()
    listed = desk.run("list", "--json").json()
    assert [session["name"] for session in listed] == [f"n{number}" for number in range(39, 9, -1)]


def test_the_rebuilt_index_is_identical_to_the_one_that_grew(desk: Desk) -> None:
    other = Shelf(desk.root / "other", desk.shelf.agent_dir)
    # Real runs: completed with tools, failed, refused, resumed here and from elsewhere.
    good = script(prints(assistant("Looking", tool_call("ls")), *answer("Fine")))
    tasks = [{"name": "good", "prompt": good}, {"name": "bad", "prompt": script(["exit", 3])}]
    (desk.project / "tasks.json").write_text(json.dumps(tasks))
    session_id = desk.call("run", "--json", "--tasks", "tasks.json").json()[0]["sessionId"]
    refused = json.dumps({"tasks": [{"name": "refused", "prompt": "x", "profile": "nobody"}]})
    desk.call("call", "delegate_to_subagents", refused)
    desk.run("resume", session_id, "Go on")
    other.add(name="there")
    resumed = json.dumps({"tasks": [{"name": "from elsewhere", "prompt": "And on", "resume": session_id}]})
    desk.call("call", "delegate_to_subagents", resumed, cwd=other.project)
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


COMMANDS = ("show", "output", "resume", "stop", "export", "delete")


@pytest.mark.parametrize("command", COMMANDS)
def test_ids_are_completed_newest_first_with_their_names(desk: Desk, command: str) -> None:
    desk.shelf.add(session_id="aaaa1111aaaaaaaa", name="older", age_s=20)
    Shelf(desk.root / "other", desk.agent_dir).add(session_id="bbbb1111aaaaaaaa", name="newer\x1b[2J", age_s=10)
    assert desk.complete("sessions", command, "") == ["plain", "bbbb1111", "newer", "plain", "aaaa1111", "older"]
    assert desk.complete("sessions", command, "a") == ["plain", "aaaa1111", "older"]
    assert desk.complete("sessions", command, "aaaa1111") == ["plain", "aaaa1111aaaaaaaa", "older"]


def test_a_broken_index_does_not_print_into_the_line(desk: Desk) -> None:
    desk.shelf.add(session_id="aaaa1111aaaaaaaa", indexed=False)
    shutil.rmtree(desk.shelf.agent_dir / "subagents")
    (desk.shelf.agent_dir / "subagents").write_text("in the way")
    assert desk.complete("sessions", "show", "aa")[:2] == ["plain", "aaaa1111"]


def test_a_misspelt_command_is_understood(desk: Desk) -> None:
    done = desk.run("lst")
    assert done.exit_code == 2
    assert "Did you mean 'list'?" in done.err
    assert "Run 'pi-subagents sessions --help' for the list." in desk.run("xyzzy").err
