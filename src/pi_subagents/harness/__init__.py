"""Agent programs and how to speak to them. Everything here is pure: no process, no file, no clock."""

from __future__ import annotations

from pi_subagents.harness.contract import Decoder, Harness, Invocation, Launch, RunFile
from pi_subagents.harness.pi_json import PiJson
from pi_subagents.harness.pi_rpc import PiRpc

__all__ = ["Decoder", "Harness", "Invocation", "Launch", "PiJson", "PiRpc", "RunFile"]
