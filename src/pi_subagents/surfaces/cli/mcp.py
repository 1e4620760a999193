"""`mcp`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import click

from pi_subagents.errors import InvalidCall
from pi_subagents.paths import agent_dir
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.surfaces.cli.process import require_open_streams

_DEFAULT_SILENCE_S = 30.0
_MIN_SILENCE_S = 1.0
"""A client that is asked more often than that has no time to answer."""


@click.command()
@click.option("--http", "address", metavar="HOST:PORT", help="Serve over HTTP instead, at http://HOST:PORT/mcp.")
@click.option("--tools", metavar="NAME,…", help="Serve only these tools.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Over HTTP: ask every client for the token in this file.",
)
@click.option(
    "--silence",
    metavar="SECONDS",
    type=float,
    default=_DEFAULT_SILENCE_S,
    show_default=True,
    help="Over HTTP: stop the calls of a client that has not answered for so long (1 or more); 0 never does.",
)
def mcp(address: str | None, tools: str | None, token_file: Path | None, silence: float) -> None:
    """Offer the tools to an MCP client: over standard input and output, or over HTTP.

    Clients start it themselves; 'pi-subagents install mcp --client NAME' tells them how. It logs to standard error and
    to subagents/mcp.log in the agent directory.
    """
    if find_spec("mcp_types") is None:  # an SDK older than version 2 has none
        raise InvalidCall("mcp needs version 2 of the MCP SDK, which is not installed: pip install 'pi-subagents[mcp]'")
    if address is None and token_file is not None:
        raise InvalidCall("--token-file is for --http; over standard input and output there is only one client")
    if silence != 0 and not silence >= _MIN_SILENCE_S:  # in these words it is true of what is no number, too
        raise InvalidCall(f"--silence is {silence:g}; say 0 for never, or at least {_MIN_SILENCE_S:g} second")
    from pi_subagents.surfaces.cli.logs import log_to_file_too

    names = _chosen(tools)
    log = agent_dir() / "subagents" / "mcp.log"
    if address is None:
        _check_streams()
        from pi_subagents.surfaces.mcp.stdio import serve_stdio

        _until_signalled(lambda: serve_stdio(names, lambda: log_to_file_too(log)))
        return
    log_to_file_too(log)
    from pi_subagents.surfaces.mcp.http import parse_address, read_token, serve_http

    token = read_token(token_file) if token_file else None
    where = parse_address(address)
    _until_signalled(lambda: serve_http(where, names, token, silence or None, _announce))


def _chosen(tools: str | None) -> list[str] | None:
    """The tools that are asked for; None, and nothing loaded for it, if no choice was made."""
    if tools is None:
        return None
    from pi_subagents.tools import TOOLS

    names = [name.strip() for name in tools.split(",") if name.strip()]
    unknown = [name for name in names if name not in TOOLS]
    if unknown or not names:
        raise InvalidCall(f"--tools: {', '.join(unknown) or 'no tool'} is not among {', '.join(TOOLS)}")
    return names


def _check_streams() -> None:
    """See that there can be a client, and tell a person at a terminal that there is none."""
    require_open_streams("an MCP client")
    if sys.stdin.isatty():
        echo(
            "hint: this waits for an MCP client on standard input; Ctrl+C ends it. Clients start it themselves: "
            "pi-subagents install mcp --client NAME",
            err=True,
        )


def _announce(url: str) -> None:
    echo(f"serving on {url}", err=True)


def _until_signalled(serve: Callable[[], None]) -> None:
    from pi_subagents.runners import Interrupted

    try:
        serve()
    except Interrupted as interrupted:
        sys.exit(interrupted.exit_code)
    except KeyboardInterrupt:  # nobody had said a word yet
        sys.exit(130)
