"""What happens in runs, as people see it: one source of words, previews and windows for every surface."""

from pi_subagents.harmless import clean, printable
from pi_subagents.progress.arguments import counted
from pi_subagents.progress.cells import cell_width, clip, clip_start, graphemes
from pi_subagents.progress.figures import age, age_of, data_size, duration, money, short_count
from pi_subagents.progress.headers import BULLET, header_parts, header_segments, name_of, usage_parts
from pi_subagents.progress.history import MAX_MESSAGES, WindowLine
from pi_subagents.progress.locations import shorten_path
from pi_subagents.progress.notices import notice
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
from pi_subagents.progress.segments import Line, Segment, Style, fit, plain, style_tool_line
from pi_subagents.progress.standing import FATES, fate, standing, status_icon, unusual_standing
from pi_subagents.progress.tool_displays import call_segments, excerpt_segments
from pi_subagents.progress.windows import DEFAULT_MAX_LINES, DEFAULT_PREVIEW_WIDTH, RunFacts, Window
from pi_subagents.progress.words import ProgressWords
from pi_subagents.progress.wrapping import screen_rows, wrap

__all__ = [
    "ARROW",
    "BULLET",
    "DEFAULT_MAX_LINES",
    "DEFAULT_PREVIEW_WIDTH",
    "FATES",
    "MAX_MESSAGES",
    "Line",
    "ProgressWords",
    "RunFacts",
    "Segment",
    "Style",
    "Window",
    "WindowLine",
    "age",
    "age_of",
    "body_rows",
    "body_segments",
    "call_segments",
    "cell_width",
    "clean",
    "clip",
    "clip_start",
    "counted",
    "data_size",
    "duration",
    "error_segments",
    "excerpt_segments",
    "fate",
    "fit",
    "footer_segments",
    "graphemes",
    "header_parts",
    "header_segments",
    "money",
    "name_of",
    "nothing_words",
    "notice",
    "plain",
    "preview_tool_call",
    "printable",
    "screen_rows",
    "short_count",
    "shorten_path",
    "standing",
    "status_icon",
    "status_line",
    "status_segments",
    "style_tool_line",
    "summarise_tool_result",
    "tool_clocks",
    "tool_status_segments",
    "unusual_standing",
    "usage_parts",
    "wrap",
]
