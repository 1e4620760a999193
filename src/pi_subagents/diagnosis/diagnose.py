"""All checks, made at the same time because some of them wait for programs to start."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from pi_subagents.diagnosis.agent import check_python
from pi_subagents.diagnosis.configuration import (
    check_containment,
    check_power,
    check_presets,
    check_profiles,
    check_settings,
    check_trust,
)
from pi_subagents.diagnosis.directories import check_agent_dir, check_privacy
from pi_subagents.diagnosis.extension import check_extension
from pi_subagents.diagnosis.finding import Check
from pi_subagents.diagnosis.records import check_records, check_unfinished_runs
from pi_subagents.diagnosis.situation import Situation
from pi_subagents.harness import Harness, InspectionCheck
from pi_subagents.models.finding import Finding
from pi_subagents.place import Place

_CHECKS: tuple[Check, ...] = (
    check_containment,
    check_agent_dir,
    check_privacy,
    check_records,
    check_unfinished_runs,
    check_settings,
    check_profiles,
    check_presets,
    check_power,
    check_trust,
    check_extension,
)


def diagnose(place: Place, harness: Harness | None = None) -> Iterator[Finding]:
    """Every finding, in the order of the checks, each as soon as it is known; those of the harness come early."""
    situation = Situation.at(place, harness)
    checks = (check_python, *map(_of_harness, situation.harness.checks()), *_CHECKS)
    with ThreadPoolExecutor(max_workers=len(checks)) as pool:
        for findings in pool.map(lambda check: list(check(situation)), checks):
            yield from findings


def _of_harness(check: InspectionCheck) -> Check:
    return lambda situation: check(situation.inspection)
