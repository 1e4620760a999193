"""Every command by enumeration, each run in a fork of a process that has loaded them all: some milliseconds a piece.

As a program it reads directories and argument lists from standard input, runs each with an empty input, and prints what
each wrote, to both streams together, with its exit code. They write to a pipe, unless a `Trouble` says otherwise.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import click

from tests.kit.command import REPOSITORY
from tests.kit.waiting import PATIENCE_S

LIMIT_S = PATIENCE_S
UNCAUGHT, UNFLUSHED = 70, 120
NOT_RUN = {
    ("demo",): "runs agents on a project of its own, for ten seconds",
    ("install-pi",): "needs the network",
    ("pi",): "is pi from then on",
}


class Trouble(StrEnum):
    """What can be odd about the process that a command finds itself in."""

    NONE = "none"
    TERMINAL = "terminal"
    DELETED_DIRECTORY = "deleted directory"
    CLOSED_INPUT = "closed input"
    CLOSED_OUTPUT = "closed output"
    CLOSED_ERRORS = "closed errors"
    FULL_OUTPUT = "full output"
    FULL_ERRORS = "full errors"
    FEW_DESCRIPTORS = "few descriptors"


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, negative for a signal, and the bytes it wrote."""

    arguments: tuple[str, ...]
    code: int
    data: bytes

    @property
    def text(self) -> str:
        return self.data.decode()


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that has none below it, with the words that call it."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from leaves(found, (*path, name))
    else:
        yield path, command


def run_all(
    calls: Sequence[tuple[Path, Sequence[str]]], environ: Mapping[str, str], trouble: Trouble = Trouble.NONE
) -> list[Ended]:
    """Run commands one after the other, each in a directory and as a process of its own."""
    asked = json.dumps([[os.fsencode(word).hex() for word in (str(cwd), *call)] for cwd, call in calls])
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.surfaces.cli.forked_commands", trouble],
        input=asked,
        capture_output=True,
        text=True,
        env={**environ, "PYTHONPATH": os.pathsep.join((str(REPOSITORY / "src"), str(REPOSITORY)))},
        timeout=LIMIT_S * len(calls),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    return [
        Ended(tuple(call), code, bytes.fromhex(data)) for (_cwd, call), (code, data) in zip(calls, answers, strict=True)
    ]


def _answer(cwd: str, arguments: list[str], trouble: Trouble) -> tuple[int, str]:
    if trouble is Trouble.TERMINAL:
        here, there = os.openpty()
    else:
        here, there = os.pipe()
    child = os.fork()
    if child == 0:
        os.chdir(cwd)
        _become(arguments, there, trouble)
    os.close(there)
    data = b"".join(iter(lambda: _read(here), b""))
    os.close(here)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), data.hex()


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65536)
    except OSError:  # what the end of a terminal looks like
        return b""


def _become(arguments: list[str], output: int, trouble: Trouble) -> None:
    from pi_subagents.surfaces.cli import main

    os.setsid()
    signal.alarm(int(LIMIT_S))
    nothing = os.open(os.devnull, os.O_RDONLY)
    for fd, source in ((0, nothing), (1, output), (2, output)):
        os.dup2(source, fd)
    os.closerange(3, 1000)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as at the start of a program
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    _make(trouble)
    code = UNCAUGHT
    try:
        main(arguments)
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:  # noqa: BLE001 - shown as the interpreter would show it
        sys.excepthook(*sys.exc_info())
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except OSError:  # as the interpreter does when it ends
        code = UNFLUSHED
    os._exit(code)


def _make(trouble: Trouble) -> None:
    closed = {Trouble.CLOSED_INPUT: "stdin", Trouble.CLOSED_OUTPUT: "stdout", Trouble.CLOSED_ERRORS: "stderr"}
    full = {Trouble.FULL_OUTPUT: 1, Trouble.FULL_ERRORS: 2}
    if name := closed.get(trouble):
        os.close(("stdin", "stdout", "stderr").index(name))
        for attribute in (name, f"__{name}__"):  # as the interpreter does when it starts
            setattr(sys, attribute, None)
    elif fd := full.get(trouble):
        os.dup2(os.open("/dev/full", os.O_WRONLY), fd)
    elif trouble is Trouble.DELETED_DIRECTORY:
        gone = tempfile.mkdtemp()
        os.chdir(gone)
        Path(gone).rmdir()
    elif trouble is Trouble.FEW_DESCRIPTORS:
        resource.setrlimit(resource.RLIMIT_NOFILE, (int(os.environ["DESCRIPTORS"]), 1000))


def _serve() -> None:
    from pi_subagents.surfaces.cli.app import app

    list(leaves(app))
    answers = []
    for words in json.load(sys.stdin):
        cwd, *arguments = (os.fsdecode(bytes.fromhex(word)) for word in words)
        answers.append(_answer(cwd, arguments, Trouble(sys.argv[1])))
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    _serve()
