"""Checks of agents other than the default: installed ones are asked, the rest only listed. None of them is needed."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pi_subagents.errors import AgentNotFound
from pi_subagents.harness import AGENTS, Harness, Inspection, InspectionCheck, agent_of
from pi_subagents.harness.programs import PACKAGES, is_named
from pi_subagents.harness.table import harness_for_agent
from pi_subagents.models.finding import Finding


def agent_checks(inspection: Inspection, default: Harness) -> Iterator[InspectionCheck]:
    """The checks of all installed agents, and one check for those that are not installed."""
    missing = []
    for name in AGENTS:
        if name == agent_of(default.name):
            continue
        harness = harness_for_agent(name, inspection.settings.harness_name)
        try:
            harness.find_program(inspection.place, inspection.settings)
            is_here = True
        except AgentNotFound:
            is_here = is_named(name, inspection.place.environ)
        if not is_here:
            missing.append(name)
        else:
            yield from (about(name, check, is_needed=False) for check in harness.checks())
    yield lambda _inspection: _missing([name for name in missing if name in PACKAGES])


def about(agent: str, check: InspectionCheck, *, is_needed: bool = True) -> InspectionCheck:
    """The check, with findings that say which agent they are about."""

    def findings(inspection: Inspection) -> Iterator[Finding]:
        for finding in check(inspection):
            yield msgspec.structs.replace(finding, agent=agent, needed=finding.needed and is_needed)

    return findings


def _missing(names: list[str]) -> Iterator[Finding]:
    if names:
        hint = "to install one: pi-subagents install-agent NAME"
        yield Finding("other agents", True, f"not installed: {', '.join(names)}", hint, is_absent=True)
