"""How things are printed: Markdown rendered where a person reads it, progress without windows, the log."""

from __future__ import annotations

import io
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pi_subagents.offline import Call, Fail, Script, Turn
from pi_subagents.surfaces.cli.logs import set_up_logging
from pi_subagents.surfaces.cli.output import MAX_RENDERED, markdown_printer, obeys_escapes
from pi_subagents.surfaces.cli.views import PlainView, choose_view
from tests.pi.stage import Play
from tests.surfaces.cli.stand_in import use_stand_in

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


def test_it_is_as_the_agent_wrote_it_where_that_is_wanted_in_a_pipe_and_on_a_terminal_that_prints_escapes(
    show: Show, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = "# Title\n\n- one"
    assert show(written, plain=True) == f"{written}\n"
    monkeypatch.setenv("TERM", "dumb")
    assert show(written) == f"{written}\n"
    monkeypatch.setenv("TERM", "xterm-256color")
    markdown_printer()(written)
    assert capsys.readouterr().out == f"{written}\n"


def test_too_much_of_it_is_not_rendered(show: Show) -> None:
    shown = show("*a* " * (MAX_RENDERED // 4 - 10), "- a\n" * 20)
    assert "*" not in shown
    assert shown.endswith("- a\n" * 20 + "\n")


HOSTILE = "\x1b]0;owned\x07\x1b[2Jname\r\nsecond\x9b31m"


def obeyed(text: str) -> list[str]:
    """The characters that are neither text nor the end of a line."""
    return [char for char in text if (ord(char) < 0x20 and char != "\n") or 0x7F <= ord(char) < 0xA0]


def test_every_event_is_one_line_and_no_byte_is_an_escape(play: Play) -> None:
    script = (
        Script()
        .when("bad", [Fail(400, "\x1b[31mno\x1b[0m")])
        .otherwise([Turn(HOSTILE, calls=(Call("bash", {"command": f"printf '{HOSTILE}'"}),)), Turn("Two\nlines.")])
    )
    stage = play(script)
    tasks = stage.write(
        "tasks.json", '[{"name": "\\u001b[31mred\\nname", "prompt": "x"}, {"name": "b", "prompt": "bad"}]'
    )
    done = stage.command("run", "--tasks", str(tasks))
    assert obeyed(done.stderr) == []
    assert obeyed(done.stdout) == []
    lines = done.stderr[: done.stderr.index("\n✗ b: ")].splitlines()  # what follows is the report
    assert all(line.startswith(("red name: ", "b: ", "Sub-agents: ")) for line in lines)
    assert "red name: Started" in lines
    assert "red name: Two lines." in lines
    assert lines[-1] == "Sub-agents: 1 completed, 1 failed"


def test_one_of_many_that_ends_says_how_the_rest_stands(play: Play) -> None:
    stage = play(Script())
    use_stand_in(stage)
    done = stage.command("run", "-j", "1", "one", "fail", "three")
    standing = [line for line in done.stderr.splitlines() if line.startswith("Sub-agents")]
    assert standing == [
        "Sub-agents: 1 completed, 2 waiting",
        "Sub-agents: 1 completed, 1 failed, 1 waiting",
        "Sub-agents: 2 completed, 1 failed",
    ]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True),
        ({"TERM": "dumb"}, False),
        ({}, False),
    ],
)
def test_which_terminals_obey_escapes(environ: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", environ)
    assert obeys_escapes() is expected


def test_without_a_terminal_there_are_no_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert not sys.stderr.isatty()
    assert isinstance(choose_view(plain=False), PlainView)


LOGGER = logging.getLogger("pi_subagents")
KEY = "sk-of-the-caller-123"


@pytest.fixture(autouse=True)
def _logger_as_it_was() -> Iterator[None]:
    before = (LOGGER.handlers[:], LOGGER.level, LOGGER.propagate)
    yield
    for handler in LOGGER.handlers:
        handler.close()
    LOGGER.handlers[:], LOGGER.level, LOGGER.propagate = before[0], before[1], before[2]


def test_a_file_gets_the_log_for_its_owner_alone_and_without_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "engine.log"
    monkeypatch.setenv("PI_SUBAGENTS_LOG", str(path))
    monkeypatch.setenv("SOME_PROVIDER_API_KEY", KEY)
    set_up_logging(0, None)
    logging.getLogger("pi_subagents.somewhere").info("trying %s", KEY)
    assert "INFO pi_subagents.somewhere: trying [redacted]" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert capsys.readouterr() == ("", "")  # nobody asked for it on the terminal


@pytest.mark.parametrize(
    ("verbose", "level", "shown"),
    [(0, None, "W"), (1, None, "IW"), (2, None, "DIW"), (0, "debug", "DIW"), (2, "error", "")],
)
def test_stderr_gets_as_much_as_was_asked_for_and_stdout_nothing(
    capsys: pytest.CaptureFixture[str], verbose: int, level: str | None, shown: str
) -> None:
    set_up_logging(verbose, level)
    for number in (logging.DEBUG, logging.INFO, logging.WARNING):
        logging.getLogger("pi_subagents.somewhere").log(number, "hello")
    out, err = capsys.readouterr()
    assert "".join(line.split()[2][0] for line in err.splitlines()) == shown
    assert out == ""


def test_a_log_that_cannot_be_written_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PI_SUBAGENTS_LOG", str(tmp_path / "missing" / "engine.log"))
    set_up_logging(0, None)
    assert f"cannot log to {tmp_path}/missing/engine.log: No such file or directory" in capsys.readouterr().err
