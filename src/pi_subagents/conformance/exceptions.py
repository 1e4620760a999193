"""What agents cannot do, and why: a story that is named here and holds all the same fails the suite."""

from __future__ import annotations

from collections.abc import Mapping

_NO_DIFFS = "pi tells which tool was called with what, but not what became of the file"
_NO_APPROVALS = "pi asks nobody: it may do whatever its tools can do"

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
        9: "claude tells nothing of a command while it runs",
    },
    "codex": {
        26: "codex has no switch for single tools; a profile that wants one is refused before the start",
    },
    "opencode": {},
    "gemini": {},
    "qwen": {},
}
"""By the name of the harness and the number of the story."""
