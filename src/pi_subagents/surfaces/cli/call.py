"""`call` and `tools`: the tools as a program sees them. Standard output carries one JSON document and nothing else."""

from __future__ import annotations

import sys

import click

from pi_subagents.surfaces.cli.calling import call_and_print
from pi_subagents.surfaces.cli.options import trust_option
from pi_subagents.surfaces.cli.output import print_json
from pi_subagents.tools import TOOLS


@click.command()
@click.argument("tool")
@click.argument("arguments", required=False, default="{}")
@trust_option
def call(tool: str, arguments: str, trust: bool) -> None:
    """Call TOOL with ARGUMENTS, a JSON object, or - to read it from standard input.

    Prints one JSON object {"content": [...], "details": {...}, "isError": false}; exit code 1 when isError.
    """
    sys.exit(call_and_print(tool, arguments, trust=trust))


@click.command()
def tools() -> None:
    """Print the tools' names, descriptions and JSON Schemas as one JSON document."""
    print_json([tool.to_json() for tool in TOOLS.values()])
