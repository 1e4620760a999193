"""`--agent`: other programs than `pi` do the work, one of them or several side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_subagents.harness import AGENTS
from pi_subagents.runs.run import Run
from pi_subagents.testing import answer, prints, script
from tests.kit.command import called, called_json, completing
from tests.kit.other_agents import bring_other_agents
from tests.kit.workplace import Workplace
from tests.surfaces.cli.desk import Desk


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workplace]:
    """Where this process is, with two other agents."""
    bring_other_agents(monkeypatch)
    place = Workplace(tmp_path)
    monkeypatch.chdir(place.project)
    for name, value in place.environ.items():
        monkeypatch.setenv(name, value)
    yield place
    place.close()


def test_an_agent_does_the_task_and_the_table_names_it(place: Workplace) -> None:
    done = called("run", "--agent", "claude", "Hello.")
    assert (done.exit_code, done.stdout) == (0, "Hello.\n")
    head, row = [line.split() for line in done.stderr.splitlines() if line.startswith(("task", "1: Hello."))][-2:]
    assert head[1] == "agent"
    assert row[2] == "claude"
    assert "$0.2500" in row


def test_a_table_of_pi_alone_has_no_column_for_that(place: Workplace) -> None:
    done = called("run", script(prints(*answer("Yes."))))
    assert done.exit_code == 0
    assert "agent" not in next(line for line in done.stderr.splitlines() if line.startswith("task")).split()


def test_json_says_what_did_it_what_it_knew_and_what_it_changed(place: Workplace) -> None:
    (result,) = called_json("run", "--json", "--agent", "codex", "Hello.\n> edit src/a.py")
    assert (result["agent"], result["knowsCost"], result["beginning"]) == ("codex", False, "fresh")
    assert (result["contextUsed"], result["contextSize"]) == (1000, 200_000)
    assert result["changedFiles"] == [str(place.project / "src" / "a.py")]
    kept = json.loads((Path(result["runDir"]) / "result.json").read_bytes())
    assert {name: kept[name] for name in ("agent", "knowsCost", "changedFiles")} == {
        name: result[name] for name in ("agent", "knowsCost", "changedFiles")
    }


def test_the_agent_of_the_command_line_goes_before_that_of_the_profile_and_that_of_a_task_before_both(
    place: Workplace,
) -> None:
    place.write_profile("deep", "agent: codex")
    place.write("tasks.json", json.dumps([{"name": "own", "prompt": "Two.", "agent": "codex"}]))
    assert [one["agent"] for one in called_json("run", "--json", "-p", "deep", "One.")] == ["codex"]
    both = called_json("run", "--json", "-p", "deep", "--agent", "claude", "--tasks", "tasks.json", "One.")
    assert [(one["name"], one["agent"]) for one in both] == [("1: One.", "claude"), ("own", "codex")]


def test_a_preset_without_a_model_needs_none_for_an_agent_that_has_its_own(place: Workplace) -> None:
    place.write_preset("scout")
    done = called("run", "-p", "scout", "--agent", "claude", "Hello.")
    assert done.stdout == "Hello.\n"
    assert "pi's default" not in done.stderr


def test_a_session_goes_on_with_its_agent_or_with_another_that_is_told_of_it(place: Workplace) -> None:
    (first,) = called_json("run", "--json", "--agent", "claude", "Hello.")
    session = first["sessionId"]
    (second,) = called_json("sessions", "resume", session, "--json", "More.")
    assert (second["agent"], second["beginning"]) == ("claude", "retold")
    (third,) = called_json("sessions", "resume", session, "--agent", "codex", "--json", "Still more.")
    assert (third["agent"], third["beginning"]) == ("codex", "retold")
    assert "Hello." in (Path(third["runDir"]) / "prompt.md").read_text()
    assert ": Started, retold" in called("sessions", "resume", session, "--plain", "And more.").stderr


def test_the_model_and_thinking_level_of_one_agent_are_not_handed_to_another(place: Workplace) -> None:
    (first,) = called_json("run", "--json", "--agent", "claude", "--model", "opus", "--thinking", "high", "Hello.")
    session = first["sessionId"]

    def asked_for(result: dict[str, str]) -> tuple[str | None, str | None]:
        state = Run.load(Path(result["runDir"])).state
        return state.requested_model, state.requested_thinking

    (same,) = called_json("sessions", "resume", session, "--json", "More.")
    assert asked_for(same) == ("opus", "high")
    (named,) = called_json("sessions", "resume", session, "--agent", "claude", "--json", "More.")
    assert asked_for(named) == ("opus", "high")
    (other,) = called_json("sessions", "resume", session, "--agent", "codex", "--json", "More.")
    assert (other["agent"], asked_for(other)) == ("codex", (None, None))


def test_another_thinking_level_than_was_asked_for_is_said_at_the_beginning_and_shown_from_then_on(
    place: Workplace,
) -> None:
    done = called("run", "--plain", "--agent", "claude", "--thinking", "minimal", "Hello.")
    note = 'warning: The thinking level "minimal" becomes "low" for claude.'
    assert done.stderr.splitlines()[0] == note
    assert done.stderr.count(note) == 1
    assert Run.load(place.run_dirs[0]).state.thinking_level == "low"


def test_several_agents_do_the_same_side_by_side_and_are_compared(place: Workplace) -> None:
    prompt = "Done.\n> edit src/a.py"
    done = called("run", "--agent", "claude,codex", prompt)
    assert done.exit_code == 0
    headings = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("──")]
    assert headings == ["claude", "codex"]
    assert done.stdout.count("Done.") == 2
    told = done.stderr.splitlines()
    head = next(line for line in told if line.startswith("agent")).split()
    assert head == ["agent", "status", "time", "tools", "tokens", "cost", "files", "session"]
    (claude,) = [line.split() for line in told if line.startswith("claude ") and "✓" in line]
    (codex,) = [line.split() for line in told if line.startswith("codex ") and "✓" in line]
    assert (claude[2], claude[5:8]) == ("completed", ["1,100", "$0.2500", "1"])
    assert (codex[2], codex[5:8]) == ("completed", ["1,100", "unknown", "1"])
    assert "  claude: src/a.py" in told
    assert "  codex: src/a.py" in told
    assert "warning: several agents changed the same file and may have undone each other's work: src/a.py" in told


def test_the_tasks_of_a_comparison_are_named_after_agent_and_prompt_in_every_list(place: Workplace) -> None:
    results = called_json("run", "--json", "--agent", "claude,codex", "Fix hello.py")
    assert [one["name"] for one in results] == ["claude: Fix hello.py", "codex: Fix hello.py"]
    listed = called("sessions", "list").stdout
    assert "claude: Fix hello.py" in listed
    assert "codex: Fix hello.py" in listed


def test_several_agents_and_several_prompts_are_named_by_both(place: Workplace) -> None:
    results = called_json("run", "--json", "--agent", "claude,codex", "One.", "Two.")
    assert [(one["name"], one["agent"], one["output"]) for one in results] == [
        ("claude: 1: One.", "claude", "One."),
        ("codex: 1: One.", "codex", "One."),
        ("claude: 2: Two.", "claude", "Two."),
        ("codex: 2: Two.", "codex", "Two."),
    ]


def test_whoever_was_denied_something_is_told_how_to_allow_it(place: Workplace) -> None:
    done = called("run", "--agent", "claude", "Done.\n> ask rm -rf build")
    assert "1: Done. > ask rm -rf build: Denied (approvals: deny): rm -rf build" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("hint: 1 permission request was denied; ")
    assert "denied" not in called("run", "--agent", "claude", "Done.").stderr


def test_answers_of_several_agents_are_files_named_after_them(place: Workplace) -> None:
    called("run", "--agent", "claude,codex", "-o", "answers", "Done.")
    assert sorted(path.name for path in (place.project / "answers").iterdir()) == ["claude.md", "codex.md"]


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ("cladue", f'unknown agent "cladue"; available agents: {", ".join(AGENTS)}. Did you mean "claude"?'),
        ("claude,claude", 'agent "claude" is given more than once'),
        ("claude,", 'unknown agent ""'),
    ],
)
@pytest.mark.parametrize("command", [("run",), ("background", "start", "scout")])
def test_a_name_that_means_nothing_starts_nothing(
    place: Workplace, command: tuple[str, ...], wanted: str, says: str
) -> None:
    place.write_preset("scout")
    done = called(*command, "--agent", wanted, "x")
    assert done.exit_code == 2
    if command == ("run",) or "," not in wanted:
        assert says in " ".join(done.stderr.split())
    assert place.run_dirs == []


def test_a_task_with_an_agent_of_its_own_is_not_done_by_several(place: Workplace) -> None:
    place.write("tasks.json", json.dumps([{"name": "own", "prompt": "Two.", "agent": "codex"}]))
    done = called("run", "--agent", "claude,codex", "--tasks", "tasks.json")
    assert done.exit_code == 2
    assert 'task "own" sets its own agent' in done.stderr
    assert place.run_dirs == []


def test_the_shell_completes_agents_also_behind_a_comma(desk: Desk) -> None:
    def offered(*words: str) -> list[str]:
        return desk.call(variables=completing(*words)).out.splitlines()[1::3]

    assert sorted(offered("run", "--agent", "co")) == ["codex", "copilot"]  # those that are installed come first
    assert offered("run", "--agent", "claude,cod") == ["claude,codex"]
    assert "claude,claude" not in offered("run", "--agent", "claude,c")
    assert offered("sessions", "resume", "--agent", "cla") == ["claude"]
    assert offered("background", "start", "--agent", "p") == ["pi"]


def test_the_shell_completes_profiles_and_agents_where_sessions_are_chosen_by_either(desk: Desk) -> None:
    folder = desk.project / ".pi" / "agent-profiles"
    folder.mkdir(parents=True)
    for name in ("claude", "cleaner"):
        (folder / f"{name}.md").write_text(f"---\nname: {name}\n---\n")
    offered = desk.call(variables=completing("sessions", "list", "--agent", "c")).out.splitlines()[1::3]
    assert offered == ["claude", "cleaner", "codex", "copilot"]


def test_a_background_run_of_another_agent_is_listed_as_such(desk: Desk) -> None:
    desk.shelf.add(name="far away", harness="gemini")
    assert "gemini" in desk.run("list").out
