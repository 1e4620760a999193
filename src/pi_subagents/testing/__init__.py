"""Fakes for programs that use this package: an agent that plays a script, a runner in memory, a virtual clock.

    monkeypatch.setenv(*SCRIPTED_AGENT)
    results = await delegate([Task("greet", script(prints(*answer("Hello"))))])

The scripted agent is a real process in the place of `pi`, so everything but the model is as in production. The fake
runner starts no process at all; with the virtual clock, an hour of its life takes a millisecond.
"""

from pi_subagents.testing.agent import MODELS_VARIABLE, SCRIPT_VARIABLE, SCRIPTED_AGENT, Action, prints, script
from pi_subagents.testing.fakes import FakeProcess, FakeRunner, VirtualClockLoop, run_on_virtual_clock
from pi_subagents.testing.records import answer, assistant, tool_call, tool_result

__all__ = [
    "MODELS_VARIABLE",
    "SCRIPTED_AGENT",
    "SCRIPT_VARIABLE",
    "Action",
    "FakeProcess",
    "FakeRunner",
    "VirtualClockLoop",
    "answer",
    "assistant",
    "prints",
    "run_on_virtual_clock",
    "script",
    "tool_call",
    "tool_result",
]
