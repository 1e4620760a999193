"""`sessions export`: a file to keep or to show around."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.sessions import call, returns, says, was_told
from tests.surfaces.cli.session_desk import Desk

SESSION = "a3f7b9c2d1e8f4a1"


@pytest.fixture
def session(desk: Desk) -> str:
    desk.shelf.add(
        was_told("=== a.py ===\nx = 1\n\nDo it"),
        says("Looking.", call("1", "bash", command="ls")),
        returns("1", "bash", "a.py"),
        says("Found *it*."),
        session_id=SESSION,
        age_s=9,
    )
    desk.shelf.add(says("And <b>more</b>."), session_id=SESSION, age_s=8)
    return SESSION


def test_markdown_goes_to_standard_output(desk: Desk, session: str) -> None:
    done = desk.run("export", session[:4])
    assert (done.exit_code, done.err) == (0, "")
    assert done.out.startswith("# task\n\n- Status: ✓ completed\n")
    for text in ("=== a.py ===\nx = 1", "→ `bash → ls`", "Found *it*.", "## Run 2 of 2", "And \\<b>more\\</b>."):
        assert text in done.out
    assert done.out.endswith("\n")
    assert not done.out.endswith("\n\n")


@pytest.mark.parametrize("arguments", [("-o", "out.html"), ("--format", "html", "-o", "page.txt")])
def test_a_page_is_one_file(desk: Desk, session: str, arguments: tuple[str, ...]) -> None:
    done = desk.run("export", session, *arguments)
    file = desk.project / arguments[-1]
    text = file.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "And &lt;b&gt;more&lt;/b&gt;." in text
    assert (done.exit_code, done.out) == (0, "")
    assert done.err.startswith(f"Wrote {arguments[-1]} (")


def test_a_directory_gets_a_file_with_the_sessions_name(desk: Desk, session: str) -> None:
    desk.run("export", session, "--format", "html", "-o", str(desk.root))
    assert (desk.root / f"{SESSION}.html").exists()


def test_a_directory_with_a_dot_in_its_name_is_no_format(desk: Desk, session: str) -> None:
    (desk.project / "notes.d").mkdir()
    assert desk.run("export", session, "-o", "notes.d").exit_code == 0
    assert (desk.project / "notes.d" / f"{SESSION}.md").exists()


def test_a_format_that_is_not_written_is_refused_before_anything_is(desk: Desk, session: str) -> None:
    done = desk.run("export", session, "-o", "x.pdf")
    assert (done.exit_code, done.out) == (2, "")
    assert "-o x.pdf: cannot write .pdf files; use a name that ends in .md or .html" in done.err
    assert not (desk.project / "x.pdf").exists()


def test_a_file_that_cannot_be_written_is_an_error_in_words(desk: Desk, session: str) -> None:
    done = desk.run("export", session, "-o", "nowhere/file.md")
    assert (done.exit_code, done.out) == (1, "")
    assert done.err == "error: cannot write nowhere/file.md: No such file or directory; choose another file with -o\n"


def test_the_page_can_be_piped(desk: Desk, session: str) -> None:
    done = desk.run("export", session, "--format", "html", "-o", "-")
    assert done.out.startswith("<!doctype html>")
    assert done.out.endswith("</html>\n")
    assert not Path(desk.project / "-").exists()


@pytest.mark.parametrize("device", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_can_be_named_as_a_device(desk: Desk, session: str, device: str) -> None:
    done = desk.run("export", session, "-o", device)
    assert (done.exit_code, done.out) == (0, desk.run("export", session).out)


def test_a_running_session_is_exported_as_far_as_it_is(desk: Desk) -> None:
    desk.shelf.add(says("So far."), session_id=SESSION, ends=None)
    out = desk.run("export", SESSION, "--format", "html").out
    assert "So far." in out
    assert "⏳ running" in out


def test_a_session_that_is_not_there_cannot_be_exported(desk: Desk) -> None:
    done = desk.run("export", "feedfeedfeedfeed", "-o", "x.md")
    assert done.exit_code == 1
    assert 'Session "feedfeedfeedfeed" not found.' in done.err
    assert not (desk.project / "x.md").exists()
