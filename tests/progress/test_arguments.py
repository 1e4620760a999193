"""Long commands stay readable: what everybody knows goes, and the steps stand below each other."""

from __future__ import annotations

import pytest

from pi_subagents.progress import preview_tool_call
from pi_subagents.progress.arguments import split_chain

CWD = "/home/ann/project"


def bash(command: str, width: int = 100) -> list[str]:
    arguments = {"command": command}
    return preview_tool_call("bash", arguments, width=width, cwd=CWD).split("\n")


@pytest.mark.parametrize(
    "command",
    [
        f"cd {CWD} && npm test",
        f"cd {CWD}/ && npm test",
        f'cd "{CWD}" && npm test',
        f"cd '{CWD}'; npm test",
        f"cd {CWD}\nnpm test",
        "cd ~/project && npm test",
        "cd . && npm test",
        f"cd {CWD} && cd {CWD} && npm test",
        f"  cd {CWD} &&\n  npm test",
    ],
)
def test_a_cd_to_where_the_agent_is_already_goes(command: str) -> None:
    assert bash(command) == ["bash → npm test"]


def test_home_is_where_the_agent_may_be_too() -> None:
    arguments = {"command": "cd ~ && ls"}
    assert preview_tool_call("bash", arguments, width=80, cwd="/home/ann") == "bash → ls"
    assert preview_tool_call("bash", arguments, width=80, cwd="/home/bob") == "bash → cd ~ && ls"


@pytest.mark.parametrize(
    "command",
    [
        "cd /elsewhere && npm test",
        "cd sub && npm test",
        f"cd {CWD}x && npm test",
        f"cd {CWD} || npm test",
        "cd /elsewhere",
        "cd $HOME && npm test",
    ],
)
def test_every_other_cd_stays(command: str) -> None:
    assert bash(command) == [f"bash → {command}"]


@pytest.mark.parametrize("command", [f"cd {CWD}", f"cd '{CWD}/'", "cd ~/project", f"cd {CWD};"])
def test_of_a_cd_to_where_the_agent_is_already_that_much_stays_where_nothing_follows(command: str) -> None:
    assert bash(command) == ["bash → cd ."]


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (f"cat {CWD}/src/a.ts", "cat src/a.ts"),
        (f"ls {CWD} {CWD}x", "ls . ~/projectx"),
        (f'grep -r "x" "{CWD}/src" /home/ann/notes', 'grep -r "x" "src" ~/notes'),
        (f"PATH={CWD}/bin:/usr/bin make >{CWD}/log", "PATH=bin:/usr/bin make >log"),
        (f"rm {CWD}/src/*.ts", "rm src/*.ts"),
        (f"cat {CWD}/a && cd /tmp && cat {CWD}/b", f"cat a && cd /tmp && cat {CWD}/b"),
        (f"cd sub && cat {CWD}/b", f"cd sub && cat {CWD}/b"),
        (f"cat {CWD}/../b", "cat ~/project/../b"),
        (f"cat {CWD}/$NAME/b", f"cat {CWD}/$NAME/b"),
        (f"curl file://{CWD}/b https://host{CWD}/b", f"curl file://{CWD}/b https://host{CWD}/b"),
        ("rm -rf / /etc", "rm -rf / /etc"),
    ],
)
def test_paths_are_shown_as_they_are_seen_from_where_the_command_stands(command: str, shown: str) -> None:
    assert bash(command) == [f"bash → {shown}"]


def test_a_command_that_fits_stays_on_one_line() -> None:
    assert bash("npm ci && npm test", width=25) == ["bash → npm ci && npm test"]
    assert bash("npm ci && npm test", width=24) == ["bash → npm ci", "│ && npm test"]


def test_each_line_holds_as_many_steps_as_fit() -> None:
    assert bash("aa && bb && cc && dd && ee", width=15) == ["bash → aa && bb", "│ && cc && dd", "│ && ee"]
    assert bash("aa && bb && cc && dd && ee", width=19) == ["bash → aa && bb", "│ && cc && dd && ee"]


def test_without_knowing_where_the_agent_is_every_cd_stays() -> None:
    assert preview_tool_call("bash", {"command": "cd . && ls"}, width=80) == "bash → cd . && ls"


def test_a_long_command_is_split_where_a_step_ends() -> None:
    assert bash("npm ci && npm run build && npm test -- --coverage", width=34) == [
        "bash → npm ci && npm run build",
        "│ && npm test -- --coverage",
    ]


def test_steps_that_are_too_long_are_cut() -> None:
    assert bash("npm ci && echo aaaaaaaaaaaaaaaaaaaaaaaa", width=20) == [
        "bash → npm ci",
        "│ && echo aaaaaaaaa…",
    ]


def test_many_steps_take_four_lines_at_most() -> None:
    lines = bash(" && ".join(f"step-number-{n}" for n in range(9)), width=24)
    assert len(lines) == 4
    assert lines[0] == "bash → step-number-0"
    assert lines[-1] == "│ && step-number-3 …"
    assert bash(" && ".join(f"step-number-{n}" for n in range(9)), width=20)[-1] == "│ && step-number-3 …"
    assert bash(" && ".join(f"step-number-{n}" for n in range(9)), width=19)[-1] == "│ && step-number… …"
    assert bash(" && ".join(f"step-number-{n}" for n in range(4)), width=20)[-1] == "│ && step-number-3"


def test_lines_that_belong_together_are_one() -> None:
    assert bash("npm ci &&\n  npm test") == ["bash → npm ci && npm test"]
    assert bash("npm ci\n && npm test") == ["bash → npm ci && npm test"]
    assert bash("docker run \\\n  --rm image") == ["bash → docker run --rm image"]


def test_further_lines_are_announced_but_not_shown() -> None:
    assert bash("\n\npython - <<'E'\nprint(1)\nE\n") == ["bash → python - <<'E' …"]
    assert bash("one\n\n  \n") == ["bash → one"]


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("a && b", ["a", "b"]),
        ("echo 'a && b' && c", ["echo 'a && b'", "c"]),
        ('echo "a \\" && b" && c', ['echo "a \\" && b"', "c"]),
        ("(a && b) && c", ["(a && b)", "c"]),
        ("((a) && b) && c", ["((a) && b)", "c"]),
        ("echo $(a && b)", ["echo $(a && b)"]),
        ("echo `a && b`", ["echo `a && b`"]),
        ("a \\&& b", ["a \\&& b"]),
        ("a) && b", ["a)", "b"]),
    ],
)
def test_only_an_and_between_steps_splits_a_command(command: str, parts: list[str]) -> None:
    assert split_chain(command) == parts


def test_a_huge_command_is_looked_at_only_as_far_as_it_can_be_shown() -> None:
    assert bash("echo " + "x" * 5_000_000, width=20) == ["bash → echo xxxxxxx…"]
    assert bash("a" + "\n" * 4000 + "b" + " &&" * 100_000, width=20)[0] == "bash → a …"
