"""Ways to make sure that nothing an agent started outlives the process that holds its run.

A death signal alone does not reach grandchildren, and a process group does not hold what daemonises itself.
Two mechanisms do:

- `namespace`: the agent lives in a PID namespace of its own, and the kernel kills all of it with its first process.
  A one-line shell is that first process, because PID 1 ignores SIGTERM until it has a handler and must reap orphans.
- `guard`: a small process is the sub-reaper of everything below it and kills all of it when its pipe to us breaks.

The exit of the wrapper means that no descendant is left, unless it was killed: then a namespace may take a moment
longer, and what a guard guarded comes to us. `sweep` sees to both.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import weakref
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Literal

from pi_subagents.errors import SettingsError
from pi_subagents.processes.query import ask
from pi_subagents.runners import orphans

Mechanism = Literal["namespace", "guard", "none"]
Choice = Literal["auto", "namespace", "guard", "none"]

_GUARD = Path(__file__).with_name("guard.py")
_PROBE_TIMEOUT_S = 5.0


class Containment:
    """Wraps a command line and knows how to end what runs in it.

    Here the process group is all there is to hold on to; what leaves it is not found again.
    """

    mechanism: Mechanism = "none"
    inherited_fds: tuple[int, ...] = ()
    _pid = 0

    def wrap(self, argv: Sequence[str]) -> list[str]:
        return list(argv)

    def started(self, pid: int) -> None:
        """Called once, right after the wrapper exists."""
        self._pid = pid

    def terminate(self) -> None:
        _signal_group(self._pid, signal.SIGTERM)

    def kill(self) -> None:
        _signal_group(self._pid, signal.SIGKILL)

    def sweep(self) -> list[int]:
        """End what outlived the wrapper; what was found at this look, of which some may not be gone yet."""
        return []

    def close(self) -> None:
        """Nothing is left."""


class _OnLifeline(Containment):
    """Our end of a pipe is open as long as we live and want the agent to live; the wrapper has the other one."""

    def __init__(self) -> None:
        child_end, self._our_end = os.pipe()
        os.set_inheritable(child_end, True)
        self.inherited_fds = (child_end,)
        _open.add(self)

    def started(self, pid: int) -> None:
        super().started(pid)
        os.close(self.inherited_fds[0])
        self.inherited_fds = ()

    def close(self) -> None:
        """Harmless when called twice."""
        self.let_go()

    def let_go(self) -> None:
        """From here on the wrapper takes us for dead."""
        for fd in (*self.inherited_fds, self._our_end):
            if fd >= 0:
                os.close(fd)
        self.inherited_fds, self._our_end = (), -1

    def _send(self, command: bytes) -> None:
        if self._our_end >= 0:
            with suppress(BrokenPipeError):  # the wrapper has ended, and with it everything below
                os.write(self._our_end, command)


_open: weakref.WeakSet[_OnLifeline] = weakref.WeakSet()


def _forget_in_child() -> None:
    # A child forked without exec has our end too, and while it lives nobody would notice that we died.
    for containment in list(_open):
        containment.let_go()


os.register_at_fork(after_in_child=_forget_in_child)


class _Namespace(_OnLifeline):
    """SIGKILL to the group takes the namespace's first process with it, and so all the rest."""

    mechanism: Mechanism = "namespace"

    def __init__(self) -> None:
        super().__init__()
        self._killed: dict[int, int] = {}
        """The first process, once it was killed, with a descriptor that tells when it and all others are gone."""

    def wrap(self, argv: Sequence[str]) -> list[str]:
        lifeline = f"/proc/self/fd/{self.inherited_fds[0]}"
        return [*_NAMESPACE_COMMAND, "sh", "-c", _FIRST_PROCESS, "sh", lifeline, *argv]

    def terminate(self) -> None:
        # The first process ignores SIGTERM, so before it has the agent as a child nobody is there to heed it.
        if self._has_agent():
            super().terminate()
        else:
            self.kill()

    def kill(self) -> None:
        with suppress(OSError):  # it is ending at this moment, or this kernel does not list children
            for first in _children_of(self._pid):
                if first not in self._killed:
                    self._killed[first] = os.pidfd_open(first)
        super().kill()

    def sweep(self) -> list[int]:
        return [first for first, pidfd in self._killed.items() if not _is_readable(pidfd)]

    def close(self) -> None:
        super().close()
        while self._killed:
            os.close(self._killed.popitem()[1])

    def _has_agent(self) -> bool:
        try:
            return any(len(_children_of(first)) > 1 for first in _children_of(self._pid))
        except OSError:  # as above
            return True


