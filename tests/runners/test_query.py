"""Asking a program something: its answer, its failure, and the end of one that does not answer."""

from __future__ import annotations

import os

from pi_subagents.harness import Answer
from pi_subagents.processes.query import MAX_ANSWER_BYTES, ask
from tests.kit.waiting import PATIENCE_S, until
from tests.process.attacks import alive

WAIT_S = PATIENCE_S


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def test_both_streams_and_the_exit_code_are_the_answer() -> None:
    answer = ask(shell("echo out; echo err >&2; exit 3"), environ=os.environ, timeout_s=WAIT_S)
    assert answer.exit_code == 3
    assert answer.text.split() == ["out", "err"]
    assert not answer.ok


def test_a_program_that_waits_for_input_gets_none() -> None:
    assert ask(shell("read line || echo nothing"), environ=os.environ, timeout_s=WAIT_S).text == "nothing\n"


def test_only_the_given_environment_is_seen() -> None:
    assert ask(shell("echo $GREETING$HOME"), environ={"GREETING": "hello"}, timeout_s=WAIT_S).text == "hello\n"


def test_a_program_that_is_not_there_is_an_answer_too() -> None:
    answer = ask(["/nowhere/pi"], environ=os.environ, timeout_s=WAIT_S)
    assert answer.exit_code is None
    assert answer.text == "/nowhere/pi: No such file or directory"


def test_bytes_that_are_no_text_do_not_hurt() -> None:
    assert ask(shell(r"printf '\377ok'"), environ=os.environ, timeout_s=WAIT_S).text.endswith("ok")


def test_an_endless_answer_is_not_listened_to_until_its_end() -> None:
    answer = ask(["yes", "1.5.0"], environ=os.environ, timeout_s=WAIT_S)
    assert answer == Answer(None, f"an answer of more than {MAX_ANSWER_BYTES:,} bytes")


def test_a_long_answer_is_heard_whole() -> None:
    answer = ask(shell("yes | head -c 1000000; exit 3"), environ=os.environ, timeout_s=WAIT_S)
    assert (answer.exit_code, answer.text) == (3, "y\n" * 500_000)


def test_silence_ends_in_time_and_with_everything_it_started() -> None:
    number = str(int.from_bytes(os.urandom(6)))  # whatever was started by then has it in its command line
    answer = ask(shell(f"sleep 600.{number} & echo started; sleep 600.{number}"), environ=os.environ, timeout_s=0.5)
    assert answer.exit_code is None
    assert "0.5 s" in answer.text
    until(lambda: not alive(number))
