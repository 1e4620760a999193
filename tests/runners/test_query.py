"""Asking a program something: its answer, its failure, and the end of one that does not answer."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

from pi_subagents.harness import Answer
from pi_subagents.processes.query import MAX_ANSWER_BYTES, ask
from tests.kit.waiting import PATIENCE_S, until
from tests.process.attacks import alive


def asked(*argv: str, timeout_s: float = PATIENCE_S) -> Answer:
    return ask(argv, environ={"PATH": os.environ["PATH"], "GREETING": "hello"}, timeout_s=timeout_s)


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        ("echo out; echo err >&2; exit 3", Answer(3, "out\nerr\n")),
        ("read line || echo nothing", Answer(0, "nothing\n")),  # no input
        ("echo $GREETING$HOME", Answer(0, "hello\n")),  # only the given environment
        (r"printf '\377ok'", Answer(0, "\N{REPLACEMENT CHARACTER}ok")),
        ("yes | head -c 1000000; exit 3", Answer(3, "y\n" * 500_000)),
    ],
)
def test_what_it_says_on_both_streams_and_its_exit_code_are_the_answer(script: str, answer: Answer) -> None:
    assert asked("/bin/sh", "-c", script) == answer
    assert answer.ok is (answer.exit_code == 0)


def test_a_program_that_is_not_there_is_an_answer_too() -> None:
    assert asked("/nowhere/pi") == Answer(None, "/nowhere/pi: No such file or directory")


def test_an_endless_answer_is_not_listened_to_until_its_end() -> None:
    assert asked("yes", "1.5.0") == Answer(None, f"an answer of more than {MAX_ANSWER_BYTES:,} bytes")


def test_silence_ends_in_time_and_with_everything_it_started() -> None:
    number = str(int.from_bytes(os.urandom(6)))  # whatever was started by then has it in its command line
    script = f"sleep 600.{number} & echo started; sleep 600.{number}"
    assert asked("/bin/sh", "-c", script, timeout_s=0.5) == Answer(None, "no answer within 0.5 s")
    until(lambda: not alive(number))


class Hasty(subprocess.Popen[bytes]):
    """A program that has ended before anything can be said to it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.wait(PATIENCE_S)


@pytest.mark.parametrize("until_said", [None, "never"])
def test_a_program_that_does_not_read_what_it_is_told_has_answered_all_the_same(
    until_said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", Hasty)
    argv, environ = ("/bin/sh", "-c", "echo no; exit 3"), {"PATH": os.environ["PATH"]}
    answer = ask(argv, environ=environ, timeout_s=PATIENCE_S, stdin=b"hello", until=until_said)
    assert answer == Answer(3, "no\n")
