"""What the handbook shows works, what it names exists, and what is made from the code is up to date.

Python is run with the real pi and a scripted model, the rest is read as input.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from pi_subagents.offline import Say, Script, write_sample_project
from pi_subagents.profiles import PRESET, PROFILE, read_profile
from pi_subagents.surfaces.cli.app import app
from pi_subagents.surfaces.cli.task_files import read_tasks
from scripts.reference import FOLDER, pages
from tests.contracts.handbook import ROOT, Block, all_pages, blocks, links
from tests.kit.waiting import PATIENCE_S
from tests.pi.fixtures import pi, play
from tests.pi.stage import Play

__all__ = ["pi", "play"]

COMMANDS = [
    (block, line.partition(" #")[0].strip())
    for block in blocks("sh")
    for line in block.text.splitlines()
    if "pi-subagents " in line and "git clone" not in line
]


@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_a_python_example_runs_as_it_stands(block: Block, play: Play) -> None:
    stage = play(Script().otherwise([Say("A tea timer.")]))
    write_sample_project(stage.project)
    stage.write_profile("reviewer", "tools: read")
    options: dict[str, Any] = {"cwd": stage.project, "env": stage.environ, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", block.text], timeout=PATIENCE_S, check=False, **options)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    # An example prints how its tasks ended, and of each claim whether it holds.
    assert "failed" not in done.stdout
    assert "False" not in done.stdout
    assert done.stdout or "print(" not in block.text


def test_examples_are_found() -> None:
    assert len(blocks("python")) >= 6
    assert len(COMMANDS) >= 10


@pytest.mark.parametrize(("block", "line"), COMMANDS, ids=[f"{block}-{line[:40]}" for block, line in COMMANDS])
def test_a_command_in_the_handbook_is_one_that_exists(block: Block, line: str) -> None:
    words = shlex.split(line[line.index("pi-subagents ") :])[1:]
    context = click.Context(app, info_name="pi-subagents")
    command: click.Command = app
    while isinstance(command, click.Group):
        name, found, words = command.resolve_command(context, words)
        assert found is not None
        command, context = found, click.Context(found, parent=context, info_name=name)
    command.parse_args(context, words)


@pytest.mark.parametrize("block", blocks("markdown"), ids=str)
def test_a_profile_in_the_handbook_can_be_used_as_it_stands(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "profile.md"
    path.write_text(block.text, encoding="utf-8")
    profile, warnings = read_profile(path, kind=PRESET if block.page.name == "presets.md" else PROFILE)
    assert profile.name
    assert not warnings


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_a_task_file_in_the_handbook_can_be_used_as_it_stands(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "tasks.yaml"
    path.write_text(block.text, encoding="utf-8")
    assert read_tasks(path)


@pytest.mark.parametrize("page", all_pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_leads_somewhere(page: Path) -> None:
    targets = [target for origin, target in links() if origin == page]
    assert [target for target in targets if not (page.parent / target.partition("#")[0]).exists()] == []


def test_the_documentation_lists_every_guide_and_concept() -> None:
    contents = ROOT / "docs" / "README.md"
    listed = {contents.parent / target for origin, target in links() if origin == contents}
    assert {page for folder in ("guides", "concepts") for page in (ROOT / "docs" / folder).glob("*.md")} <= listed


# --- the reference, made from the code ---------------------------------------

MADE = pages()
WRITTEN = {"bridge.md"}
"""A contract between two programs is not made from the code of one."""


@pytest.mark.parametrize("name", MADE)
def test_a_reference_page_is_up_to_date(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == MADE[name], f"docs/reference/{name} is not what the code says; run ./scripts/docs"


def test_no_other_page_of_the_reference_is_written_by_hand() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(MADE) | WRITTEN


# --- the page about security promises nothing without a test ----------------

SECURITY = ROOT / "docs" / "concepts" / "security.md"
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", SECURITY.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_the_page_names_exists(file: str, name: str) -> None:
    assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_line_of_a_table_of_promises_names_a_test() -> None:
    tables = SECURITY.read_text(encoding="utf-8").split("| | test |\n| --- | --- |\n")[1:]
    assert len(tables) >= 5
    for table in tables:
        rows = table.split("\n\n")[0].splitlines()
        assert not [row for row in rows if "`tests/" not in row]
