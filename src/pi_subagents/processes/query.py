"""Asks a program a short question, such as its version, and never waits longer than it was told to."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pi_subagents.harness import Answer

MAX_ANSWER_BYTES = 4 * 1024 * 1024
"""Far beyond a list of all models that there are."""
_CHUNK_BYTES = 64 * 1024


def ask(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str],
    timeout_s: float,
    cwd: Path | None = None,
    stdin: bytes = b"",
    until: str | None = None,
) -> Answer:
    """Run `argv` with a few bytes on its standard input and return what it says; its failure is an answer too.

    A program that waits for more is ended, and has answered, when it has said `until`.
    """
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # some versions of pi answer on standard error
            bufsize=0,  # what a program has not read would be written again when its input is closed, and fail again
            env=dict(environ),
            cwd=cwd,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # the latter for what no process can be given, such as a null byte
        return Answer(None, f"{argv[0]}: {(error.strerror if isinstance(error, OSError) else None) or error}")
    with process:
        if process.stdin is not None:
            with suppress(BrokenPipeError):
                process.stdin.write(stdin)
                process.stdin.flush() if until else process.stdin.close()
        return _answer(process, timeout_s, until.encode() if until else None)


def _answer(process: subprocess.Popen[bytes], timeout_s: float, expected: bytes | None) -> Answer:
    until = time.monotonic() + timeout_s
    try:
        said = _read(process, until, expected)
        if len(said) > MAX_ANSWER_BYTES:
            return Answer(None, f"an answer of more than {MAX_ANSWER_BYTES:,} bytes")
        if expected is not None and expected in said:
            return Answer(0, said.decode("utf-8", "replace"))
        exit_code = process.wait(max(until - time.monotonic(), 0))
    except (TimeoutError, subprocess.TimeoutExpired):
        return Answer(None, f"no answer within {timeout_s:g} s")
    finally:
        # Also what a launcher script left in the background.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    return Answer(exit_code, said.decode("utf-8", "replace"))


def _read(process: subprocess.Popen[bytes], until: float, expected: bytes | None) -> bytes:
    """What the program says up to its end, or a little more than is looked at; raises TimeoutError."""
    assert process.stdout is not None
    said = bytearray()
    ready = select.poll()
    ready.register(process.stdout, select.POLLIN)
    while len(said) <= MAX_ANSWER_BYTES and (expected is None or expected not in said):
        if not ready.poll(max(until - time.monotonic(), 0) * 1000):
            raise TimeoutError
        chunk = os.read(process.stdout.fileno(), _CHUNK_BYTES)
        if not chunk:
            break
        said += chunk
    return bytes(said)
