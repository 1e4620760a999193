"""Where agent processes live. The only code that starts processes or sends signals."""

from pi_subagents.runners.containment import Mechanism, choose_mechanism, namespace_works
from pi_subagents.runners.contract import (
    MachineSlots,
    Process,
    Runner,
    Sink,
    Slot,
    SlotLease,
    SlotRequest,
    SpawnFailed,
    Stream,
)
from pi_subagents.runners.local import Footprint, LocalProcess, LocalRunner, room_for_agents

__all__ = [
    "Footprint",
    "LocalProcess",
    "LocalRunner",
    "MachineSlots",
    "Mechanism",
    "Process",
    "Runner",
    "Sink",
    "Slot",
    "SlotLease",
    "SlotRequest",
    "SpawnFailed",
    "Stream",
    "choose_mechanism",
    "namespace_works",
    "room_for_agents",
]
