"""Agent programs and how to speak to them: the contract, and the table of those that there are.

To add one, see `docs/guides/add-a-harness.md`.
"""

from __future__ import annotations

from importlib import import_module

from pi_subagents.harness.contract import (
    SYSTEM_PROMPT_FILE,
    Answer,
    Ask,
    Decoder,
    Harness,
    Inspection,
    InspectionCheck,
    Invocation,
    Launch,
    Program,
    Question,
    Renewal,
    RunFile,
    UnknownTool,
    Version,
)

HARNESSES = {"pi-json": "pi_subagents.harness.pi.pi.PiJson", "pi-rpc": "pi_subagents.harness.pi.rpc.PiRpc"}
"""By the name that profiles and settings use; each is loaded when it is first asked for."""

DEFAULT_HARNESS = "pi-json"


def harness_named(name: str) -> Harness:
    """The harness with that name; raises KeyError."""
    module, _, cls = HARNESSES[name].rpartition(".")
    harness: Harness = getattr(import_module(module), cls)()
    return harness


def steerable(harness: Harness) -> Harness:
    """The harness for the same program whose agents can be steered, as people want it of those out of their sight.

    Where there is none, the harness itself.
    """
    if harness.can_steer or harness.steerable_as is None:
        return harness
    return harness_named(harness.steerable_as)


__all__ = [
    "DEFAULT_HARNESS",
    "HARNESSES",
    "SYSTEM_PROMPT_FILE",
    "Answer",
    "Ask",
    "Decoder",
    "Harness",
    "Inspection",
    "InspectionCheck",
    "Invocation",
    "Launch",
    "Program",
    "Question",
    "Renewal",
    "RunFile",
    "UnknownTool",
    "Version",
    "harness_named",
    "steerable",
]
