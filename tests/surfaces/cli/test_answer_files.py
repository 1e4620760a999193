"""`run -o DIR`: where answers go, and where they cannot be led."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pi_subagents.errors import StoreError
from pi_subagents.fold import RunState
from pi_subagents.runs.run import Run
from pi_subagents.surfaces.cli.answer_files import AnswerFiles


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".pi").mkdir(parents=True)
    return tmp_path / "project"


def write(project: Path, name: str, text: str = "Done.", folder: str = "out") -> Path:
    result = replace(Run(project, RunState(name=name)).result, output=text)
    files = AnswerFiles(project / folder, project)
    files.open()
    return files.write(result)


@pytest.mark.parametrize(
    ("task", "file"),
    [
        ("1: Review this diff", "1-Review-this-diff.md"),
        ("../../../etc/passwd", "etc-passwd.md"),
        ("/abs\0olute\n\x1b[31m", "absolute.md"),
        (".hidden", "hidden.md"),
        ("...", "task.md"),
        ("日本語の名前", "日本語の名前.md"),
        ("x" * 400, "x" * 120 + ".md"),
        ("語" * 400, "語" * 40 + ".md"),
    ],
)
def test_a_file_is_named_after_its_task_and_stays_in_its_directory(project: Path, task: str, file: str) -> None:
    assert write(project, task) == project / "out" / file
    assert (project / "out" / file).read_text() == "Done.\n"


def test_nothing_is_replaced(project: Path) -> None:
    assert [write(project, "same", text).name for text in ("one", "two", "three")] == [
        "same.md",
        "same-2.md",
        "same-3.md",
    ]
    assert (project / "out" / "same.md").read_text() == "one\n"


def test_a_link_that_a_project_brings_is_not_followed(project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (project / "out").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a link, and links are not followed here"):
        write(project, "task")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_what_cannot_be_written_is_known_before_the_tasks_begin(project: Path) -> None:
    (project / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot write into .*: Not a directory; choose another directory with -o"):
        AnswerFiles(project / "file" / "out", project).open()


def test_a_directory_that_is_there_and_takes_no_files_is_known_before_the_tasks_begin(project: Path) -> None:
    with pytest.raises(StoreError, match="cannot write into /proc: "):  # nobody, not even root, can make a file there
        AnswerFiles(Path("/proc"), project).open()
