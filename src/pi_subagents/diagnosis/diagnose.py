"""All checks, made at the same time because some of them wait for programs to start."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pi_subagents.diagnosis.agents import about, agent_checks
from pi_subagents.diagnosis.configuration import (
    check_containment,
    check_extension,
    check_power,
    check_profiles,
    check_settings,
    check_trust,
)
from pi_subagents.diagnosis.directories import check_agent_dir, check_privacy, check_records, check_unfinished_runs
from pi_subagents.diagnosis.idle import check_idle_agents
from pi_subagents.harness import Harness, Inspection, InspectionCheck, agent_of, harness_named
from pi_subagents.models.finding import Finding
from pi_subagents.paths import tilde
from pi_subagents.place import Place
from pi_subagents.processes.query import ask

_CHECKS: tuple[InspectionCheck, ...] = (
    check_containment,
    check_agent_dir,
    check_privacy,
    check_records,
    check_unfinished_runs,
    check_settings,
    check_profiles,
    check_power,
    check_trust,
    check_extension,
    check_idle_agents,
)
_MINIMUM_PYTHON = (3, 11)


def inspection_of(place: Place) -> Inspection:
    """What all checks look at; nothing is started for it."""
    return Inspection(place, place.settings(), ask)


def diagnose(place: Place, harness: Harness | None = None) -> Iterator[Finding]:
    """Every finding, in the order of the checks, each as soon as it is known; those of the harness come early.

    The harness is that of the settings, unless told otherwise. Other agents come last: some of them start slowly.
    """
    inspection = inspection_of(place)
    harness = harness or harness_named(inspection.settings.harness_name)
    own = (about(agent_of(harness.name), check) for check in harness.checks())
    checks = (check_python, *own, *_CHECKS, *agent_checks(inspection, harness))
    with ThreadPoolExecutor(max_workers=len(checks)) as pool:
        for findings in pool.map(lambda check: list(check(inspection)), checks):
            yield from findings


def check_python(_inspection: Inspection) -> Iterator[Finding]:
    """The Python this runs on."""
    ok = sys.version_info >= _MINIMUM_PYTHON
    wanted = "" if ok else f"install Python {'.'.join(map(str, _MINIMUM_PYTHON))} or newer"
    yield Finding("python", ok, f"{platform.python_version()} ({tilde(Path(sys.executable))})", wanted, needed=True)
