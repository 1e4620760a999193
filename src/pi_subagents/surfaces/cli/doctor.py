"""`doctor`: is everything here that sub-agents need?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from shutil import get_terminal_size

import click

from pi_subagents.diagnosis import diagnose
from pi_subagents.harness import AGENTS, DEFAULT_AGENT
from pi_subagents.models.finding import Finding
from pi_subagents.place import Place
from pi_subagents.surfaces.cli.output import echo, echo_painted, echo_text, print_json, wrapped
from pi_subagents.text.harmless import clean

_COLOURS = {"✓": "green", "✗": "red", "!": "yellow", "-": None}
_NAME_WIDTH = 15
_INDENT = " " * (len("✓ ") + _NAME_WIDTH + 1)
_NARROW = 60
"""A terminal with fewer columns has no room for that indent."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a list of {check, ok, needed, detail, hint}.")
def doctor(as_json: bool) -> None:
    """Check that this machine and directory are ready for sub-agents: one line per check, with how to fix it.

    \b
    ✓  ok
    -  not found, and optional
    !  works, but needs a look
    ✗  required and missing: exit code 1, unless an agent can run without it
    """
    findings = []
    for finding in diagnose(Place.here()):
        findings.append(finding)
        if not as_json:
            print_finding(finding)
    if as_json:
        print_json([finding.to_json() for finding in findings])
        sys.exit(1 if _missing(findings) and not _ready_without(findings) else 0)
    sys.exit(print_verdict(findings))


def print_finding(finding: Finding) -> None:
    """One fact, in as many rows as it takes."""
    hint = f"  → {finding.hint}" if finding.hint else ""
    indent = _INDENT if get_terminal_size().columns >= _NARROW else _INDENT[:2]
    line = wrapped(clean(f"{finding.mark} {finding.check:<{_NAME_WIDTH}} {finding.detail}{hint}"), sys.stdout, indent)
    mark = click.style(finding.mark, fg=_COLOURS[finding.mark])
    echo_painted(f"{mark}{line.removeprefix(finding.mark)}")


def print_verdict(findings: Sequence[Finding]) -> int:
    """Whether sub-agents can work here, in a line; the exit code for it."""
    missing = ", ".join(_missing(findings))
    echo()
    if not missing:
        echo("Ready: sub-agents can run here.")
        return 0
    if ready := ", ".join(_ready_without(findings)):
        verdict = f"Ready for {ready} (`run --agent NAME`), but not for {DEFAULT_AGENT}: {missing}."
    else:
        verdict = f"Not ready: {missing}."
    echo_text(wrapped(f"{verdict} Fix the lines marked ✗.", sys.stdout))
    return 0 if ready else 1


def _ready_without(findings: Sequence[Finding]) -> list[str]:
    """The agents that can run although something is missing that another agent needs."""
    if any(finding.agent is None and finding.needed and not finding.ok for finding in findings):
        return []
    failing = {finding.agent for finding in findings if not finding.ok}
    return [name for name in AGENTS if name not in failing and any(finding.agent == name for finding in findings)]


def _missing(findings: Sequence[Finding]) -> list[str]:
    return list(dict.fromkeys(finding.check for finding in findings if finding.needed and not finding.ok))
