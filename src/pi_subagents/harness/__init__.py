"""Agent programs and how to speak to them. Everything here is pure: no process, no file, no clock."""

from __future__ import annotations

from pi_subagents.harness.contract import Decoder, Harness, Invocation, Launch, Renewal, RunFile
from pi_subagents.harness.pi.json_mode import PiJson
from pi_subagents.harness.pi.rpc_mode import PiRpc
from pi_subagents.harness.pi.surroundings import default_model, default_provider, has_extensions, surroundings

HARNESSES: dict[str, type[PiJson] | type[PiRpc]] = {harness.name: harness for harness in (PiJson, PiRpc)}


def harness_named(name: str) -> Harness:
    """The harness with that name; raises KeyError."""
    return HARNESSES[name]()


__all__ = [
    "HARNESSES",
    "Decoder",
    "Harness",
    "Invocation",
    "Launch",
    "PiJson",
    "PiRpc",
    "Renewal",
    "RunFile",
    "default_model",
    "default_provider",
    "harness_named",
    "has_extensions",
    "surroundings",
]
