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


def be_limited_at_terminal() -> None:
    """The same for the leader of a session whose terminal is standard input."""
    be_limited()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
