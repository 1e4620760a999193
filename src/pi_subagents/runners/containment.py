"""Ways to make sure that nothing an agent started outlives the process that holds its run.

A death signal alone does not reach grandchildren, and a process group does not hold what daemonises itself.
Two mechanisms do:

- `namespace`: the agent lives in a PID namespace of its own, and the kernel kills all of it with its first process.
  A one-line shell is that first process, because PID 1 ignores SIGTERM until it has a handler and must reap orphans.
- `guard`: a small process is the sub-reaper of everything below it and kills all of it when its pipe to us breaks.

In both, the wrapper's exit means that no descendant is left.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Literal, Protocol

from pi_subagents.errors import SettingsError

Mechanism = Literal["namespace", "guard", "none"]
Choice = Literal["auto", "namespace", "guard", "none"]

_GUARD = Path(__file__).with_name("guard.py")
_PROBE_TIMEOUT_S = 5.0


class Containment(Protocol):
    """Wraps a command line and knows how to end what runs in it."""

    @property
    def mechanism(self) -> Mechanism: ...

    def wrap(self, argv: Sequence[str]) -> list[str]: ...

    @property
    def inherited_fds(self) -> tuple[int, ...]: ...

    def started(self, pid: int) -> None:
        """Called once, right after the wrapper exists."""
        ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...

    def close(self) -> None: ...


class _Group:
    """The process group is all there is to hold on to; what leaves it is not found again."""

    mechanism: Mechanism = "none"
    inherited_fds: tuple[int, ...] = ()

    def __init__(self) -> None:
        self._pid = 0

    def wrap(self, argv: Sequence[str]) -> list[str]:
        return list(argv)

    def started(self, pid: int) -> None:
        self._pid = pid

    def terminate(self) -> None:
        _signal_group(self._pid, signal.SIGTERM)

    def kill(self) -> None:
        _signal_group(self._pid, signal.SIGKILL)

    def close(self) -> None:
        pass


class _Namespace(_Group):
    """SIGKILL to the group takes the namespace's first process with it, and so all the rest."""

    mechanism: Mechanism = "namespace"

    def wrap(self, argv: Sequence[str]) -> list[str]:
        return [*_NAMESPACE_COMMAND, "sh", "-c", '"$@"; exit $?', "sh", *argv]


class _Guard:
    """Commands go down a pipe; the pipe's end tells the guard that its holder is gone."""

    mechanism: Mechanism = "guard"

    def __init__(self) -> None:
        self._child_end, self._our_end = os.pipe()
        os.set_inheritable(self._child_end, True)

    @property
    def inherited_fds(self) -> tuple[int, ...]:
        return (self._child_end,)

    def wrap(self, argv: Sequence[str]) -> list[str]:
        # Isolated and without site-packages: the guard needs neither, and starts in half the time.
        return [sys.executable, "-I", "-S", str(_GUARD), str(self._child_end), *argv]

    def started(self, pid: int) -> None:
        os.close(self._child_end)
        self._child_end = -1

    def terminate(self) -> None:
        self._send(b"T")

    def kill(self) -> None:
        self._send(b"K")

    def close(self) -> None:
        for fd in (self._child_end, self._our_end):
            if fd >= 0:
                os.close(fd)
        self._child_end = self._our_end = -1

    def _send(self, command: bytes) -> None:
        if self._our_end >= 0:
            with suppress(BrokenPipeError):  # the guard has ended, and with it everything below
                os.write(self._our_end, command)


_NAMESPACE_COMMAND = (
    *("setpriv", "--pdeathsig", "KILL"),
    *("unshare", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"),
)

_MECHANISMS: dict[Mechanism, type[_Group] | type[_Guard]] = {
    "namespace": _Namespace,
    "guard": _Guard,
    "none": _Group,
}


def choose_mechanism(choice: Choice = "auto") -> Mechanism:
    """What to use here; raises SettingsError when the setting asks for what this machine cannot do."""
    if choice == "auto":
        # In a user namespace ssh and setuid programs fail, so only root gets the namespace unasked.
        if os.geteuid() == 0 and namespace_works():
            return "namespace"
        return "guard" if sys.platform == "linux" else "none"
    if choice == "namespace" and not namespace_works():
        raise SettingsError(
            'subagents.containment is "namespace", but this machine does not allow it '
            '(needs root, setpriv and unshare); set it to "auto" or "guard"'
        )
    return choice


def contain(mechanism: Mechanism) -> Containment:
    """A fresh containment for one agent."""
    return _MECHANISMS[mechanism]()


@cache
def namespace_works() -> bool:
    """Whether a process can be started in a PID namespace of its own."""
    if not (shutil.which("setpriv") and shutil.which("unshare")):
        return False
    try:
        probe = subprocess.run(
            [*_NAMESPACE_COMMAND, "true"], capture_output=True, timeout=_PROBE_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return probe.returncode == 0


def _signal_group(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # the group is gone already
        os.killpg(pid, number)
