"""One bad record is shown as damaged, with everything that is known of it, and disturbs nobody else."""

from __future__ import annotations

import json
from functools import partial

import pytest

from pi_subagents.models import Status
from pi_subagents.place import Place
from pi_subagents.runs.roster import Roster
from pi_subagents.store import JOURNAL_FILE, load_run
from pi_subagents.testing import prints, script
from pi_subagents.testing.records import AGENT_SETTLED, AGENT_START, agent_end, assistant, tool_call
from tests.kit.command import called, called_json
from tests.kit.sessions import Shelf

_STARTED = '{"type":"started","at":1793541802002,"pid":7,"containment":"guard"}'
_SAID = '{"type":"message","at":1793541803000,"role":"assistant","parts":[{"type":"text","text":"Half is done."}]}'
_ENDED = '{"type":"ended","at":1793541804000,"status":"completed","reason":"settled"}'
_STOPPED = '{"type":"ended","at":1793541805000,"status":"aborted","reason":"cancelled","message":"Cancelled"}'
_ABSURD = (
    '{"type":"message","role":"assistant","parts":[{"type":"text","text":"Half is done."}],'
    '"usage":{"totalTokens":9223372036854775808,"cost":1e308}}'
)

BAD = {
    "two ends": ["CREATED", _STARTED, _SAID, _ENDED, _STOPPED],
    "an end without a start": ["CREATED", _SAID, _ENDED],
    "two starts": ["CREATED", _STARTED, _STARTED, _SAID, _ENDED],
    "a start after the end": ["CREATED", _STARTED, _SAID, _ENDED, _STARTED],
    "no beginning": [_STARTED, _SAID, _ENDED],
    "two beginnings": ["CREATED", "CREATED", _STARTED, _SAID, _ENDED],
    "a line of garbage": ["CREATED", _STARTED, "\0garbage", _SAID, _ENDED],
    "figures beyond the index": ["CREATED", _STARTED, "\0", _ABSURD, _ABSURD, _ENDED],
    "a time beyond the calendar": [
        "LATE",
        _STARTED.replace("1793541802002", "1000000000000000000"),
        "",
        _SAID,
        _ENDED.replace("1793541804000", "9223372036854775808"),
    ],
}


@pytest.fixture(autouse=True)
def bad_ones(shelf_here: Shelf) -> None:
    """A user is in a project with one sound run and every kind of bad one."""
    shelf_here.add(name="sound", session_id="0" * 16)
    for number, (name, lines) in enumerate(BAD.items(), 1):
        write(shelf_here, number, name, lines)


def session_of(number: int) -> str:
    return f"{number:016x}"


def write(shelf: Shelf, number: int, name: str, lines: list[str]) -> None:
    run_id = f"20261101T140322{number:03d}-{session_of(number)}"
    (shelf.folder / run_id).mkdir()
    created = {
        **{"type": "created", "at": 1793541802000, "runId": run_id, "sessionId": session_of(number), "name": name},
        **{"prompt": "p", "cwd": str(shelf.project), "harness": "pi-json"},
    }
    beginnings = {"CREATED": created, "LATE": created | {"at": 10**18}}
    written = [json.dumps(beginnings[line]) if line in beginnings else line for line in lines]
    (shelf.folder / run_id / JOURNAL_FILE).write_text("\n".join([*written, ""]))


NAMES = {"no beginning": ""}


@pytest.mark.parametrize("with_index", [True, False], ids=["index", "disk"])
def test_every_session_is_listed_and_the_bad_ones_are_called_damaged(shelf: Shelf, with_index: bool) -> None:
    if not with_index:
        shelf.lose_index()
    for _ in range(2):
        rows = {row["name"]: row for row in called_json("sessions", "list", "--json")}
        assert {name: row["damaged"] for name, row in rows.items()} == {
            "sound": False,
            **{NAMES.get(name, name): True for name in BAD},
        }
        assert {row["status"] for row in rows.values()} == {"completed"}
    table = called("sessions", "list").stdout
    assert table.count("✓ completed, damaged") == len(BAD)


