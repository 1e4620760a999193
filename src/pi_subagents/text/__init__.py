"""Text for people: how wide it is, how it wraps, figures in plain words, and nothing that a terminal would obey."""

from pi_subagents.text.cells import cell_width, clip, clip_start, graphemes, screen_rows, wrap
from pi_subagents.text.harmless import clean, one_line, printable
from pi_subagents.text.segments import Line, Segment, Style, fit, plain, style_tool_line
from pi_subagents.text.wording import (
    age,
    age_of,
    cost_words,
    counted,
    data_size,
    duration,
    money,
    short_count,
    shorten_path,
    token_count,
    token_words,
)

__all__ = [
    "Line",
    "Segment",
    "Style",
    "age",
    "age_of",
    "cell_width",
    "clean",
    "clip",
    "clip_start",
    "cost_words",
    "counted",
    "data_size",
    "duration",
    "fit",
    "graphemes",
    "money",
    "one_line",
    "plain",
    "printable",
    "screen_rows",
    "short_count",
    "shorten_path",
    "style_tool_line",
    "token_count",
    "token_words",
    "wrap",
]
