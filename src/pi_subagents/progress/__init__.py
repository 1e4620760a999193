"""What happens in runs, as people see it: one source of words, previews and windows for every surface."""

from pi_subagents.progress.headers import BULLET, header_parts, header_segments, name_of, usage_parts
from pi_subagents.progress.paint import (
    body_rows,
    body_segments,
    error_segments,
    footer_segments,
    nothing_words,
    status_line,
    status_segments,
    tool_clocks,
    tool_status_segments,
)
from pi_subagents.progress.previews import ARROW, preview_tool_call
from pi_subagents.progress.results import summarise_tool_result
from pi_subagents.progress.standing import FATES, fate, standing, status_icon, unusual_standing
from pi_subagents.progress.tool_displays import call_segments, excerpt_segments
from pi_subagents.progress.windows import (
    DEFAULT_MAX_LINES,
    DEFAULT_PREVIEW_WIDTH,
    MAX_MESSAGES,
    RunFacts,
    Window,
    WindowLine,
)
from pi_subagents.progress.words import ProgressWords, notice

__all__ = [
    "ARROW",
    "BULLET",
    "DEFAULT_MAX_LINES",
    "DEFAULT_PREVIEW_WIDTH",
    "FATES",
    "MAX_MESSAGES",
    "ProgressWords",
    "RunFacts",
    "Window",
    "WindowLine",
    "body_rows",
    "body_segments",
    "call_segments",
    "error_segments",
    "excerpt_segments",
    "fate",
    "footer_segments",
    "header_parts",
    "header_segments",
    "name_of",
    "nothing_words",
    "notice",
    "preview_tool_call",
    "standing",
    "status_icon",
    "status_line",
    "status_segments",
    "summarise_tool_result",
    "tool_clocks",
    "tool_status_segments",
    "unusual_standing",
    "usage_parts",
]
