"""Which Node a `pi` really runs on: the one its first line or its launcher script names, or none at all."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

_HEAD_BYTES = 4096


def node_command(argv: Sequence[str], path: str) -> str | None:
    """The `node` that a command line for pi starts; None if it starts a compiled program that needs none."""
    if Path(argv[0]).name == "node":
        return argv[0]
    found = shutil.which(argv[0], path=path)
    head = _head(Path(found)) if found else "#!"
    if not head.startswith("#!"):
        return None
    return next(_nodes_named_in(head.removeprefix("#!")), "node")


def _head(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return stream.read(_HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return "#!"


def _nodes_named_in(script: str) -> Iterator[str]:
    for line in script.splitlines():
        try:
            words = shlex.split(line)
        except ValueError:  # the script's own text, or a line that was cut
            continue
        # A path with a variable in it can only be known by running the script.
        yield from (word for word in words if Path(word).name == "node" and "$" not in word)
