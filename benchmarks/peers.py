"""Other programs that do the same tasks: any command, and two extensions of `pi` that goals compare us with.

The extensions are not part of this repository; docs/guides/benchmarks.md says how to get them.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from pi_subagents.offline import Call, Request, Turn

ORIGINAL = "original"
"""Starts a process for every task, as the engine does when it keeps none."""
QUICKEST = "quickest"
"""Works on all tasks within the process of the parent, which isolates them from nothing."""
PACKAGES = {ORIGINAL: "@harms-haus/pi-subagents", QUICKEST: "@tintinweb/pi-subagents"}
_DELEGATE = re.compile(r"Delegate (\d+) tasks")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Who else is to be measured."""
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND", help="measure this command too")
    packages = " and ".join(PACKAGES.values())
    parser.add_argument("--peers", type=Path, metavar="DIRECTORY", help=f"where npm has installed {packages}")


def named_commands(given: Iterable[str], taken: Sequence[str]) -> dict[str, str]:
    """`name=command` each; raises SystemExit for what is not, or has a name that is taken."""
    peers = {}
    for text in given:
        name, _, command = text.partition("=")
        peers[name] = command
        if not command.strip() or not name.strip() or name in taken:
            raise SystemExit(f'--peer needs "name=command", with a name other than {", ".join(taken)}; not {name!r}')
    return peers


def extensions(folder: Path | None) -> dict[str, str]:
    """The commands for those that are installed there; raises SystemExit if none is."""
    if folder is None:
        return {}
    entries = {name: folder.resolve() / "node_modules" / package for name, package in PACKAGES.items()}
    found = {
        name: f'{{pi}} -e {shlex.quote(str(path / "src" / "index.ts"))} -p "Delegate {{n}} tasks"'
        for name, path in entries.items()
        if path.is_dir()
    }
    if not found:
        raise SystemExit(f"--peers: neither {' nor '.join(PACKAGES.values())} is installed in {folder}")
    return found


def delegates(request: Request) -> bool:
    """Whether this is the conversation of a parent."""
    return _DELEGATE.match(request.first_user_text) is not None


def delegate(request: Request, prompt: str) -> Turn:
    """The parent's first answer: it hands out all tasks, with the tool that the extension brought."""
    found = _DELEGATE.match(request.first_user_text)
    names = [f"task {number}" for number in range(int(found[1]))] if found else []
    if "Agent" in request.tools:
        kind = "general-purpose"
        calls = [Call("Agent", {"prompt": prompt, "description": name, "subagent_type": kind}) for name in names]
        return Turn(calls=tuple(calls))
    return Turn(calls=(Call("delegate_to_subagents", {"tasks": [{"name": one, "prompt": prompt} for one in names]}),))
