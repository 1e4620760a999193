"""Programs in front of the user: one that takes our place, one that we wait for, the desktop's, and ourselves.

A command can give its terminal back and go on: then a child does the work, and its parent is what the shell waits for.
Until the child leaves, the two look like one process. They share a process group, so keys reach both. The parent passes
on what is sent to it alone, stops when the child has stopped, so that the shell takes the terminal back only after the
child has left it in order, and ends as the child ends. Should it be killed, the kernel kills the child.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from pi_subagents.errors import AgentNotFound
from pi_subagents.runners.guard import SET_PDEATHSIG, let_go_of_standard_streams, prctl

_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def become(argv: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
    """Be that program from now on; raises AgentNotFound if it cannot be started."""
    for number in _IGNORED_BY_PYTHON:  # what is ignored here would be ignored there
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(argv[0], list(argv), dict(environ))
    except (OSError, ValueError) as error:
        raise _not_started(argv, error) from None


def run_in_terminal(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run that program here and wait for its end; its exit code. Raises AgentNotFound."""
    # Ctrl+C is the other program's as long as it runs. A handler, because what is ignored is inherited.
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        return subprocess.run(list(argv), env=dict(environ), check=False).returncode
    except (OSError, ValueError) as error:
        raise _not_started(argv, error) from None
    finally:
        signal.signal(signal.SIGINT, before)


def _not_started(argv: Sequence[str], error: OSError | ValueError) -> AgentNotFound:
    why = error.strerror if isinstance(error, OSError) else error
    return AgentNotFound(f"{argv[0]} cannot be started ({why}). Run: pi-subagents doctor")


_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


def open_on_desktop(path: Path, environ: Mapping[str, str]) -> bool:
    """Ask the desktop to show `path`; False if there is none, or none that this terminal is on."""
    opener = _opener(environ)
    if opener is None:
        return False
    null = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            [opener, str(path)], stdin=null, stdout=null, stderr=null, env=dict(environ), start_new_session=True
        )
    except OSError:
        return False
    # Some openers stay as long as what they opened; nobody waits for them but this.
    threading.Thread(target=process.wait, daemon=True).start()
    return True


def _opener(environ: Mapping[str, str]) -> str | None:
    if sys.platform == "darwin":
        return None if "SSH_CONNECTION" in environ else shutil.which("open")
    return shutil.which("xdg-open", path=environ.get("PATH")) if any(map(environ.get, _DISPLAYS)) else None


# --- a command that can leave its terminal -------------------------------------------------------------------

_LEFT = signal.SIGUSR1
_HEEDED = {signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, _LEFT}


class Worker:
    """The child, seen from within."""

    def __init__(self, parent: int) -> None:
        self._parent = parent

    def leave_terminal(self) -> None:
        """From here on neither the end of the terminal nor that of the parent is ours."""
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the parent, which still has a terminal, would pass it on
        prctl(SET_PDEATHSIG, 0)

    def dismiss_parent(self) -> None:
        """Let the parent end with exit code 0; nothing can be printed any more."""
        let_go_of_standard_streams()
        with suppress(ProcessLookupError):
            os.kill(self._parent, _LEFT)


def fork_worker() -> Worker:
    """Return in a child; the parent waits for it and raises SystemExit. Before there are threads and event loops."""
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, nobody hears of a child's end
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HEEDED)
    child = os.fork()
    if child:
        sys.exit(_wait_for(child))
    prctl(SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:  # it was killed before the kernel knew
        os._exit(128 + signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return Worker(parent)


def _wait_for(child: int) -> int:
    while True:
        told = signal.sigwaitinfo(_HEEDED)
        if told.si_signo == _LEFT and told.si_pid == child:
            return 0
        if told.si_signo == signal.SIGCHLD:
            pid, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                _stop_with(child)
            elif pid:
                return _end_like(status)
        elif told.si_code <= 0:  # a process sent it, to us; what a key sends has reached the child as well
            os.kill(child, told.si_signo)


def _stop_with(child: int) -> None:
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP})
    # Stopped until somebody says SIGCONT: the shell to both of us, others perhaps to us alone.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})
    if _is_stopped(child):
        os.kill(child, signal.SIGCONT)


def _is_stopped(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False


def _end_like(status: int) -> int:
    """The exit code of the child; what a signal has killed, the same signal kills here."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        with suppress(OSError, ValueError):  # SIGKILL has no other effect that one could set
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEEDED)
    return code if code >= 0 else 128 - code
