"""What agents cannot do, and why: a story that is named here and holds all the same fails the suite."""

from __future__ import annotations

from collections.abc import Mapping

_NO_DIFFS = "pi tells which tool was called with what, but not what became of the file"
_NO_APPROVALS = "pi asks nobody: it may do whatever its tools can do"
_SILENT_RETRIES = "it tries again without a word"
_NO_STEERING = "its protocol has no way to tell it anything while it works"
_NO_PROGRESS = "it tells nothing of a command while that runs"

EXCEPTIONS: Mapping[str, Mapping[int, str]] = {
    "pi-rpc": {
        6: _NO_DIFFS,
        7: _NO_DIFFS,
        19: _NO_APPROVALS,
        20: _NO_APPROVALS,
        23: "pi has no sub-agents of its own",
        26: "an extension of the user's may bring a tool of any name, so that none can be refused before the start",
        27: "a sub-agent that is pi has the user's own pi: its settings, extensions and context files",
    },
    "claude": {
        9: _NO_PROGRESS,
    },
    "codex": {
        26: "codex has no switch for single tools; a profile that wants one is refused before the start",
    },
    "opencode": {
        11: _SILENT_RETRIES,
        12: "it shortens the conversation and asks again, for ever",
        22: "of more steps than one it tells only what the last one used",
    },
    "gemini": {
        4: "it takes a command for done that ended with an error",
        5: "it does not tell of a call whose tool there is not",
        9: _NO_PROGRESS,
        11: _SILENT_RETRIES,
        14: "it gives up where a stream was cut",
        18: _NO_STEERING,
        22: "it does not tell which tokens came from a cache",
        23: "its policy denies its own sub-agents where nobody can be asked",
    },
    "qwen": {
        9: _NO_PROGRESS,
        11: _SILENT_RETRIES,
        14: "it takes an answer that was cut off for the first half of the next one",
        18: _NO_STEERING,
        19: "what is denied ends its turn",
        21: "its conversation is not kept; our retelling takes its place",
        26: "it offers agents with all tools to an agent that is to have few; a profile that wants that is refused",
    },
    "copilot": {
        11: _SILENT_RETRIES,
        18: _NO_STEERING,
        19: "what is denied ends its turn",
        21: "its conversation is not kept; our retelling takes its place",
        23: "it passes on what a sub-agent of its own says as if it had said so itself",
        26: "it has no switch for its instructions or tools; a profile that wants one is refused before the start",
        27: "with ACP it reads the instructions of the project, whatever it is told",
        28: "it unpacks itself in ~/.cache, once for each version",
    },
}
"""By the name of the harness and the number of the story."""
