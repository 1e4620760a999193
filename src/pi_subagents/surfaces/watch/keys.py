"""The keys: one table for what they do, what the footer shows and what the help says."""

from __future__ import annotations

from textual.binding import Binding

KEYS = (
    Binding("question_mark", "help", "Help", key_display="?", tooltip="this help"),
    Binding("n", "start", "New", tooltip="start a new agent: choose one, type the task"),
    Binding("s", "with_chosen('steer')", "Steer", tooltip="send the selected agent a message while it runs"),
    Binding("r", "with_chosen('resume')", "Resume", tooltip="continue the selected session with a new prompt"),
    Binding("x", "with_chosen('stop')", "Stop", tooltip="stop the selected run; asks first"),
    Binding("slash", "search", "Search", key_display="/", tooltip="search in names, agents, models, projects"),
    Binding("f", "next_status", "Filter", tooltip="only running, completed, failed or aborted runs"),
    Binding("p", "toggle_project", "Project", show=False, tooltip="only the selected run's project; again: all"),
    Binding("enter", "enter", "Read", show=False, tooltip="go to the conversation; on a tool call: expand it"),
    Binding("t", "toggle_folds", "Tools", show=False, tooltip="expand all tool calls; again: collapse them"),
    Binding("y", "with_chosen('copy')", "Copy", tooltip="copy the final output to the clipboard"),
    Binding(
        "o", "with_chosen('open')", "Open", show=False, tooltip="copy the run directory's path; on a desktop: open"
    ),
    Binding("e", "with_chosen('export')", "Export", show=False, tooltip="write the session as an HTML page"),
    Binding("d", "toggle_theme", "Light/dark", show=False, tooltip="light or dark"),
    Binding("escape", "back", "Back", show=False, key_display="esc", tooltip="back to the list; there: show all runs"),
    Binding("ctrl+z", "suspend_process", "Suspend", show=False, priority=True, tooltip="suspend; fg returns"),
    Binding("q", "quit", "Quit", tooltip="quit (also ctrl+c); all runs continue"),
)
ALSO = (Binding("ctrl+c", "quit", show=False),)
"""Keys that the help names beside another one."""

HELP = [
    ("↑ ↓", "select a run, or scroll (also j k g G PgUp PgDn Home End)"),
    ("tab", "move to the conversation and its tool calls"),
    *((binding.key_display or binding.key, binding.tooltip) for binding in KEYS),
]
