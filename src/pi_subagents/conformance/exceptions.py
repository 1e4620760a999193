"""What agents cannot do, and why. A story that is listed here and holds all the same fails the suite."""

from __future__ import annotations

from collections.abc import Mapping

_NO_DIFFS = "pi reports the tool call and its arguments, but not how the file changed"
_NO_APPROVALS = "pi never asks for permission: it may do whatever its tools can do"
_SILENT_RETRIES = "it retries without saying so"
_NO_STEERING = "its protocol has no way to send it a message while it works"
_NO_PROGRESS = "it reports nothing about a command until that ends"

EXCEPTIONS: Mapping[str, Mapping[int, str]] = {
    "pi-rpc": {
        6: _NO_DIFFS,
        7: _NO_DIFFS,
        19: _NO_APPROVALS,
        20: _NO_APPROVALS,
        23: "pi has no sub-agents of its own",
        26: "an extension of the user's may add a tool of any name, so no name can be refused before the start",
        27: "a pi sub-agent is the user's own pi, with its settings, extensions and context files",
    },
    "claude": {
        9: _NO_PROGRESS,
    },
    "codex": {
        26: "codex cannot switch single tools on or off; a profile that asks for it is refused before the start",
    },
    "opencode": {
        11: _SILENT_RETRIES,
        12: "it shortens the conversation and tries again, for ever",
        22: "of several steps it reports only what the last one used",
    },
    "gemini": {
        4: "it reports a command that failed as done",
        5: "it does not report a call to an unknown tool",
        9: _NO_PROGRESS,
        11: _SILENT_RETRIES,
        14: "it gives up when a stream is cut off",
        18: _NO_STEERING,
        22: "it does not say which tokens came from a cache",
        23: "its policy denies its own sub-agents when nobody can be asked",
    },
    "qwen": {
        9: _NO_PROGRESS,
        11: _SILENT_RETRIES,
        14: "it treats an answer that was cut off as the first half of the next one",
        18: _NO_STEERING,
        19: "a denied action ends its turn",
        21: "its conversation is not kept; what came before is retold instead",
        26: "even with few tools it may start agents that have all of them; a profile with a list of tools is refused",
    },
    "copilot": {
        11: _SILENT_RETRIES,
        18: _NO_STEERING,
        19: "a denied action ends its turn",
        21: "its conversation is not kept; what came before is retold instead",
        23: "it passes on the words of its own sub-agents as its own",
        26: "it takes no instructions or list of tools; a profile that asks for them is refused before the start",
        27: "it cannot be kept from reading the project's instructions",
        28: "it unpacks itself into ~/.cache, once per version",
    },
}
"""By the name of the harness and the number of the story."""
