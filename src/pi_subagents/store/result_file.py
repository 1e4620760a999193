"""The document in `result.json`: derived from the journal, and made anew from it when lost."""

from __future__ import annotations

from typing import Any

import msgspec

from pi_subagents.clock import elapsed_ms
from pi_subagents.fold import RunState


def result_document(state: RunState) -> dict[str, Any]:
    """The content of `result.json`: derived from the journal, and rebuilt from it when lost."""
    return {
        "runId": state.run_id,
        "sessionId": state.session_id,
        "name": state.name,
        "profile": state.profile,
        "preset": state.preset,
        "requestedModel": state.requested_model,
        "resolvedModel": state.resolved_model,
        "status": state.status,
        "reason": state.reason,
        "damaged": state.is_damaged,
        "error": state.error,
        "exitCode": state.exit_code,
        "stopReason": state.stop_reason,
        "provider": state.provider,
        "model": state.model,
        "thinkingLevel": state.thinking_level,
        "finalText": state.text or None,
        "usage": msgspec.to_builtins(state.usage),
        "toolCount": state.tool_count,
        "messageCount": state.message_count,
        "createdAt": state.created_at,
        "startedAt": state.started_at,
        "completedAt": state.completed_at,
        "durationMs": elapsed_ms(state.started_at, state.completed_at),
    }
