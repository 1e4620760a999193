"""Starting the programs of background runs, as processes that outlive us."""

from __future__ import annotations

from pi_subagents.runners.detached import start_detached

_KEEPER = "pi_subagents.background.keeper"
_PORTER = "pi_subagents.background.porter"


def start_keeper(lease: int, order: int, slot: int) -> None:
    """Start a keeper that inherits a run's lease, its order, and its place (-1 for none)."""
    start_detached(_KEEPER, [str(lease), str(order), str(slot)], (lease, order, slot))


def start_porter(door: int, agent_dir: str, limit: int) -> None:
    """Start a porter that inherits its open door."""
    start_detached(_PORTER, [str(door), agent_dir, str(limit)], (door,))
