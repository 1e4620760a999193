"""A window and its state, fed together as every surface feeds them."""

from __future__ import annotations

from typing import Any

from pi_subagents.fold import RunState, fold
from pi_subagents.models import Reason, Status
from pi_subagents.models import event as ev
from pi_subagents.progress import Window

CREATED = ev.Created(
    at=1000,
    run_id="20260101T000000-abcd1234",
    session_id="a3f7b9c2d1e8f4a1",
    name="build",
    prompt="Build it",
    cwd="/home/ann/project",
    harness="pi-json",
    timeout_s=600,
)
STARTED = ev.Started(at=2000, pid=7, containment="guard")
COMPLETED = ev.Ended(at=14_900, status=Status.COMPLETED, reason=Reason.SETTLED)
FAILED = ev.Ended(at=9000, status=Status.FAILED, reason=Reason.TIMEOUT, message="Timed out after 7s.")


def window_of(*events: ev.Event, **options: Any) -> Window:
    window = Window(RunState(), **options)
    for event in events:
        feed(window, event)
    return window


def feed(window: Window, event: ev.Event) -> bool:
    assert isinstance(window.state, RunState)
    fold(window.state, [event])
    return window.apply(event)


def assistant(*parts: ev.Part | str, **fields: Any) -> ev.Message:
    return ev.Message(
        role="assistant",
        parts=tuple(ev.TextPart(part) if isinstance(part, str) else part for part in parts),
        **fields,
    )


def call(call_id: str, name: str, **arguments: Any) -> ev.ToolCallPart:
    return ev.ToolCallPart(call_id, name, arguments)


def result(call_id: str, name: str, text: str, **fields: Any) -> ev.Message:
    parts = (ev.TextPart(text),)
    return ev.Message(role="toolResult", tool_call_id=call_id, tool_name=name, parts=parts, **fields)
