"""What an agent is given to read: file blocks, placeholders and the order of the parts."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pi_subagents.delegation.prompts import compose_prompt
from pi_subagents.models import FileSlice, FileSpec

TEN_LINES = "".join(f"line {number}\n" for number in range(1, 11))


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "ten.txt").write_text(TEN_LINES)
    return tmp_path


def test_without_files_the_prompt_is_passed_on_untouched(cwd: Path) -> None:
    assert compose_prompt("  do it\n", (), cwd) == "  do it\n"


def test_files_stand_before_the_prompt_with_one_blank_line_between(cwd: Path) -> None:
    (cwd / "src").mkdir()
    (cwd / "src" / "main.ts").write_text("import x;\n\ncode\n")
    (cwd / "README.md").write_text("# Mine")
    assert compose_prompt("Review.", ("src/main.ts", "README.md"), cwd) == (
        "=== src/main.ts ===\nimport x;\n\ncode\n\n=== README.md ===\n# Mine\n\nReview."
    )


@pytest.mark.parametrize(
    ("spec", "first", "last"),
    [
        (FileSlice(path="ten.txt", start=3, end=5), 3, 5),
        (FileSlice(path="ten.txt", start=8), 8, 10),
        (FileSlice(path="ten.txt", end=2), 1, 2),
        (FileSlice(path="ten.txt", start=4, end=4), 4, 4),
        (FileSlice(path="ten.txt", start=9, end=99), 9, 10),
        (FileSlice(path="ten.txt", head=2), 1, 2),
        (FileSlice(path="ten.txt", head=30), 1, 10),
        (FileSlice(path="ten.txt", tail=1), 10, 10),
        (FileSlice(path="ten.txt", tail=3), 8, 10),
        (FileSlice(path="ten.txt", tail=30), 1, 10),
        (FileSlice(path="ten.txt"), 1, 10),
    ],
)
def test_ranges_count_from_one_and_include_both_ends(cwd: Path, spec: FileSpec, first: int, last: int) -> None:
    lines = "\n".join(f"line {number}" for number in range(first, last + 1))
    assert compose_prompt("Go.", (spec,), cwd) == f"=== ten.txt ===\n{lines}\n\nGo."


@pytest.mark.parametrize("spec", [FileSlice(path="ten.txt", start=11), FileSlice(path="ten.txt", start=5, end=4)])
def test_an_empty_selection_keeps_its_header_and_an_empty_body(cwd: Path, spec: FileSpec) -> None:
    assert compose_prompt("Go.", (spec,), cwd) == "=== ten.txt ===\n\n\nGo."


def test_an_absolute_path_is_shown_as_it_was_given(cwd: Path) -> None:
    path = str(cwd / "ten.txt")
    prompt = compose_prompt("Go.", (FileSlice(path=path, head=1),), Path("/nowhere"))
    assert prompt == f"=== {path} ===\nline 1\n\nGo."


@pytest.mark.parametrize("path", ["missing.txt", "no/such/folder.txt", "ten.txt/below"])
def test_a_missing_file_is_a_placeholder(cwd: Path, path: str) -> None:
    assert compose_prompt("Go.", (path,), cwd) == f"[file not found: {path}]\n\nGo."


def test_a_dangling_link_is_a_missing_file(cwd: Path) -> None:
    (cwd / "link").symlink_to("gone")
    assert "[file not found: link]" in compose_prompt("Go.", ("link",), cwd)


@pytest.mark.parametrize("path", ["folder", "latin1.txt", "pipe", "loop", "/dev/zero", "nul\0byte", "\ud800"])
def test_what_is_no_readable_text_file_is_a_placeholder_and_never_hangs(cwd: Path, path: str) -> None:
    (cwd / "folder").mkdir()
    (cwd / "latin1.txt").write_bytes("Größe".encode("latin-1"))
    (cwd / "loop").symlink_to("loop")
    os.mkfifo(cwd / "pipe")
    assert compose_prompt("Go.", (path,), cwd) == f"[could not read file: {path}]\n\nGo."


def test_a_file_without_permission_is_a_placeholder(nobodys_folder: Path) -> None:
    (nobodys_folder / "ten.txt").write_text("secret")
    (nobodys_folder / "ten.txt").chmod(0)
    with _not_root():
        assert "[could not read file: ten.txt]" in compose_prompt("Go.", ("ten.txt",), nobodys_folder)


@pytest.fixture
def nobodys_folder() -> Iterator[Path]:
    """A folder that every user can enter, unlike those that pytest makes."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def _not_root() -> Iterator[None]:
    """Root may read everything, so be somebody else for a moment."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


@pytest.mark.parametrize(("size", "kilobytes"), [(1024 * 1024 + 1, 1024), (1024 * 1024 + 512, 1025), (3_000_000, 2930)])
def test_a_file_beyond_one_megabyte_is_a_placeholder_with_its_size(cwd: Path, size: int, kilobytes: int) -> None:
    (cwd / "big").write_bytes(b"x" * size)
    expected = f"[file too large: big ({kilobytes}KB, limit 1024KB)]\n\nGo."
    assert compose_prompt("Go.", (FileSlice(path="big", head=1),), cwd) == expected


def test_a_file_of_exactly_one_megabyte_is_given(cwd: Path) -> None:
    (cwd / "big").write_bytes(b"x" * 1024 * 1024)
    assert "x" * 1024 * 1024 in compose_prompt("Go.", ("big",), cwd)


def test_one_bad_file_does_not_keep_the_others_away(cwd: Path) -> None:
    prompt = compose_prompt("Go.", ("missing", FileSlice(path="ten.txt", tail=1)), cwd)
    assert prompt == "[file not found: missing]\n\n=== ten.txt ===\nline 10\n\nGo."


def test_files_stand_before_what_happened_previously(cwd: Path) -> None:
    prompt = compose_prompt("Go on.", (FileSlice(path="ten.txt", head=1),), cwd, previously="User: hi\n\nAssistant: ho")
    assert prompt == ("=== ten.txt ===\nline 1\n\nPreviously:\n\nUser: hi\n\nAssistant: ho\n\nInstructions:\n\nGo on.")


def test_only_a_line_feed_ends_a_line(cwd: Path) -> None:
    (cwd / "odd").write_text("one\u2028still one\x0cstill one\ntwo\n")
    assert compose_prompt("Go.", (FileSlice(path="odd", tail=1),), cwd) == "=== odd ===\ntwo\n\nGo."


def test_windows_line_endings_and_a_byte_order_mark_cause_no_extra_lines(cwd: Path) -> None:
    (cwd / "win").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert compose_prompt("Go.", ("win",), cwd) == "=== win ===\none\r\ntwo\n\nGo."
