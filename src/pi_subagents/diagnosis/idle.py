"""What hosts on this machine keep running although no task needs it."""

from __future__ import annotations

from collections.abc import Iterator

from pi_subagents.clock import now_ms
from pi_subagents.harness import Inspection
from pi_subagents.models.finding import Finding
from pi_subagents.runs.idle_agents import idle_agent_lines

_CHECK = "idle agents"


def check_idle_agents(inspection: Inspection) -> Iterator[Finding]:
    """Agent processes that wait for the next task of their host; nothing is wrong with them, nor with none."""
    lines = idle_agent_lines(inspection.place.agent_dir, now_ms())
    for line in lines:
        yield Finding(_CHECK, True, line)
    if not lines:
        yield Finding(_CHECK, True, "none: no host keeps an agent process for its next task", is_absent=True)
