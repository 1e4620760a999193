"""A keeper starts an agent just as whoever launched the run would have."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from msgspec.structs import fields

from pi_subagents.background.keeper import sealed, unseal
from pi_subagents.background.launch import order_for
from pi_subagents.harness import Invocation
from pi_subagents.place import Place
from pi_subagents.settings import Settings
from pi_subagents.supervisor.limits import Limits

WHOLE = Invocation(
    argv=("agent", "--now"),
    environ={"A": "b"},
    cwd=Path("/lab"),
    stdin=b"Go.",
    interactive=True,
    temporary=("agent-home",),
    written_by_agent=("agent-home/*.jsonl",),
    placeholders=(".git",),
    secrets=frozenset({"sk-0123"}),
    brief={"thread": {}},
    approvals="allow",
    advice="log in",
)
IN_THE_RECORD_OR_NOT_FOR_KEEPERS = {"files", "renewal"}


def test_an_order_has_all_that_a_keeper_must_know() -> None:
    unset = {field.name for field in fields(Invocation) if getattr(WHOLE, field.name) == field.default}
    assert unset - IN_THE_RECORD_OR_NOT_FOR_KEEPERS == set(), "this test must know every field"
    run: Any = SimpleNamespace(
        invocation=WHOLE,
        record=SimpleNamespace(path=Path("/run")),
        harness=SimpleNamespace(name="codex"),
        limits=Limits(1, 2, 3, 4),
        plan=SimpleNamespace(problem=None),
    )
    with sealed(order_for(run, Place(Path("/lab"), Path("/agent"), {}), Settings())) as order:
        assert unseal(os.dup(order)).invocation == WHOLE
