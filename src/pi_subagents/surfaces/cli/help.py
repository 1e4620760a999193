"""How `--help` is laid out: lines are broken between words, never within a command or an option; examples end it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click

_PROGRAM = "pi-subagents"
_UNBROKEN_HYPHEN = "\u2011"
"""Stands for a hyphen while click breaks lines: it would break them there too, and cannot be told not to."""

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "": ('run "Find dead code in src/" "Find missing tests in src/"', "watch"),
    "run": (
        'run -p reviewer "Review the last commit"',
        "run --tasks tasks.yaml --json > results.json",
        'run --agent claude,codex,pi "Find the bug in src/parser.py"',
    ),
    "background": ('background start scout "Map the code in src/"', "background list"),
    "background start": (
        'background start scout "Map the code in src/"',
        "background start --model anthropic/claude-sonnet-4-5 worker - < task.md",
    ),
    "background list": ("background list", "background list --all --json"),
    "background status": ("background status 3f9a", "background status 3f9a --json"),
    "background wait": ("background wait", "background wait --any --timeout 600 3f9a 81c2"),
    "background logs": ("background logs 3f9a", "background logs --follow 3f9a"),
    "background stop": ("background stop 3f9a",),
    "background attach": ("background attach 3f9a", "background attach --plain 3f9a"),
    "steer": ('steer 3f9a "Leave the tests alone"', "steer 3f9a - < notes.md"),
    "watch": ("watch", "watch --project"),
    "sessions": ("sessions list", "sessions show 3f9a"),
    "sessions list": ("sessions list --since 2h", "sessions list --all --status failed"),
    "sessions show": ("sessions show 3f9a", "sessions show --follow 3f9a"),
    "sessions output": ("sessions output 3f9a", "sessions output 3f9a > answer.md"),
    "sessions resume": ('sessions resume 3f9a "Now fix what you found"', "sessions resume 3f9a - < more.md"),
    "sessions stop": ("sessions stop 3f9a",),
    "sessions export": ("sessions export 3f9a -o review.html", "sessions export 3f9a --format md"),
    "sessions delete": ("sessions delete 3f9a",),
    "sessions clean": ("sessions clean --older-than 30d --dry-run", "sessions clean --keep 50 --yes"),
    "sessions reindex": ("sessions reindex",),
    "agents": ("agents", "agents --programs"),
    "models": ("models",),
    "profile": ("profile list", "profile create reviewer"),
    "profile list": ("profile list", "profile list --json"),
    "profile show": ("profile show reviewer", "profile show reviewer --json"),
    "profile create": (
        'profile create reviewer --description "Reviews code"',
        "profile create fast --model anthropic/claude-sonnet-4-5",
    ),
    "profile edit": ("profile edit reviewer", "profile edit reviewer --scope global"),
    "profile delete": ("profile delete reviewer", "profile delete reviewer --scope project --yes"),
    "preset": ("preset list", "preset new scout"),
    "preset list": ("preset list", "preset list --json"),
    "preset show": ("preset show scout", "preset show scout --json"),
    "preset new": ("preset new scout", "preset new scout --global"),
    "trust": ("trust", "trust --list"),
    "init": ("init", "init --presets --model anthropic/claude-sonnet-4-5", "init --agents --global"),
    "setup": ("setup", "setup --yes"),
    "pi": ("pi", "pi --list-models"),
    "demo": ("demo", "demo --live"),
    "doctor": ("doctor", "doctor --json"),
    "conformance": ("conformance --agent claude", "conformance --agent codex --program ./codex --story 16"),
    "install-pi": ("install-pi", "install-pi --version latest"),
    "install-agent": ("install-agent", "install-agent codex", "install-agent claude latest"),
    "install": ("install pi", "install mcp --client claude"),
    "install pi": ("install pi", "install pi --project --dry-run"),
    "install mcp": ("install mcp --client claude", "install mcp --client cursor --scope project --dry-run"),
    "uninstall": ("uninstall pi", "uninstall mcp --client claude"),
    "uninstall pi": ("uninstall pi", "uninstall pi --project"),
    "uninstall mcp": ("uninstall mcp --client claude", "uninstall mcp --client cursor --dry-run"),
    "completion": ("completion bash", "completion fish | source"),
    "mcp": ("mcp", "mcp --http 127.0.0.1:8765 --tools delegate_to_subagents,get_subagent_output"),
    "bridge": ("bridge",),
    "call": (
        "call list_subagent_profiles '{}'",
        """call delegate_to_subagents '{"tasks": [{"name": "hi", "prompt": "Say hello."}]}'""",
    ),
    "tools": ("tools", "tools | jq -r '.[].name'"),
}
"""By the words behind `pi-subagents`."""


def examples_of(context: click.Context) -> tuple[str, ...]:
    """The command lines to show below the help of a command."""
    words: list[str] = []
    while context.parent is not None:
        words.insert(0, context.info_name or "")
        context = context.parent
    return tuple(f"{_PROGRAM} {example}" for example in EXAMPLES.get(" ".join(words), ()))


def write_examples(ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """End a help text with them."""
    if examples := examples_of(ctx):
        with formatter.section("Examples"):
            for example in examples:
                # Whole, however long: a line that was broken could not be copied.
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")


class UnbrokenFormatter(click.HelpFormatter):
    """Leaves words with hyphens whole, so that `pi-subagents trust` can be read and copied."""

    def write_text(self, text: str) -> None:
        """A paragraph."""
        super().write_text(_joined(text))

    def write_dl(self, rows: Iterable[tuple[str, str]], *args: Any, **kwargs: Any) -> None:
        """A table of names and what they mean."""
        super().write_dl([(_joined(name), _joined(meaning)) for name, meaning in rows], *args, **kwargs)

    def getvalue(self) -> str:
        """All of it, with ordinary hyphens again."""
        return super().getvalue().replace(_UNBROKEN_HYPHEN, "-")


class HelpContext(click.Context):
    """A context whose help is laid out so."""

    formatter_class = UnbrokenFormatter


def _joined(text: str) -> str:
    return text.replace("-", _UNBROKEN_HYPHEN)
