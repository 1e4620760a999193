"""Every default and limit that the documents promise, one test each.

`tools-reference.md` §2, `settings.md`, `profiles.md` §2, §3 and §8, `architecture.md` §5 to §7.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_subagents import Task, delegate
from pi_subagents.delegation.delegation import Delegation
from pi_subagents.delegation.prompts import MAX_FILE_BYTES
from pi_subagents.errors import InvalidCall
from pi_subagents.harness.pi import arguments
from pi_subagents.models import MAX_CONCURRENCY, Secret
from pi_subagents.models.gathered import MAX_MESSAGES_IN_MEMORY
from pi_subagents.models.task import ThinkingLevel
from pi_subagents.profiles import catalog
from pi_subagents.progress import windows
from pi_subagents.settings import Settings, load_settings, preview_width
from pi_subagents.supervisor import Limits, stopping
from pi_subagents.tools import TOOLS, check_arguments, waiting
from pi_subagents.tools.delegate import TaskArguments

SCHEMA: Any = TOOLS["delegate_to_subagents"].input_schema
TASK_SCHEMA: Any = SCHEMA["properties"]["tasks"]["items"]
SUBAGENT_SCHEMA: Any = TOOLS["subagent"].input_schema
RUN_SCHEMA: Any = SUBAGENT_SCHEMA["properties"]["tasks"]["items"]


def setting(key: str, value: object) -> Callable[[Path], Settings]:
    """Load settings from a project file with one key."""

    def load(folder: Path) -> Settings:
        (folder / ".pi").mkdir()
        (folder / ".pi" / "settings.json").write_text(f'{{"subagents": {{"{key}": {value}}}}}')
        return load_settings(folder, folder / "agent", trusted=True)

    return load


def default_of(function: Callable[..., object], parameter: str) -> object:
    return inspect.signature(function).parameters[parameter].default


def one_task(**fields: Any) -> Task:
    return check_arguments([{"name": "n", "prompt": "p", **fields}], list[TaskArguments])[0].to_task()


DEFAULTS: list[tuple[str, object, object]] = [
    ("timeout of a task", 600, Task("n", "p").timeout),
    ("timeout of a task that came as JSON", 600, one_task().timeout),
    (
        "timeout in the schema",
        (600, 1),
        (TASK_SCHEMA["properties"]["timeout"]["default"], TASK_SCHEMA["properties"]["timeout"]["minimum"]),
    ),
    ("timeout that a run gets", 600, Limits().timeout_s),
    (
        "tasks in the schema",
        (1, 16),
        (SCHEMA["properties"]["tasks"]["minItems"], SCHEMA["properties"]["tasks"]["maxItems"]),
    ),
    ("required of a call", ["tasks"], SCHEMA["required"]),
    ("required of a task", ["name", "prompt"], TASK_SCHEMA["required"]),
    (
        "fields of a task",
        ["name", "prompt", "cwd", "profile", "timeout", "resume", "files", "agent"],
        list(TASK_SCHEMA["properties"]),
    ),
    ("agents at once", 4, MAX_CONCURRENCY),
    ("agents at once, Python API", 4, default_of(delegate, "concurrency")),
    ("agents at once, tool", 4, default_of(Delegation, "concurrency")),
    ("file size limit", 1024 * 1024, MAX_FILE_BYTES),
    ("maxLinesPerWindow", 15, Settings().max_lines_per_window),
    ("maxLinesPerWindow of a window", 15, windows.DEFAULT_MAX_LINES),
    ("commandPreviewWidth without a terminal", 160, preview_width(Settings(), None)),
    ("commandPreviewWidth on a terminal", 96, preview_width(Settings(command_preview_width=50), 100)),
    ("commandPreviewWidth on a tiny terminal", 20, preview_width(Settings(), 10)),
    ("extend_timeout_debounce", 30, Settings().extend_timeout_debounce_s),
    ("extend_timeout_debounce that a run gets", 30, Limits().extension_s),
    ("looping_tool_count", 5, Settings().looping_tool_count),
    ("looping_tool_count that a run gets", 5, Limits().loop_count),
    ("seconds from SIGTERM to SIGKILL", 5, stopping.STOP_GRACE_S),
    ("milliseconds between updates", 50, waiting.UPDATE_INTERVAL_S * 1000),
    ("seconds that profiles are cached", 5, catalog.CACHE_TTL_S),
    ("messages in memory", 500, MAX_MESSAGES_IN_MEMORY),
    ("thinking levels", ["off", "minimal", "low", "medium", "high", "xhigh"], list(ThinkingLevel)),
    (
        "fields of a run of a preset",
        (["preset", "task", "model", "cwd", "agent"], ["preset", "task"]),
        (list(RUN_SCHEMA["properties"]), RUN_SCHEMA["required"]),
    ),
    ("runs of one subagent call", 16, SUBAGENT_SCHEMA["properties"]["tasks"]["maxItems"]),
    ("maxDepth", 1, Settings().max_depth),
    ("masked key", "sk-t****bc123", Secret("sk-test-abc123").masked()),
    ("refused extraArgs", r"^[\s|&;$\\`!]|&&|\|\||;|>|>>|<|<<", arguments._UNSAFE.pattern),
]


@pytest.mark.parametrize(("what", "documented", "actual"), DEFAULTS, ids=[row[0] for row in DEFAULTS])
def test_a_documented_default_holds(what: str, documented: object, actual: object) -> None:
    assert actual == documented, what


CLAMPED = [
    ("commandPreviewWidth", 5, "command_preview_width", 20),
    ("extend_timeout_debounce", -1, "extend_timeout_debounce_s", 0),
    ("extend_timeout_debounce", 301, "extend_timeout_debounce_s", 300),
    ("looping_tool_count", -1, "looping_tool_count", 0),
    ("looping_tool_count", 51, "looping_tool_count", 50),
]


@pytest.mark.parametrize(("key", "value", "attribute", "clamped"), CLAMPED)
def test_a_setting_is_clamped_as_documented(tmp_path: Path, key: str, value: int, attribute: str, clamped: int) -> None:
    assert getattr(setting(key, value)(tmp_path), attribute) == clamped


@pytest.mark.parametrize(
    "fields",
    [
        {"timeout": 0.5},
        {"timeout": 0},
        {"name": ""},
        {"prompt": ""},
        {"files": [{"path": "a", "head": 0}]},
        {"files": [{"path": "a", "tail": 0}]},
        {"files": [{"path": "a", "start": 0}]},
        {"files": [{"head": 1}]},
        {"files": "a"},
        {"unknown": 1},
    ],
    ids=str,
)
def test_a_task_outside_the_documented_limits_is_refused_with_the_fields_name(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidCall, match=rf"^Invalid arguments: \[0\]\.{next(iter(fields))}"):
        one_task(**fields)


def test_the_least_that_is_documented_is_accepted() -> None:
    assert one_task(timeout=1).timeout == 1
    assert (
        len(one_task(files=["a", {"path": "b"}, {"path": "c", "head": 1}, {"path": "d", "start": 1, "end": 1}]).files)
        == 4
    )