class _Guard(_OnLifeline):
    """Commands go down the lifeline; its end tells the guard that its holder is gone."""

    mechanism: Mechanism = "guard"

    def __init__(self) -> None:
        super().__init__()
        self._adoption = orphans.Adoption()

    def wrap(self, argv: Sequence[str]) -> list[str]:
        # Isolated and without site-packages: the guard needs neither, and starts in half the time.
        guard = [sys.executable, "-I", "-S", str(_GUARD)]
        return [*guard, str(self.inherited_fds[0]), str(orphans.new_mark()), *argv]

    def terminate(self) -> None:
        self._tell(b"T")

    def kill(self) -> None:
        self._tell(b"K")

    def sweep(self) -> list[int]:
        return orphans.sweep()

    def close(self) -> None:
        super().close()
        self._adoption.end()

    def _tell(self, command: bytes) -> None:
        self._send(command)
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGCONT)  # its agent may have stopped it


_NAMESPACE_COMMAND = (
    *("setpriv", "--pdeathsig", "KILL"),
    *("unshare", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"),
)

# Death signals are not set yet while the wrapper starts, so a holder that dies then is noticed by a second process at
# the end of its lifeline. It may be there before the agent is, hence the `until`.
# A shell says "Terminated" when what it waits for was killed; that is not the agent's to say, so it has no stderr then.
# The agent gets its own in a subshell: dash would redirect a plain command's in itself, until the command has ended.
_FIRST_PROCESS = """lifeline=$1; shift
{ trap '' TERM; read -r _; until kill -KILL -1; do :; done; } <"$lifeline" >/dev/null 2>&1 &
exec 3>&2 2>/dev/null
(exec "$@" 2>&3 3>&-); exit $?"""

_MECHANISMS = {kind.mechanism: kind for kind in (_Namespace, _Guard, Containment)}


def choose_mechanism(choice: Choice = "auto") -> Mechanism:
    """What to use here; raises SettingsError when the setting asks for what this machine cannot do."""
    if choice == "auto":
        # In a user namespace ssh and setuid programs fail, so only root gets the namespace unasked.
        if wants_namespace(choice) and namespace_works():
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
    return _known_to_work or ask([*_NAMESPACE_COMMAND, "true"], environ=os.environ, timeout_s=_PROBE_TIMEOUT_S).ok


_known_to_work = False


def take_namespace_for_granted() -> None:
    """From now on `namespace_works` does not try it: an earlier process has, under the same conditions."""
    global _known_to_work
    _known_to_work = True


def take_nothing_for_granted() -> None:
    """From now on `namespace_works` tries it again."""
    global _known_to_work
    _known_to_work = False
    namespace_works.cache_clear()


NAMESPACE_PROGRAMS = ("setpriv", "unshare", "sh")


def namespace_conditions() -> str:
    """What decides whether a PID namespace can be made, besides the programs: this boot of the machine, who we are,
    what we are allowed, and in which container."""
    status = Path("/proc/self/status").read_text().splitlines()
    rights = [line for line in status if line.startswith(("Uid:", "Gid:", "Cap", "NoNewPrivs:", "Seccomp"))]
    spaces = [str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("user", "pid", "pid_for_children", "mnt")]
    files = ("/proc/sys/kernel/random/boot_id", "/proc/sys/user/max_pid_namespaces", "/proc/self/attr/current")
    return "\n".join([*rights, *spaces, *map(_text_of, files)])


def _text_of(path: str) -> str:
    with suppress(OSError):  # no such security module, say
        return Path(path).read_text(errors="replace")
    return ""


def wants_namespace(choice: Choice) -> bool:
    """Whether it matters here if one can be made."""
    return choice == "namespace" or (choice == "auto" and os.geteuid() == 0)


def _is_readable(fd: int) -> bool:
    look = select.poll()  # a number beyond 1023 is too large for `select`
    look.register(fd, select.POLLIN)
    return bool(look.poll(0))


def _children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _signal_group(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # the group is gone already
        os.killpg(pid, number)
