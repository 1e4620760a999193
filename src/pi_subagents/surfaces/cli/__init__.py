"""The `pi-subagents` command."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from pi_subagents.lazy import names_from

if TYPE_CHECKING:
    from pi_subagents.surfaces.cli.app import main

__all__ = ["main", "run_program"]

__getattr__ = names_from(__name__, {"app": "main"})

_COLLECT_AFTER = 20_000


def run_program() -> None:
    """Run the command as a process of its own."""
    # What is loaded stays: with the usual threshold the collector would look through all of it a dozen times meanwhile.
    gc.set_threshold(_COLLECT_AFTER)
    from pi_subagents.surfaces.cli.app import main
    from pi_subagents.surfaces.cli.process import leave

    try:
        main()
    except SystemExit as ended:
        leave(ended.code)
