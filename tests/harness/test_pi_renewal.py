"""Whether a process has a fresh conversation is told by itself, and it may say anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.harness.pi.rpc import PiRenewal

RENEWAL = PiRenewal("", Path("/run/child-session.jsonl"), {})


@pytest.mark.parametrize(
    "data",
    [
        b"null",
        b"[]",
        b'{"model": "gpt"}',
        b'{"model": {"id": 5}}',
        b'{"messageCount": 1e308}',
        b'{"sessionFile": "\xff"}',
        b'{"other": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
)
def test_a_state_that_makes_no_sense_is_none_to_go_on_from(data: bytes) -> None:
    frame = b'{"type":"response","id":"renewal","command":"get_state","success":true,"data":' + data + b"}"
    assert RENEWAL.identity(frame) is None
    assert RENEWAL.heard(frame) in (False, b"")
