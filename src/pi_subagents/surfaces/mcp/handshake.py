"""Answers `initialize` before the SDK is loaded.

The answer is the one that the SDK would give, which a test makes sure of. Whatever is not a plain `initialize` request
is left to the SDK, and so is everything after it; the SDK is shown the request too, and its own answer is dropped.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pi_subagents.surfaces.mcp.identity import HANDSHAKE_VERSIONS, INSTRUCTIONS, NAME, TITLE, VERSION


class _Client(msgspec.Struct):
    name: str
    version: str


class _Parameters(msgspec.Struct, rename="camel"):
    protocol_version: str
    capabilities: dict[str, Any]
    client_info: _Client


class _Initialize(msgspec.Struct, tag_field="method", tag="initialize"):
    id: int | str
    params: _Parameters
    jsonrpc: str


_DECODER = msgspec.json.Decoder(_Initialize)
_ENCODER = msgspec.json.Encoder()


def early_answer(line: bytes) -> bytes | None:
    """The answer to a client's first line, or None if it is not a request that can be answered here."""
    try:
        request = _DECODER.decode(line)
    except msgspec.MsgspecError:
        return None
    if request.jsonrpc != "2.0":
        return None
    answer = {"jsonrpc": "2.0", "id": request.id, "result": initialize_result(request.params.protocol_version)}
    return _ENCODER.encode(answer) + b"\n"


def initialize_result(asked_version: str) -> dict[str, Any]:
    """What the server can do, in the version that the client asked for if it is known, else in the newest."""
    return {
        "protocolVersion": asked_version if asked_version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
        "capabilities": {
            "prompts": {"listChanged": False},
            "resources": {"subscribe": False, "listChanged": True},
            "tools": {"listChanged": False},
        },
        "serverInfo": {"name": NAME, "title": TITLE, "version": VERSION},
        "instructions": INSTRUCTIONS,
    }
