"""The `pi-subagents` command."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from pi_subagents.lazy import names_from, without

if TYPE_CHECKING:
    from pi_subagents.surfaces.cli.app import main

__all__ = ["main", "run_program"]

__getattr__ = names_from(__name__, {"app": "main"})

_COLLECT_AFTER = 20_000


def run_program() -> None:
    """Run the command as a process of its own."""
    # What is loaded stays: with the usual threshold the collector would look through all of it a dozen times meanwhile.
    gc.set_threshold(_COLLECT_AFTER)
    # Only what starts agents at once: hosts are answered before msgspec is loaded.
    if sys.argv[1:2] in (["call"], ["run"]):
        with without("typing_extensions"):  # msgspec prefers it to what Python has by now
            import msgspec  # noqa: F401
    from pi_subagents.surfaces.cli.process import leave

    try:
        _main_of(sys.argv[1:])()
    except SystemExit as ended:
        leave(ended.code)


def _main_of(arguments: list[str]) -> Callable[[], object]:
    """What runs these words: a program that calls a tool needs no parser."""
    if _is_plain_call(arguments):
        from pi_subagents.surfaces.cli.calling import main as call_tool

        return call_tool
    from pi_subagents.surfaces.cli.app import main

    if arguments[:1] == ["run"]:
        with without("ssl"):  # agents are not spoken to over TLS
            import asyncio  # noqa: F401
    return main


def _is_plain_call(arguments: list[str]) -> bool:
    """Whether they are `call TOOL [ARGUMENTS]`, without an option."""
    if "_PI_SUBAGENTS_COMPLETE" in os.environ or arguments[:1] != ["call"] or len(arguments) not in (2, 3):
        return False
    return not any(word.startswith("-") and word != "-" for word in arguments)
