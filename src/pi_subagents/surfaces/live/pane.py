"""The program in a tmux pane: the keeper of one foreground run, with the run's live window on the pane's terminal.

It gets lease and order from whoever asked for the run, over a socket. A closed pane stops the run, and so does the end
of whoever asked for it.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

from pi_subagents.background.keeper import receive, see_through, supervise
from pi_subagents.processes.interrupts import Interrupted, run_until_signalled
from pi_subagents.settings import load_settings
from pi_subagents.surfaces.live.view import LiveView, OneRun

_CONNECT_S = 10.0


def main() -> None:
    """Keep the run that is handed over at the socket named on the command line."""
    try:
        run_until_signalled(_keep(sys.argv[-1]))
    except Interrupted as interrupted:
        sys.exit(interrupted.exit_code)


async def _keep(address: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_CONNECT_S)
        connection.connect(address)
        lease, order = receive(connection)
        view = LiveView()
        supervisor = supervise(order, lease, view.observe)
        loop = asyncio.get_running_loop()

        def asker_is_gone() -> None:
            loop.remove_reader(connection)
            supervisor.stop()

        loop.add_reader(connection, asker_is_gone)

        async def tell(text: str) -> str | None:
            return supervisor.steer(text)

        settings = load_settings(Path(order.project), Path(order.agent_dir))
        async with view.showing(OneRun(supervisor.state, settings, supervisor.stop, tell)):
            await see_through(order, supervisor)
        loop.remove_reader(connection)


if __name__ == "__main__":  # as programs of 0.1.0 that are still running start it after an upgrade
    main()
