"""A stand-in for pi that answers at once, for tests of the command that need many agents and no model."""

from __future__ import annotations

import json

from tests.pi.stage import Stage

# Says its task back; a task of `fail` ends badly.
_PROGRAM = """#!/bin/sh
read -r prompt
[ "$prompt" = fail ] && echo 'it went wrong' >&2 && exit 3
printf '{"type":"message_end","message":{"role":"assistant","stopReason":"stop","content":'
printf '[{"type":"text","text":"Did: %s"}]}}\\n' "$prompt"
echo '{"type":"agent_settled"}'
"""


def use_stand_in(stage: Stage) -> None:
    """Let the project's agents be stand-ins."""
    program = stage.root / "stand-in"
    program.write_text(_PROGRAM)
    program.chmod(0o755)
    settings = {"piCommand": str(program), "harness": "pi-json"}
    (stage.project / ".pi" / "settings.json").write_text(json.dumps({"subagents": settings}))
