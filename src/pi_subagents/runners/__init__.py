"""Where agent processes live. The only code that starts processes or sends signals."""

from pi_subagents.runners.containment import Mechanism, choose_mechanism, namespace_works
from pi_subagents.runners.contract import Process, Runner, Sink, SpawnFailed, Stream
from pi_subagents.runners.detached import collect_ended, start_keeper, start_porter
from pi_subagents.runners.footprint import Footprint, room_for_agents
from pi_subagents.runners.interrupts import Interrupted, run_until_signalled
from pi_subagents.runners.job_control import job_control
from pi_subagents.runners.local import LocalProcess, LocalRunner
from pi_subagents.runners.worker import Worker, fork_worker

__all__ = [
    "Footprint",
    "Interrupted",
    "LocalProcess",
    "LocalRunner",
    "Mechanism",
    "Process",
    "Runner",
    "Sink",
    "SpawnFailed",
    "Stream",
    "Worker",
    "choose_mechanism",
    "collect_ended",
    "fork_worker",
    "job_control",
    "namespace_works",
    "room_for_agents",
    "run_until_signalled",
    "start_keeper",
    "start_porter",
]
