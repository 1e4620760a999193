"""What a program does before it begins, for `preexec_fn`; a warm one can do these too."""

from __future__ import annotations

import fcntl
import resource
import termios

_MAX_MEMORY_BYTES = 3 << 29
_MAX_FILE_BYTES = 256 << 20


def be_limited() -> None:
    """Whoever reads /dev/zero to its end shall fail alone, and not take the machine along."""
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MAX_FILE_BYTES, _MAX_FILE_BYTES))


def own_terminal() -> None:
    """For the leader of a session: take standard input as its terminal: Ctrl+C is a signal then, as for people."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def be_limited_at_terminal() -> None:
    """Both of them."""
    be_limited()
    own_terminal()
