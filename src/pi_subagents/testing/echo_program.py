"""A tiny agent that is not like `pi` at all: plain lines out, and its exit code says whether the task is done.

It says back the lines of the file that it is given. `> tool argument` is the call of a tool, `fail CODE` complains and
exits with that code, and `wait` does nothing until somebody ends it. A program of its own that no module imports.
"""

from __future__ import annotations

import sys
import time

_NAP_S = 0.1
_LIFETIME_S = 600


def main() -> None:
    """Say the task back, line by line, or which version this is."""
    if sys.argv[1] == "--version":
        print("echo 1.0.0")  # noqa: T201 - it is what this program is for
        return
    with open(sys.argv[1], encoding="utf-8") as task:  # noqa: PTH123 - pathlib would double the start-up time
        for line in task.read().splitlines():
            _say(line)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201
    if line.startswith("fail "):
        sys.stderr.write("echo: the task says that it fails\n")
        sys.exit(int(line.removeprefix("fail ")))
    if line == "wait":
        _wait()


def _wait() -> None:
    end = time.monotonic() + _LIFETIME_S
    while time.monotonic() < end:
        time.sleep(_NAP_S)


if __name__ == "__main__":
    main()
