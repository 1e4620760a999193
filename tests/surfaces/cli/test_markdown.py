"""Markdown is rendered where a person reads it, and nothing in it is obeyed."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable

import pytest

from pi_subagents.surfaces.cli.output import MAX_RENDERED, markdown_printer

TEXT = "# Title\n\nSome *words*\x1b[2J &#8238;evil &#x1b;]0;t\x07\n\n- one\n- two"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


Show = Callable[..., str]


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Show:
    """What a terminal gets to see of texts."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def shown(*texts: str, plain: bool = False) -> str:
        terminal = Terminal()
        with monkeypatch.context() as patching:
            patching.setattr(sys, "stdout", terminal)
            printed = markdown_printer(plain=plain)
            for text in texts:
                printed(text)
        return terminal.getvalue()

    return shown


def test_a_terminal_shows_it_rendered_and_obeys_nothing_in_it(show: Show) -> None:
    shown = show(TEXT)
    assert "\x1b[3mwords\x1b[0m" in shown
    assert " • \x1b[0mone\n" in shown
    for hostile in ("\u202e", "\x1b[2J", "\x1b]", "\x07", "# Title"):
        assert hostile not in shown


def test_no_line_is_filled_up_with_blanks(show: Show) -> None:
    lines = show(TEXT).splitlines()
    assert len(lines) > 3
    assert all(line == line.rstrip() for line in lines)


def test_no_character_that_means_something_is_lost(show: Show) -> None:
    written = "src/__main__.py and _x_ in List<String> &amp; [a](b.md)\n38400 total\n  399 src/a.py\nrun \\\n  --fast"
    assert show(written) == f"{written}\n"


def test_what_is_too_long_for_a_cell_of_a_table_goes_on_below(show: Show) -> None:
    path = "src/pi_subagents/surfaces/cli/with/a/long/path/to/it.py"
    shown = show(f"| file | note |\n|---|---|\n| {path} | {'word ' * 20}|\n")
    assert path in "".join(line[:29].strip() for line in re.sub(r"\x1b\[[\d;]*m", "", shown).splitlines())


@pytest.mark.parametrize(
    "written",
    [">" * 40 + " deep words", "- " * 20 + "deep words", "|" + "long|" * 30 + "\n|" + "-|" * 30 + "\n|" + "cell|" * 30],
)
def test_what_would_lose_words_when_rendered_is_shown_as_written(show: Show, written: str) -> None:
    assert show(written) == f"{written}\n"


def test_lists_are_rendered_as_deep_as_people_nest_them(show: Show) -> None:
    shown = show("\n".join("  " * depth + f"- word {depth}" for depth in range(12)))
    assert [f"word {depth}" in shown for depth in range(12)] == [True] * 12
    assert "- word" not in shown


def test_asterisks_are_emphasis(show: Show) -> None:
    assert show("**bold** *words*") == "\x1b[1mbold\x1b[0m \x1b[3mwords\x1b[0m\n"


def test_everything_begins_at_the_left_with_one_blank_line_between(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    shown = show("> Quoted", "# Title\n\nWords\n\n```\ncode\n```\n\n| a |\n|---|\n| 1 |\n\n- end")
    assert re.sub(r"\x1b\[[\d;]*m", "", shown) == "▌ Quoted\nTitle\n\nWords\n\n code\n\na\n─\n1\n\n • end\n"


def test_without_colours_it_is_rendered_too(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    coloured = show("`code`\n\n- one")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1;36;40mcode" in coloured
    assert "\x1b[1mcode" in show("`code`\n\n- one")


def test_plain_is_as_the_agent_wrote_it(show: Show) -> None:
    assert show("# Title\n\n- one", plain=True) == "# Title\n\n- one\n"


def test_a_terminal_that_would_print_escapes_gets_none(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert show("# Title") == "# Title\n"


def test_in_a_pipe_it_is_as_the_agent_wrote_it(capsys: pytest.CaptureFixture[str]) -> None:
    markdown_printer()("# Title\n\n- one")
    assert capsys.readouterr().out == "# Title\n\n- one\n"


def test_too_much_of_it_is_not_rendered(show: Show) -> None:
    shown = show("*a* " * (MAX_RENDERED // 4 - 10), "- a\n" * 20)
    assert "*" not in shown
    assert shown.endswith("- a\n" * 20 + "\n")
