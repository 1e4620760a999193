"""Starting the programs of background runs, as processes that outlive us."""

from __future__ import annotations

from pi_subagents.runners.detached import start_detached

_KEEPER = "pi_subagents.background.keeper"
_QUEUE = "pi_subagents.background.queue"


def start_keeper(lease: int, order: int, slot: int) -> None:
    """Start a keeper that inherits a run's lease, its order, and its slot (-1 for none)."""
    start_detached(_KEEPER, [str(lease), str(order), str(slot)], (lease, order, slot))


def start_queue(listener: int, agent_dir: str, limit: int) -> None:
    """Start a queue that inherits the socket on which it listens."""
    start_detached(_QUEUE, [str(listener), agent_dir, str(limit)], (listener,))
