"""What agents are to do: task files, times, and standard input from real pipes, sockets and files, never for ever."""

from __future__ import annotations

import io
import os
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import click
import pytest

from pi_subagents.errors import InvalidCall
from pi_subagents.surfaces.cli import tasks as reading_tasks
from pi_subagents.surfaces.cli.app import app
from pi_subagents.surfaces.cli.options import Duration
from pi_subagents.surfaces.cli.task_files import read_tasks
from pi_subagents.surfaces.cli.tasks import MAX_BYTES, read_asked, read_offered, read_prompts, tasks_of
from tests.surfaces.cli.forked_commands import leaves

TASK = "- name: a\n  prompt: "


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("deep.json", '[{"prompt":' + "[" * 100_000),
        ("deep.jsonl", '{"prompt":' + "[" * 100_000),
        ("deep.yaml", TASK + "[" * 3000),
        ("version.yaml", "%YAML 1.5\n---\n- a"),
        ("character.yaml", TASK + '"\\U00110000"'),
        ("larger-character.yaml", TASK + '"\\Uffffffff"'),
        ("half-a-pair.yaml", TASK + '"\\ud800"'),
        ("half-a-pair.json", '[{"name": "a", "prompt": "\\ud800"}]'),
        ("bool.yaml", TASK + "!!bool 9"),
        ("number.yaml", TASK + "!!int ''"),
        ("time.yaml", TASK + "2001-01-01 10:00:00 +99:99"),
        ("digits.yaml", TASK + "9" * 5000),
        ("bytes.json", "\udcff"),
        ("zeros.jsonl", "\0" * 1000),
    ],
)
def test_what_is_no_list_of_tasks_is_refused_with_a_sentence(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidCall, match=f"^{re.escape(str(path))}: .") as refused:
        read_tasks(path)
    str(refused.value).encode()


def test_a_pipe_or_a_device_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "zeros.yaml").symlink_to("/dev/zero")
    for name in ("pipe.json", "zeros.yaml"):
        with pytest.raises(InvalidCall, match="is not a regular file"):
            read_tasks(tmp_path / name)


def test_a_file_that_would_fill_the_memory_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InvalidCall, match="is larger than 16,777,216 bytes"):
        read_tasks(path)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("90s", 90), ("5m", 300), ("1h30m", 5400), ("2d", 172_800), (" 1H30M5s ", 5405)],
)
def test_a_duration_is_seconds_or_has_units(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "m", "5x", "30m1h", "5m5m", "-3", "inf", "nan", "1e3", "5 minutes", "9" * 30])
def test_anything_else_is_refused_with_what_is_possible(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a duration; use 90, 90s, 5m or 1h30m"):
        Duration().convert(text, None, None)


def test_what_is_too_short_is_refused_with_the_least() -> None:
    with pytest.raises(click.BadParameter, match=r"'0\.5s' is too short; use at least 1s"):
        Duration(min_s=1).convert("0.5s", None, None)


def test_every_option_that_takes_a_time_to_wait_takes_units() -> None:
    found = {
        f"{' '.join(path)} {option.opts[0]}": isinstance(option.type, Duration)
        for path, command in leaves(app)
        for option in command.params
        if option.opts[0] in ("--timeout", "--silence") or isinstance(option.type, click.types.FloatParamType)
    }
    assert set(found) >= {"run --timeout", "sessions resume --timeout", "background wait --timeout", "mcp --silence"}
    assert all(found.values()), found


Stdin = Callable[[int], None]


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stdin]:
    """Puts a descriptor in the place of standard input."""
    opened: list[int] = []

    def put(fd: int) -> None:
        opened.append(fd)
        monkeypatch.setattr(sys, "stdin", os.fdopen(fd, closefd=False))

    yield put
    for fd in opened:
        os.close(fd)


def piped(data: bytes) -> int:
    """The end of a pipe from which all of it comes, and then the end."""
    reading, writing = os.pipe()

    def write() -> None:
        with suppress(BrokenPipeError), os.fdopen(writing, "wb") as pipe:  # the reader may have had enough
            pipe.write(data)

    threading.Thread(target=write, daemon=True).start()
    return reading


