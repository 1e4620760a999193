"""`mcp`, `bridge`, `watch` and `pi`: the commands that hand over to another surface, or to another program."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from pi_subagents.errors import InvalidCall
from pi_subagents.paths import agent_dir
from pi_subagents.surfaces.cli.options import Duration
from pi_subagents.surfaces.cli.output import echo, print_json
from pi_subagents.surfaces.cli.process import require_open_streams
from pi_subagents.text.harmless import wants_colours

if TYPE_CHECKING:
    from pi_subagents.place import Place

_DEFAULT_SILENCE = "30s"
_MIN_SILENCE_S = 1.0
"""A client that is asked more often than that has no time to answer."""


@click.command()
@click.option("--http", "address", metavar="HOST:PORT", help="Serve over HTTP instead, at http://HOST:PORT/mcp.")
@click.option("--tools", metavar="NAME,…", help="Serve only these tools.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --http: require the token in this file instead of a generated one.",
)
@click.option(
    "--no-token", is_flag=True, help="With --http: require no token; any user or program here can start agents."
)
@click.option(
    "--silence",
    type=Duration(),
    default=_DEFAULT_SILENCE,
    show_default=True,
    help="With --http: stop the calls of a client that has been silent for this long (at least 1s); 0 disables this.",
)
def mcp(address: str | None, tools: str | None, token_file: Path | None, no_token: bool, silence: float) -> None:
    """Serve the tools to an MCP client, over standard input and output or over HTTP.

    Clients start it themselves once 'pi-subagents install mcp --client NAME' has configured them. Logs go to standard
    error and to subagents/mcp.log in the agent directory.
    """
    if address is None and (token_file is not None or no_token):
        option = "--no-token" if no_token else "--token-file"
        raise InvalidCall(f"{option} needs --http; over standard input and output there is only one client")
    if no_token and token_file is not None:
        raise InvalidCall("--token-file and --no-token cannot be used together")
    if 0 < silence < _MIN_SILENCE_S:
        raise InvalidCall(f"--silence must be 0 (never) or at least {_MIN_SILENCE_S:g} second, not {silence:g}")
    names, log = _chosen(tools), _log_file("mcp.log")
    if address is None:
        _check_streams()
        from pi_subagents.surfaces.mcp.handshake import serve_stdio

        _exit_after(lambda: serve_stdio(names, lambda: _log_to(log)))
    _log_to(log)
    _serve_http(address, names, token_file, no_token, silence)


def _serve_http(address: str, names: list[str] | None, token_file: Path | None, no_token: bool, silence: float) -> None:
    from pi_subagents.surfaces.mcp.http import TOKEN_FILE, make_token, parse_address, read_token, serve_http

    where = parse_address(address)
    file = token_file or agent_dir() / "subagents" / TOKEN_FILE
    asks = not no_token and (token_file is not None or where.is_loopback)  # elsewhere nobody is served by default
    is_new = asks and token_file is None and make_token(file)
    token = read_token(file) if asks else None

    def announce(url: str) -> None:
        echo(f"serving on {url}", err=True)
        _explain_token(url, file, token if is_new or token is None else f"<the token in {file}>")

    _exit_after(lambda: serve_http(where, names, token, silence or None, announce))


def _explain_token(url: str, file: Path, token: str | None) -> None:
    """Say how clients get in; the token itself only once, when it has just been made."""
    if token is None:
        echo("warning: without a token every user and every program on this machine can start agents as you", err=True)
        return
    headers = {"Authorization": f"Bearer {token}"}
    entry = {"mcpServers": {"pi-subagents": {"type": "http", "url": url, "headers": headers}}}
    echo(f"clients need the token in {file}; most accept these lines in their configuration:", err=True)
    print_json(entry, err=True)


def _chosen(tools: str | None) -> list[str] | None:
    """The tools that are asked for; None, and nothing loaded for it, if no choice was made."""
    if tools is None:
        return None
    from pi_subagents.tools import TOOLS

    names = [name.strip() for name in tools.split(",") if name.strip()]
    unknown = [name for name in names if name not in TOOLS]
    if unknown or not names:
        raise InvalidCall(f"--tools: unknown: {', '.join(unknown) or '(none given)'}; choose from {', '.join(TOOLS)}")
    return names


def _check_streams() -> None:
    """See that there can be a client, and tell a person at a terminal that there is none."""
    require_open_streams("an MCP client")
    if sys.stdin.isatty():
        echo(
            "hint: waiting for an MCP client on standard input; press Ctrl+C to quit. "
            "To have a client start this itself: pi-subagents install mcp --client NAME",
            err=True,
        )


@click.command()
def bridge() -> None:
    """Serve the extension that 'pi-subagents install pi' adds to pi, over standard input and output.

    pi starts it with every session, and it ends with the session. Logs go to subagents/bridge.log in the agent
    directory.
    """
    require_open_streams("pi")
    from pi_subagents.surfaces.bridge import serve

    _exit_after(lambda: serve(lambda: _log_to(_log_file("bridge.log"))))


def _exit_after(serve: Callable[[], int]) -> NoReturn:
    try:
        sys.exit(serve())
    except KeyboardInterrupt:  # nobody had said a word yet
        sys.exit(130)


def _log_file(name: str) -> Path:
    return agent_dir() / "subagents" / name


def _log_to(path: Path) -> None:
    from pi_subagents.surfaces.cli.logs import log_to_file_too

    log_to_file_too(path)


@click.command()
@click.option("--project", "only_project", is_flag=True, help="Show only the current project's runs.")
def watch(only_project: bool) -> None:
    """Watch running and recent runs on this machine, full-screen, whoever started them; ? lists the keys.

    You can start, steer, stop and resume agents there. Leaving does not stop any run.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):  # textual draws on standard error
        raise InvalidCall("watch needs a terminal; 'pi-subagents sessions list --all' lists the runs without one")
    if wants_colours(os.environ):
        os.environ.pop("NO_COLOR", None)  # textual would obey an empty one, too
    from pi_subagents.place import Place
    from pi_subagents.processes.interrupts import Interrupted, run_until_signalled
    from pi_subagents.surfaces.watch import watch as watch_runs

    place = Place.here()
    try:
        run_until_signalled(watch_runs(place, place.project if only_project else None))
    except Interrupted as signal:
        sys.exit(signal.exit_code)


class _Untouched(click.Command):
    """Takes every argument as it is, `--help` and `--` included."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.args = list(args)
        return []


@click.command(cls=_Untouched, options_metavar="[ARGUMENTS OF PI]...", add_help_option=False)
@click.pass_context
def pi(ctx: click.Context) -> None:
    """Start the pi that sub-agents use, with its own Node and your agent directory.

    Type /login there to add a key or a subscription; sub-agents use it too. All arguments are passed on to pi.
    """
    from pi_subagents.place import Place
    from pi_subagents.processes.foreground import become

    argv, environ = terminal_launch(Place.here())
    become([*argv, *ctx.args], environ)


def terminal_launch(place: Place) -> tuple[tuple[str, ...], dict[str, str]]:
    """How a person starts the pi that sub-agents use: its words and its environment; raises AgentNotFound."""
    from pi_subagents.harness.pi.programs import child_environ, find_pi

    program = find_pi(place.settings().pi_command, place.environ)
    return program.argv, child_environ(place.environ, place.agent_dir)
