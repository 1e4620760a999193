"""What a reader of one delegation passes: `python -m benchmarks.walk [--list]`.

`call delegate_to_subagents` with the scripted agent, every function of ours in the order in which it is first called:
how many there are, in how many files, and how often the next one is in another file than the last.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.figures import Figure
from pi_subagents.testing import SCRIPTED_AGENT

_PACKAGE = Path(__file__).parents[1] / "src" / "pi_subagents"
_TASKS = {"tasks": [{"name": "hello", "prompt": "Say hello"}]}


def walk() -> list[tuple[str, str]]:
    """File and name of every function that one call passes, in order."""
    passed: dict[tuple[str, str], None] = {}

    def look(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(_PACKAGE)) and not code.co_name.startswith("<"):
            passed[os.path.relpath(code.co_filename, _PACKAGE), code.co_qualname] = None

    with tempfile.TemporaryDirectory(prefix="walk-") as scratch:
        _call_in(Path(scratch) / "first", None)  # what is done once, when modules are loaded, is no part of the way
        _call_in(Path(scratch) / "second", look)
    return list(passed)


def _call_in(folder: Path, look: Any) -> None:
    variable, value = SCRIPTED_AGENT
    os.environ.update({variable: value, "PI_AGENT_DIR": str(folder / "agent"), "HOME": str(folder)})
    folder.mkdir()
    os.chdir(folder)
    from pi_subagents.surfaces.cli import main

    sys.argv = ["pi-subagents", "call", "delegate_to_subagents", json.dumps(_TASKS)]
    threading.setprofile(look)
    sys.setprofile(look)
    try:
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
            main()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def measure() -> dict[str, float]:
    """The figures of one walk."""
    passed = walk()
    files = [file for file, _name in passed]
    changes = sum(one != other for one, other in itertools.pairwise(files))
    return {"files": len(set(files)), "functions": len(passed), "changes": changes}


def figures(measured: dict[str, float]) -> list[Figure]:
    """What there is a goal for."""
    return [
        Figure("files that one delegation passes", measured["files"], "files", 45),
        Figure("changes of file on the way", measured["changes"], "changes", 102),
    ]


def main() -> None:
    """Print the figures, or the way itself."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the functions in their order")
    if parser.parse_args().list:
        for file, name in walk():
            print(f"{file}: {name}")  # noqa: T201
    else:
        print(json.dumps(measure()))  # noqa: T201


if __name__ == "__main__":
    main()
