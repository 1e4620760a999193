"""`run` and `sessions resume`, as people and their scripts use them."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from pi_subagents.models import Reason
from pi_subagents.offline import Call, Say, Script, Turn, Usage
from tests.kit.sessions import Shelf, says
from tests.kit.waiting import until
from tests.pi.stage import WAIT_S, Play, processes_below
from tests.surfaces.cli.desk import MODEL, Desk
from tests.surfaces.cli.stand_in import use_stand_in


def test_two_prompts_are_two_agents_whose_outputs_and_costs_are_shown(play: Play) -> None:
    work = Turn(calls=(Call("read", {"path": "a.txt"}),), usage=Usage(1000, 100))
    script = Script().when("Count", [work, Turn("Four.", usage=Usage(1000, 100))]).otherwise([Say("A poem.")])
    stage = play(script)
    stage.write("a.txt", "1234")
    stage.write_profile("p", body="You are p.")
    done = stage.command("run", "-p", "p", "--files", "a.txt", "--timeout", "30", "Count the words", "Write a poem")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("── 1: Count the words"))
    assert lines[first + 1] == "Four."
    second = next(n for n, line in enumerate(lines) if line.startswith("── 2: Write a poem"))
    assert lines[second + 1] == "A poem."
    assert lines[second + 2 :] == []
    told = done.stderr.splitlines()
    (row,) = [line for line in told if line.startswith("1: Count the words ")]
    assert row.split()[4:-1] == ["✓", "completed", row.split()[6], "1", "2,200", "$0.0024"]
    assert told[-1] == "Records: .pi/subagents/runs/"
    asked = {request.first_user_text for request in stage.model.requests}
    assert asked == {f"=== a.txt ===\n1234\n\n{prompt}" for prompt in ("Count the words", "Write a poem")}
    assert all(request.system_text.startswith("You are p.") for request in stage.model.requests)
    assert "1: Count the words: " in done.stderr  # progress is not mixed into the answers


def task_file(folder: Path, suffix: str, count: int) -> Path:
    tasks = [{"name": f"task {n}", "prompt": f"number {n}"} for n in range(count)]
    match suffix:
        case ".jsonl":
            text = "\n".join(json.dumps(task) for task in tasks) + "\n\n"
        case ".json":
            text = json.dumps({"tasks": tasks})
        case _:
            text = "# a comment\n" + "\n".join(f"- name: {t['name']}\n  prompt: {t['prompt']}" for t in tasks)
    path = folder / f"tasks{suffix}"
    path.write_text(text)
    return path


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".jsonl"])
def test_a_task_file_may_hold_more_tasks_than_a_model_may_send(play: Play, suffix: str) -> None:
    stage = play(Script())
    use_stand_in(stage)
    path = task_file(stage.root, suffix, 17)
    done = stage.command("run", "--json", "-j", "8", "--tasks", str(path), "one more")
    results = json.loads(done.stdout)
    expected = ["Did: one more", *(f"Did: number {n}" for n in range(17))]
    assert [result["output"] for result in results] == expected
    assert {result["status"] for result in results} == {"completed"}
    assert done.returncode == 0


def test_one_failure_among_many_is_exit_code_one_and_is_told(play: Play) -> None:
    stage = play(Script())
    use_stand_in(stage)
    done = stage.command("run", "good", "fail")
    assert done.returncode == 1
    assert "Did: good" in done.stdout
    assert "✗ 2: fail: Sub-agent exited with code 3 before it finished: it went wrong" in done.stderr
    assert "it went wrong" not in done.stdout
    rows = [line.split() for line in done.stderr.splitlines() if line.startswith(("1: good ", "2: fail "))]
    assert [" ".join(row[2:4]) for row in rows] == ["✓ completed", "✗ failed"]


def test_one_answer_is_all_that_stands_on_standard_output(play: Play) -> None:
    stage = play(Script())
    use_stand_in(stage)
    done = stage.command("run", "Review this", stdin="\n")
    assert (done.returncode, done.stdout) == (0, "Did: Review this\n")
    assert "✓ completed" in done.stderr


def test_what_is_piped_in_reaches_every_agent(desk: Desk) -> None:
    tasks = desk.write("tasks.json", '[{"name": "third", "prompt": "Praise it"}]')
    done = desk.call("run", "-q", "--json", "--tasks", str(tasks), "Review this", "Explain it", stdin="the diff\n")
    # The scripted agent answers with what it was told.
    told = [result["output"] for result in done.json()]
    assert told == [f"{prompt}\n\nthe diff" for prompt in ("Review this", "Explain it", "Praise it")]
    assert done.err == ""


def test_quiet_says_nothing_but_answers_and_errors(play: Play) -> None:
    stage = play(Script())
    use_stand_in(stage)
    done = stage.command("run", "-q", "good", "fail")
    assert done.returncode == 1
    assert done.stdout.splitlines()[1] == "Did: good"
    assert done.stderr == "✗ 2: fail: Sub-agent exited with code 3 before it finished: it went wrong\n"


def test_answers_go_into_files_of_their_own_and_replace_none(play: Play) -> None:
    stage = play(Script())
    use_stand_in(stage)
    stage.write("answers/1-good.md", "mine")
    done = stage.command("run", "-o", "answers", "good", "fail")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Wrote answers/1-good-2.md\n" in done.stderr
    assert "✗ 2: fail: " in done.stderr
    found = {path.name: path.read_text() for path in (stage.project / "answers").iterdir()}
    assert found == {"1-good.md": "mine", "1-good-2.md": "Did: good\n"}


def test_json_has_every_fact_of_every_task(play: Play) -> None:
    stage = play(Script())
    use_stand_in(stage)
    done = stage.command("run", "--json", "-", stdin="from standard input\n")
    (result,) = json.loads(done.stdout)
    assert result["output"] == "Did: from standard input"
    assert set(result) == {
        *("name", "status", "reason", "output", "error", "sessionId", "runId", "runDir", "exitCode", "profile"),
        *("provider", "model", "usage", "toolCount", "startedAt", "completedAt", "durationMs"),
        *("agent", "beginning", "knowsTokens", "knowsCost", "contextUsed", "contextSize", "changedFiles", "denied"),
    }
    assert Path(result["runDir"]) == stage.run_dirs[0]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 2, "give at least one PROMPT, or --tasks FILE"),
        (["--timeout", "0", "x"], 2, "'0' is too short; use at least 1s"),
        (["--timeout", "soon", "x"], 2, "'soon' is not a duration; use 90, 90s, 5m or 1h30m"),
        (["-", "-"], 2, "standard input can be read only once"),
        (["--cwd", "/nowhere", "x"], 2, "/nowhere"),
        ([" "], 1, "prompt 1 is empty"),
        (["--tasks", "missing.json"], 1, "missing.json: No such file or directory"),
        (["--tasks", "tasks.txt"], 1, "tasks.txt: a task file must end in .json"),
        (["--tasks", "half.json"], 1, "half.json: "),
        (["--tasks", "half.jsonl"], 1, "half.jsonl: line 2: "),
        (["--tasks", "bad.yaml"], 1, "bad.yaml: Invalid arguments: [0].promt is not a known field"),
        (["-p", "contradiction", "x"], 1, "These are mutually exclusive — choose one or the other."),
    ],
)
def test_a_mistake_is_one_sentence_on_stderr(play: Play, arguments: list[str], code: int, says: str) -> None:
    stage = play(Script())
    stage.write("half.json", '[{"name": "a"')
    stage.write("half.jsonl", '{"name": "a", "prompt": "b"}\n{"name"\n')
    stage.write("bad.yaml", "- name: a\n  promt: b\n")
    stage.write_profile("contradiction", "tools: read", "excludeTools: bash")
    done = stage.command("run", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert stage.run_dirs == []


def test_ctrl_c_stops_every_agent_and_says_what_is_kept_where(play: Play) -> None:
    # A file for each agent: of processes, a shell that is about to become something else would count twice.
    work = Call("bash", {"command": "mktemp at-work.XXXXXX; sleep 1000"})
    stage = play(Script().otherwise([Turn("On it.", calls=(work,))]))
    with stage.start_command("run", "-j", "2", "one", "two", "three") as process:
        until(lambda: len(list(stage.project.glob("at-work.*"))) == 2, "two agents are at work")
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=WAIT_S)
    assert process.returncode == 128 + signal.SIGINT
    assert processes_below(stage.project) == []
    assert [line for line in stderr.splitlines() if line.startswith("✗ ")] == [
        "✗ 1: one: Cancelled",
        "✗ 2: two: Cancelled",
        "✗ 3: three: Cancelled",
    ]
    assert stdout.count("On it.") == 2
    assert "Records: .pi/subagents/runs/" in stderr
    assert "Stopped." in stderr
    assert "kept" in stderr
    results = [json.loads((folder / "result.json").read_bytes()) for folder in stage.run_dirs]
    assert [result["reason"] for result in results] == ["cancelled"] * 3


SESSION = "a3f7b9c2d1e8f4a1"


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
    desk.write_profile("p", f"model: {MODEL}")
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
    desk.write(f"{other.project}/.pi/agent-profiles/p.md", f"---\nname: p\nmodel: {MODEL}\n---\n")
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
