"""A program that begins warm is a process like one that begins cold."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit import warm
from tests.kit.waiting import PATIENCE_S, until

SELF = [sys.executable, "-m", "tests.kit.test_warm"]
ROOT = str(Path(__file__).parents[2])


def main() -> None:
    """Tell what a program can know of itself; what is asked for decides how it ends."""
    what = sys.argv[1]
    if what == "facts":
        facts = (os.getcwd(), sorted(os.environ.items()), sys.argv, sys.stdin.read(), os.getppid())  # noqa: PTH109
        print(*facts, sys.stdout.isatty(), sys.stdout.line_buffering, sys.path[0], sep="\n", flush=True)  # noqa: T201
        print("and this", file=sys.stderr)  # noqa: T201
        sys.exit(3)
    if what == "descriptors":
        print(*sorted(os.listdir("/proc/self/fd"), key=int))  # noqa: PTH208, T201
    if what == "raises":
        raise ValueError("out of order")
    if what == "sentence":
        sys.exit("a sentence")
    if what == "waits":
        signal.pause()


@pytest.mark.parametrize("what", ["facts", "descriptors", "raises", "sentence"])
def test_it_knows_and_leaves_what_a_cold_one_does(what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ends = []
    for is_cold in (True, False):
        monkeypatch.setattr(warm.Popen, "is_cold", is_cold)
        environ = {"PATH": "/bin", "SOME": "th\udcffing", "PYTHONPATH": f"{ROOT}/src:{ROOT}", "PYTHONUTF8": "1"}
        program = subprocess.run(
            [*SELF, what, "wörd", ""],
            input="given",
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environ,
            check=False,
        )
        ends.append((program.returncode, program.stdout, program.stderr.splitlines()[-1:]))
    assert ends[0] == ends[1]


def test_it_is_a_child_of_the_test_and_dies_of_a_signal() -> None:
    with subprocess.Popen([*SELF, "waits"], cwd=ROOT) as program:
        until(lambda: f"PPid:\t{os.getpid()}\n" in Path(f"/proc/{program.pid}/status").read_text())
        assert b"warm_server" in Path(f"/proc/{program.pid}/cmdline").read_bytes()
        program.send_signal(signal.SIGKILL)
        assert program.wait(PATIENCE_S) == -signal.SIGKILL


@pytest.mark.cold
def test_marked_as_cold_it_is_a_new_interpreter() -> None:
    with subprocess.Popen([*SELF, "waits"], cwd=ROOT) as program:
        until(lambda: b"tests.kit.test_warm" in Path(f"/proc/{program.pid}/cmdline").read_bytes())
        program.kill()


if __name__ == "__main__":
    main()