def say_nothing(line: str) -> None:
    raise AssertionError(line)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits as long as a person would."""
    monkeypatch.setattr(reading_tasks, "_PATIENCE_S", 0.01)
    monkeypatch.setattr(reading_tasks, "FIRST_BYTE_S", 0.02)


def test_what_is_piped_in_goes_behind_every_prompt(stdin: Stdin) -> None:
    stdin(piped(b"the diff\n"))
    tasks = tasks_of(read_prompts(("Review this", "Explain it"), ("a.py",), say_nothing), None)
    assert [task.prompt for task in tasks] == ["Review this\n\nthe diff", "Explain it\n\nthe diff"]
    assert [task.name for task in tasks] == ["1: Review this", "2: Explain it"]
    assert {task.files for task in tasks} == {("a.py",)}


def test_a_file_is_read_from_where_it_stands(stdin: Stdin, tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_text("first\nrest\n")
    fd = os.open(path, os.O_RDONLY)
    os.lseek(fd, len("first\n"), os.SEEK_SET)
    stdin(fd)
    assert read_offered(say_nothing) == "rest\n"


def test_a_socket_is_a_pipe_too(stdin: Stdin) -> None:
    here, there = socket.socketpair()
    there.sendall(b"over a socket")
    there.close()
    stdin(here.detach())
    assert read_offered(say_nothing) == "over a socket"


def test_what_a_program_puts_in_its_place_is_read_only_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("of the program that calls us"))
    assert read_offered(say_nothing) == ""
    assert read_asked(say_nothing) == "of the program that calls us"


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_a_device_is_not_read(stdin: Stdin, device: str) -> None:
    stdin(os.open(device, os.O_RDONLY))
    assert read_prompts(("Go",), (), say_nothing).whole("Go") == "Go"


@pytest.mark.parametrize("data", [b"", b" \n\n"])
def test_an_empty_pipe_adds_nothing(stdin: Stdin, data: bytes) -> None:
    stdin(piped(data))
    assert read_prompts(("Go",), (), say_nothing).whole("Go") == "Go"


@pytest.mark.usefixtures("impatient")
def test_an_open_pipe_that_nobody_writes_to_is_not_waited_for_and_that_is_said_also_to_the_quiet(
    stdin: Stdin, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    stdin(reading)
    said: list[str] = []
    assert read_offered(said.append) == ""
    os.close(writing)
    assert said == ["Reading standard input…; </dev/null skips it."]
    assert capsys.readouterr().err.startswith("warning: standard input is open, but nothing came in")


@pytest.mark.usefixtures("impatient")
def test_a_pipe_that_has_begun_is_read_to_its_end_however_long_it_pauses(stdin: Stdin) -> None:
    reading, writing = os.pipe()
    stdin(reading)
    os.write(writing, b"one ")

    def write() -> None:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(b"two")

    def go_on(_line: str) -> None:  # said only when nothing has come for a while; and then it takes longer still
        threading.Timer(10 * reading_tasks.FIRST_BYTE_S, write).start()

    assert read_offered(go_on) == "one two"


@pytest.mark.usefixtures("impatient")
def test_whoever_asks_for_it_waits_for_it(stdin: Stdin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_tasks, "FIRST_BYTE_S", 0)
    reading, writing = os.pipe()
    stdin(reading)
    said: list[str] = []

    def answer(line: str) -> None:
        said.append(line)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(b"at last")

    assert read_asked(answer) == "at last"
    assert said == ["Reading standard input…; end it with Ctrl+D."]


def test_ten_megabytes_are_read_and_more_is_refused(stdin: Stdin) -> None:
    stdin(piped(b"x" * MAX_BYTES))
    assert len(read_offered(say_nothing)) == MAX_BYTES == 10_000_000
    stdin(piped(b"x" * (MAX_BYTES + 1)))
    with pytest.raises(InvalidCall, match=r"larger than 10\.0 MB, which no model can read; save it to a file"):
        read_offered(say_nothing)


def test_bytes_that_are_no_utf_8_are_replaced_and_that_is_said(stdin: Stdin) -> None:
    said: list[str] = []
    stdin(piped("caf\xe9 and café".encode("latin-1") + "…".encode()))
    assert read_offered(said.append) == "caf� and caf�…"
    assert said == ["warning: standard input is not all UTF-8; invalid bytes were replaced by �"]


def test_a_byte_order_mark_is_no_part_of_the_text(stdin: Stdin) -> None:
    stdin(piped(b"\xef\xbb\xbfthe diff"))
    assert read_offered(say_nothing) == "the diff"


def test_binary_data_is_refused(stdin: Stdin) -> None:
    stdin(piped(b"\x7fELF\0\0"))
    with pytest.raises(InvalidCall, match="standard input is binary data, not text"):
        read_offered(say_nothing)


def test_standard_input_as_a_file_stands_before_the_prompt(stdin: Stdin) -> None:
    stdin(piped(b"a\nb\n"))
    told = read_prompts(("Count", "Sort"), ("x.py", "-"), say_nothing)
    assert told.whole("Sort") == "=== standard input ===\na\nb\n\nSort"
    assert told.files == ("x.py",)


def test_a_prompt_can_be_read_and_the_others_get_nothing_of_it(stdin: Stdin) -> None:
    stdin(piped(b"Do this\n"))
    told = read_prompts(("-", "Do that"), (), say_nothing)
    assert [told.whole(text) for text in told.texts] == ["Do this\n", "Do that"]


def test_a_prompt_that_was_to_be_read_and_is_not_there_is_named(stdin: Stdin) -> None:
    stdin(piped(b" \n"))
    with pytest.raises(InvalidCall, match="prompt 2 is empty"):
        read_prompts(("Do that", "-"), (), say_nothing)


@pytest.mark.parametrize(("prompts", "files"), [(("-", "-"), ()), (("-",), ("-",)), (("x",), ("-", "-"))])
def test_two_readers_are_refused(prompts: tuple[str, ...], files: tuple[str, ...]) -> None:
    with pytest.raises(click.UsageError, match="standard input can be read only once"):
        read_prompts(prompts, files, say_nothing)


def test_a_long_prompt_has_a_long_name(stdin: Stdin) -> None:
    stdin(os.open(os.devnull, os.O_RDONLY))
    (task,) = tasks_of(read_prompts(("Review\n" + "every file " * 100,), (), say_nothing), 5)
    assert task.name.startswith("1: Review every file every file")
    assert len(task.name) == len("1: ") + 120
    assert task.name.endswith("…")
