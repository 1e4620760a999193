"""`doctor`: is everything here that sub-agents need?"""

from __future__ import annotations

import os
import sys

import click

from pi_subagents.diagnosis import Finding, diagnose
from pi_subagents.harmless import clean
from pi_subagents.planning import Place
from pi_subagents.surfaces.cli.json_output import print_json
from pi_subagents.surfaces.cli.output import echo_painted

_COLOURS = {"✓": "green", "✗": "red", "!": "yellow"}
_NAME_WIDTH = 15


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a list of {check, ok, needed, detail, hint}.")
def doctor(as_json: bool) -> None:
    """Check what sub-agents need on this machine and in this directory: one line each, with what to do.

    \b
    ✓  in order
    !  works without, but you should know
    ✗  needed and missing: exit code 1
    """
    findings = []
    for finding in diagnose(Place.here()):
        findings.append(finding)
        if not as_json:
            _print(finding)
    if as_json:
        print_json([finding.to_json() for finding in findings])
    sys.exit(1 if any(finding.needed and not finding.ok for finding in findings) else 0)


def _print(finding: Finding) -> None:
    mark = click.style(finding.mark, fg=_COLOURS[finding.mark])
    hint = f"  → {finding.hint}" if finding.hint else ""
    line = clean(f"{finding.check:<{_NAME_WIDTH}} {finding.detail}{hint}")
    echo_painted(f"{mark} {line}", color=False if "NO_COLOR" in os.environ else None)
