"""`run --background`: the tasks of `run`, without anybody who waits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi_subagents.store import load_run
from pi_subagents.testing import answer, prints, script
from tests.surfaces.cli.background_desk import BackgroundDesk, short


@pytest.fixture
def desk(background_desk: BackgroundDesk) -> BackgroundDesk:
    return background_desk


def test_every_task_becomes_a_background_run_and_its_id_is_printed(desk: BackgroundDesk) -> None:
    profile = desk.project / ".pi" / "agent-profiles" / "p.md"
    profile.parent.mkdir()
    profile.write_text("---\nname: p\ndescription: P.\nmodel: large\nprovider: acme\n---\n")
    (desk.project / "fact.txt").write_text("a fact")
    tasks = desk.root / "tasks.json"
    tasks.write_text(json.dumps([{"name": "from a file", "prompt": "third", "timeout": 33}]))
    options = ("-p", "p", "--files", "fact.txt", "--timeout", "77", "--tasks", str(tasks), "--trust")
    done = desk.call("run", "--background", *options, script(prints(*answer("One."))), "two")
    assert done.exit_code == 0, done.err
    assert done.out.split() == [short(run_dir) for run_dir in desk.run_dirs]
    assert 'Started 3 "p" agents in the background.' in done.err
    states = [load_run(run_dir) for run_dir in desk.run_dirs]
    assert [(state.background, state.owner, state.profile) for state in states] == [(True, "terminal", "p")] * 3
    assert [(state.timeout_s, state.file_count) for state in states] == [(77, 1), (77, 1), (33, 1)]
    desk.background("wait")
    assert "a fact" in (desk.run_dirs[0] / "prompt.md").read_text()


def test_without_a_profile_it_works_too_and_programs_get_the_rows(desk: BackgroundDesk) -> None:
    elsewhere = desk.project / "sub"
    elsewhere.mkdir()
    (row,) = desk.call("run", "--background", "--json", "--cwd", str(elsewhere), "hello").json()
    assert Path(row["paths"]["runDir"]) == desk.run_dirs[0]
    assert (row["cwd"], row["name"], row["project"]) == (str(elsewhere), "1: hello", str(desk.project))


def test_a_preset_will_do_as_well(desk: BackgroundDesk) -> None:
    done = desk.call("run", "--background", "-p", "worker", "hello")
    assert (done.exit_code, done.out.split()) == (0, [short(desk.run_dirs[0])])
    assert 'Started "worker" in the background.' in done.err


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (("--tmux",), 2, "--tmux cannot be used with --background: background agents have no pane"),
        (("--plain",), 2, "--plain cannot be used with --background"),
        (("-j", "4"), 2, "subagents.maxBackground"),
        (("-q",), 2, "--quiet cannot be used with --background"),
        (("-p", "nobody"), 2, 'Unknown profile: "nobody"'),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_starts(
    desk: BackgroundDesk, options: tuple[str, ...], code: int, says: str
) -> None:
    done = desk.call("run", "--background", *options, "hello")
    assert (done.exit_code, done.out) == (code, "")
    assert says in done.err
    assert desk.run_dirs == []
