"""Where the command meets the process it is: standard streams, and what no command can foresee to go wrong.

Every end is an exit code, and every failure a sentence: never a traceback for what a shell, a full disk or a strange
name does to us.
"""

from __future__ import annotations

import atexit
import errno
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, TextIO, cast

from pi_subagents.errors import (
    AmbiguousId,
    ClientConfigError,
    InvalidCall,
    NothingStarted,
    PiSubagentsError,
)
from pi_subagents.surfaces.cli.output import echo, echo_text, wrapped
from pi_subagents.text.harmless import HarmlessStream, clean

_LEAST_DESCRIPTORS = 8
"""An event loop and a database, for a start."""
_OF_SEVERAL_LINES = (AmbiguousId, ClientConfigError, NothingStarted)
_USAGE = 2


def run_to_exit_code(command: Callable[[], object]) -> int:
    """Call the command with streams that can do no harm; the exit code for how it ended."""
    _hold_descriptors()
    kept = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - closed: it is empty
    sys.stdout = cast(TextIO, HarmlessStream(sys.stdout, "standard output"))
    sys.stderr = cast(TextIO, HarmlessStream(sys.stderr, "standard error", for_remarks=True))
    try:
        return _exit_code(command)
    finally:
        for stream in kept[1:]:
            _finish(stream)
        sys.stdin, sys.stdout, sys.stderr = kept


def leave(code: object) -> NoReturn:
    """End the process at once. Python would first take apart what it has loaded: a fifth of a short command's time."""
    if threading.active_count() > 1:  # somebody is still at work, and Python waits for some of them
        sys.exit(code)  # type: ignore[arg-type] # it takes whatever an exit was given
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        _finish(stream)
    os._exit(code if isinstance(code, int) else int(code is not None))


def require_open_streams(whom: str) -> None:
    """Raise InvalidCall unless there is a standard input and output to speak over."""
    if sys.__stdin__ is None or sys.__stdout__ is None:
        raise InvalidCall(f"{whom} needs standard input and output, but one of them is closed")


def _exit_code(command: Callable[[], object]) -> int:
    try:
        _require_descriptors()
        code = _called(command)
        sys.stdout.flush()
    except PiSubagentsError as error:
        said = str(error) if isinstance(error, _OF_SEVERAL_LINES) else clean(str(error))
        echo_text(wrapped(f"error: {said}", sys.stderr), err=True)
        if error.advice:
            echo(f"hint: {error.advice}", err=True)
        return _USAGE if isinstance(error, NothingStarted) else 1
    except KeyboardInterrupt:
        echo("Aborted!", err=True)
    except BrokenPipeError:
        pass  # the reader of our output has gone (`| head`); there is nobody left to tell
    except (OSError, UnicodeError) as error:
        with suppress(OSError):
            echo(f"error: {_sentence(error)}", err=True)
    else:
        return code
    return 1


def _called(command: Callable[[], object]) -> int:
    try:
        returned = command()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return returned if isinstance(returned, int) else 0


def _sentence(error: OSError | UnicodeError) -> str:
    if isinstance(error, UnicodeError):
        return f"an argument or a name is not valid UTF-8: {error}"
    if error.errno == errno.ENOENT and not _has_directory():
        return "the current directory no longer exists; change to another one and try again"
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many open files; raise the limit with 'ulimit -n', or close other programs"
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
    return f"{where}{error.strerror or error}"


def _has_directory() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - only whether there is one
    except OSError:
        return False
    return True


def _hold_descriptors() -> None:
    """Let nothing that is opened later be taken for a standard stream that was closed."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free


def _require_descriptors() -> None:
    """Raise OSError where hardly any is left, before something that needs a few is half made and complains."""
    held: list[int] = []
    try:
        for _ in range(_LEAST_DESCRIPTORS):
            held.append(os.open(os.devnull, os.O_RDONLY))
    finally:
        for fd in held:
            os.close(fd)


def _finish(stream: TextIO | None) -> None:
    """Flush, and where that fails leave nothing for the interpreter to fail with once more."""
    try:
        if stream is not None:
            stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[union-attr]