@pytest.mark.parametrize("number", range(1, len(BAD) + 1), ids=list(BAD))
def test_what_is_known_of_a_damaged_run_is_shown(number: int, shelf: Shelf) -> None:
    session = session_of(number)
    shown = called("sessions", "show", session).stdout
    assert "✓ completed, damaged" in shown
    assert "Half is done." in shown
    answer = called_json("call", "get_subagent_output", json.dumps({"sessionId": session}))
    assert answer["content"][0]["text"] == "Half is done."
    assert answer["details"]["damaged"] is True
    assert called_json("sessions", "output", session, "--json")["damaged"] is True
    assert "Half is done." in called("sessions", "export", session, "--format", "html").stdout


def test_whoever_walks_over_all_runs_gets_to_the_end(shelf: Shelf) -> None:
    assert f"{len(BAD) + 1} runs" in called("sessions", "reindex").stdout
    assert called("background", "list").exit_code == 0
    assert "damaged" not in called("doctor").stdout
    cleaned = called("sessions", "clean", "--keep", "0", "--dry-run").stdout
    assert f"{len(BAD) + 1} sessions" in cleaned
    (sound,) = [one for one in shelf.listed() if one.state.name == "sound"]
    assert (sound.state.status, sound.state.is_damaged) == (Status.COMPLETED, False)


def test_those_who_watch_see_that_a_run_is_damaged(shelf: Shelf) -> None:
    from pi_subagents.surfaces.watch.run_list import flat_row, tall_row

    roster = Roster(Place.here(), shelf.project)
    roster.apply(roster.look())
    assert len(roster.runs) == len(BAD) + 1
    for run in roster.runs:
        for row in (partial(flat_row, names=30), tall_row):
            text = "".join(piece for line in row(run, 120, 1793541900000, with_project=False) for _, piece in line)
            assert ("damaged" in text) is (run.state.name != "sound")


@pytest.mark.parametrize(
    "figures",
    [
        '{"totalTokens": 9223372036854775808, "cost": {"total": 1e308}}',
        '{"totalTokens": 1e300, "input": -1e300, "cost": {"total": -5}}',
        '{"totalTokens": %s}' % ("9" * 300),
    ],
)
def test_an_agents_figures_take_nothing_down(figures: str, shelf: Shelf) -> None:
    usage = json.loads(figures)
    task = script(prints(AGENT_START, assistant("Done.", usage=usage), assistant("Done.", usage=usage), AGENT_SETTLED))
    tasks = {"tasks": [{"name": "greedy", "prompt": task}]}
    answer = called_json("call", "delegate_to_subagents", json.dumps(tasks))
    assert "✓ greedy: completed" in answer["content"][0]["text"]
    (row,) = [row for row in called_json("sessions", "list", "--json") if row["name"] == "greedy"]
    assert (row["tokens"], row["damaged"]) == (2**53, False)
    assert 0 <= row["cost"] <= 2**53
    assert "greedy" in called("sessions", "list").stdout


def test_arguments_nested_beyond_all_reason_cost_the_agent_its_arguments_alone(shelf: Shelf) -> None:
    deep: dict[str, object] = {}
    for _ in range(800):
        deep = {"a": deep}
    records = (assistant("", tool_call("bash", command=deep)), assistant("Done."), agent_end(), AGENT_SETTLED)
    tasks = {"tasks": [{"name": "deep", "prompt": script(prints(AGENT_START, *records))}]}
    answer = called_json("call", "delegate_to_subagents", json.dumps(tasks))
    assert "✓ deep: completed" in answer["content"][0]["text"]
    session = answer["details"]["sessionIds"][0]
    assert "left out: nested more than 100 levels deep" in called("sessions", "show", session).stdout
    (run_dir,) = shelf.folder.glob(f"*-{session}")
    assert not load_run(run_dir).is_damaged
