"""What agents cannot do, and why.

A story that is listed here and holds all the same fails the suite, and so does one that breaks in another way than it
is known to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Known(NamedTuple):
    """A known exception: the reason for people, and `seen`, which is in the sentence with which the story breaks."""

    reason: str
    seen: str


_NO_DIFFS = Known("pi reports the tool call and its arguments, but not how the file changed", "is reported, only of []")
_NO_APPROVALS = "pi never asks for permission: it may do whatever its tools can do"
_SILENT_RETRIES = Known("it retries without saying so", "no event said that the agent retried")
_NO_STEERING = Known("its protocol has no way to send it a message while it works", "takes no messages")
_NO_PROGRESS = Known("it reports nothing about a command until that ends", "the progress reported in time is [] of []")

EXCEPTIONS: Mapping[str, Mapping[int, Known]] = {
    "pi-rpc": {
        6: _NO_DIFFS,
        7: _NO_DIFFS,
        19: Known(_NO_APPROVALS, 'sets "approvals", which the'),
        20: Known(_NO_APPROVALS, "the requests and answers are []"),
        23: Known("pi has no sub-agents of its own", "it has no sub-agents of its own"),
        26: Known(
            "an extension of the user's may add a tool of any name, so no name can be refused before the start",
            "an unknown tool in tools is refused with ''",
        ),
        27: Known(
            "a pi sub-agent is the user's own pi, with its settings, extensions and context files",
            "the model got the content of a context file",
        ),
    },
    "claude": {
        9: _NO_PROGRESS,
    },
    "codex": {
        26: Known(
            "codex cannot switch single tools on or off; a profile that asks for it is refused before the start",
            "it does not support tools, excludeTools, noTools",
        ),
        28: Known("it leaves an empty directory in /tmp, one for each user", "also written: ['/tmp/codex-daemon-"),
    },
    "opencode": {
        11: _SILENT_RETRIES,
        12: Known("it shortens the conversation and tries again, for ever", "the run failed with 'Timed out after 20s"),
        22: Known("of several steps it reports only what the last one used", "input, cached and output are (0, 0, 0)"),
        27: Known(
            "it loads the plug-ins of a project, so where there may be any it works only if you trust the project",
            "runs the commands that a project names",
        ),
    },
    "gemini": {
        4: Known("it reports a command that failed as done", "reported as failed: [True, False]"),
        5: Known("it does not report a call to an unknown tool", "no call is reported as failed"),
        9: _NO_PROGRESS,
        11: _SILENT_RETRIES,
        14: Known("it gives up when a stream is cut off", "agent_error: terminated"),
        18: _NO_STEERING,
        22: Known("it does not say which tokens came from a cache", "input, cached and output are (3000, 0, 120)"),
        23: Known(
            "its policy denies its own sub-agents when nobody can be asked",
            "the sub-agent's answer did not reach the model",
        ),
    },
    "qwen": {
        9: _NO_PROGRESS,
        11: _SILENT_RETRIES,
        14: Known(
            "it treats an answer that was cut off as the first half of the next one", "the answer is 'Half of an ans"
        ),
        18: _NO_STEERING,
        19: Known("a denied action ends its turn", "the answer is ''"),
        21: Known("its conversation is not kept; what came before is retold instead", "the answer is 'I keep 4711.'"),
        26: Known(
            "even with few tools it may start agents that have all of them; a profile with a list of tools is refused",
            "it does not support tools, noTools",
        ),
    },
    "copilot": {
        11: _SILENT_RETRIES,
        18: _NO_STEERING,
        19: Known("a denied action ends its turn", "the answer is ''"),
        21: Known("its conversation is not kept; what came before is retold instead", "the answer is 'I keep 4711.'"),
        23: Known("it passes on the words of its own sub-agents as its own", "the answer is 'There are 77."),
        26: Known(
            "it takes no instructions or list of tools; a profile that asks for them is refused before the start",
            "it does not support systemPrompt, appendSystemPrompt, tools, excludeTools, noTools",
        ),
        27: Known(
            "it obeys the project's instructions and hooks, so it works only in projects that you trust",
            "the model got the content of a context file",
        ),
        28: Known("it unpacks itself into ~/.cache, once per version", "also written: ['home/.cache']"),
    },
}
"""By the name of the harness and the number of the story."""
