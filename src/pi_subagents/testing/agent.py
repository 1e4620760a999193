"""A stand-in for `pi` that plays a script: what a script can say, and how to put the agent in place.

The prompt is the script, so every task of a call can have its own. A prompt that is no script is answered with
itself. A script in the variable `SCRIPT_VARIABLE` goes before, and leaves standard input alone.

In RPC mode the stand-in stays when its script has settled, as `pi` does, until its input ends; a script that ends
without that is the end of the process, as in JSON mode. Told to abort it settles, unless the script said otherwise.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any, Literal

from pi_subagents.harness.pi.programs import PI_VARIABLE
from pi_subagents.testing.records import Record

Action = list[Any]
"""A verb and what it needs, as plain JSON."""

Way = Literal["delta", "message", "line", "stderr", "session"]

SCRIPT_VARIABLE = "PI_SUBAGENTS_SCRIPT"
MODELS_VARIABLE = "PI_SUBAGENTS_MODELS"
"""The models that the stand-in offers, as `provider/id` with blanks between them; without it there are none."""

_PROGRAM = Path(__file__).with_name("agent_program.py")

SCRIPTED_AGENT = (PI_VARIABLE, shlex.join([sys.executable, "-I", "-S", str(_PROGRAM)]))
"""The environment variable, and its value, that make the stand-in the agent."""


def script(*actions: Action) -> str:
    """A prompt that makes the stand-in do `actions` one after the other and then exit with code 0."""
    return json.dumps(actions)


def prints(*records: Record) -> Action:
    """Print records, each on a line of its own."""
    return ["write", "".join(f"{json.dumps(record)}\n" for record in records), 1]


def writes(data: bytes, times: int = 1) -> Action:
    """Write bytes to standard output as they are, `times` over."""
    return ["write_bytes", data.hex(), times]


def complains(text: str, times: int = 1) -> Action:
    """Write to standard error."""
    return ["complain", text, times]


def pauses(seconds: float) -> Action:
    """Do nothing for a while."""
    return ["pause", seconds]


def touches(path: Path) -> Action:
    """Make an empty file, so that somebody outside knows how far the script is."""
    return ["touch", str(path)]


def waits_for(path: Path) -> Action:
    """Wait until a file exists."""
    return ["wait_for", str(path)]


def ignores_sigterm() -> Action:
    """From here on SIGTERM does nothing."""
    return ["ignore_sigterm"]


def answers_sigterm(record: Record, exit_code: int) -> Action:
    """From here on SIGTERM makes it print a record and exit."""
    return ["answer_sigterm", json.dumps(record), exit_code]


def leaves_behind(*, daemon: bool = False, stubborn: bool = True, holds_output: bool = True) -> Action:
    """Start a process that lives on: a daemon has left session and parent, a stubborn one ignores SIGTERM."""
    return ["leave_behind", daemon, stubborn, holds_output]


def counts_input(chunk_bytes: int = 1 << 20, pause_s: float = 0) -> Action:
    """Read standard input to its end, as slowly as asked for, and print how many bytes there were."""
    return ["count_input", chunk_bytes, pause_s]


def tells(variable: str, way: Way, pause_s: float = 0, *, half_only: bool = False) -> Action:
    """Give away the value of an environment variable, in two halves where the way allows it."""
    return ["tell", variable, way, pause_s, half_only]


def repeats_steering() -> Action:
    """Wait to be steered and answer with what was said; only in RPC mode."""
    return ["repeat_steering"]


def ignores_abort() -> Action:
    """From here on the request to abort changes nothing; only in RPC mode."""
    return ["ignore_abort"]


def closes_output() -> Action:
    """Close standard output and standard error, and live on."""
    return ["close_output"]


def exits(code: int) -> Action:
    """Exit at once."""
    return ["exit", code]


def dies_of(signal_number: int) -> Action:
    """Send itself a signal."""
    return ["die_of", signal_number]
