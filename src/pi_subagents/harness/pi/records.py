"""The records `pi` writes in JSON and RPC mode, as far as they are read.

Covers 0.74 (cumulative snapshots in updates, no `willRetry`, no `agent_settled`) to 1.5. Fields that are not
named here are skipped while parsing, which keeps the snapshots and the repeated conversation in `agent_end` cheap.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pi_subagents.models.run import Usage


class _Wire(msgspec.Struct, rename="camel", gc=False):
    pass


# What is only good to know is `Any` and looked at later: a record must not be lost for it.
_Amount = float | None
"""JavaScript writes a figure that it could not work out as null; a message must not be lost for it."""


class _Cost(_Wire):
    total: _Amount = None


class _Usage(_Wire):
    input: _Amount = None
    output: _Amount = None
    cache_read: _Amount = None
    cache_write: _Amount = None
    total_tokens: _Amount = None
    cost: _Cost | None = None

    def normalised(self) -> Usage:
        cost = self.cost.total if self.cost else None
        return Usage.of(self.input, self.output, self.cache_read, self.cache_write, self.total_tokens, cost)


class _Named(_Wire):
    name: str


class WireMessage(_Wire):
    role: str
    content: Any = None
    provider: str | None = None
    model: str | None = None
    response_model: Any = None
    stop_reason: str | None = None
    error_message: str | None = None
    usage: _Usage | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool = False
    sections: dict[str, str | None] | None = None
    tools_added: list[_Named] | None = None
    summary: str | None = None
    output: str | None = None
    nested_calls: Any = None


class _Update(_Wire):
    type: str
    delta: str | None = None


class _Record(msgspec.Struct, rename="camel", tag_field="type", gc=False):
    pass


class Session(_Record, tag="session"):
    id: str
    version: int | None = None


class AgentStart(_Record, tag="agent_start"):
    pass


class AgentEnd(_Record, tag="agent_end"):
    will_retry: bool | None = None


class AgentSettled(_Record, tag="agent_settled"):
    aborted: Any = None


class TurnStart(_Record, tag="turn_start"):
    pass


class TurnEnd(_Record, tag="turn_end"):
    tool_results: list[msgspec.Raw] = []


class MessageStart(_Record, tag="message_start"):
    message: WireMessage


class MessageUpdate(_Record, tag="message_update"):
    assistant_message_event: _Update


class MessageEnd(_Record, tag="message_end"):
    message: WireMessage


class ToolStart(_Record, tag="tool_execution_start"):
    tool_call_id: str
    tool_name: str
    args: Any = None


class ToolUpdate(_Record, tag="tool_execution_update"):
    tool_call_id: str
    tool_name: str
    partial_result: Any = None


class ToolEnd(_Record, tag="tool_execution_end"):
    tool_call_id: str
    tool_name: str
    is_error: bool = False
    duration_ms: Any = None


class QueueUpdate(_Record, tag="queue_update"):
    steering: list[str] = []
    follow_up: list[str] = []


class EntryAppended(_Record, tag="entry_appended"):
    entry: Any


class SessionInfoChanged(_Record, tag="session_info_changed"):
    name: str | None = None


class ThinkingLevelChanged(_Record, tag="thinking_level_changed"):
    level: str


class _Compaction(_Wire):
    tokens_before: int | None = None


class CompactionStart(_Record, tag="compaction_start"):
    reason: str = ""


class CompactionEnd(_Record, tag="compaction_end"):
    reason: str = ""
    aborted: bool = False
    will_retry: bool = False
    error_message: str | None = None
    result: _Compaction | None = None


class RetryStart(_Record, tag="auto_retry_start"):
    attempt: int = 0
    max_attempts: int = 0
    delay_ms: float = 0
    error_message: str = ""


class RetryEnd(_Record, tag="auto_retry_end"):
    success: bool = True
    attempt: int = 0
    final_error: str | None = None


class SummaryRetryScheduled(RetryStart, tag="summarization_retry_scheduled"):
    pass


class SummaryRetryAttempt(_Record, tag="summarization_retry_attempt_start"):
    pass


class SummaryRetryFinished(_Record, tag="summarization_retry_finished"):
    pass


class Response(_Record, tag="response"):
    """RPC mode only."""

    command: str = ""
    success: bool = True
    error: str | None = None
    data: Any = None


class UiRequest(_Record, tag="extension_ui_request"):
    """RPC mode only."""

    id: str
    method: str
    title: str | None = None
    message: str | None = None
    status_text: str | None = None


class ShellUpdate(_Record, tag="bash_execution_update"):
    delta: str = ""


class ExtensionError(_Record, tag="extension_error"):
    extension_path: str = ""
    event: str = ""
    error: str = ""
