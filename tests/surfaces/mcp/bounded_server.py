"""The server over HTTP with other bounds than the usual ones: a program for `test_connections`.

Its arguments are a file for the log, the bounds and the limit of descriptors as JSON, and the token.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from pi_subagents.surfaces.cli.logs import log_to_file_too
from pi_subagents.surfaces.mcp.connections import Bounds
from pi_subagents.surfaces.mcp.http import Address, serve_http


def main() -> None:
    """Serve, and print the address."""
    log, bounds, descriptors, token = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(descriptors), int(descriptors)))
    log_to_file_too(Path(log))
    tell = lambda url: print(url, flush=True)  # noqa: E731, T201
    serve_http(Address("127.0.0.1", 0), None, token or None, None, tell, Bounds(**json.loads(bounds)))


if __name__ == "__main__":
    main()
