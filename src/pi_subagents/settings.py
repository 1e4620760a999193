"""What a user has configured under `subagents` in the two settings files.

Loading never fails: a file or value that cannot be used becomes a warning that names file, line, key and what
applies instead. The files belong to `pi`, so they are read as it reads them: JSON without comments, an
optional byte order mark, keys of others left alone.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, Protocol

import msgspec

from pi_subagents.models.profile import HARNESS_NAMES
from pi_subagents.paths import project_root

Containment = Literal["auto", "namespace", "guard", "none"]
ResumeMode = Literal["retell", "native"]
RunnerName = Literal["local", "tmux"]

MIN_PREVIEW_WIDTH = 20
DEFAULT_PREVIEW_WIDTH = 160
_TERMINAL_MARGIN = 4
"""Two columns of indent and the arrow with its space."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings in force, and what was wrong with the files they came from."""

    max_lines_per_window: int = 15
    command_preview_width: int | None = None
    extend_timeout_debounce_s: float = 30
    looping_tool_count: int = 5
    pi_command: str | list[str] | None = None
    containment: Containment = "auto"
    resume_mode: ResumeMode = "retell"
    max_resume_characters: int = 400_000
    keep_runs_days: int | None = None
    harness: str | None = None
    runner: RunnerName = "local"
    max_background: int = 8
    max_depth: int = 1
    warm_agents: bool = False
    warm_idle_s: float = 60
    warm_max_memory_mb: int = 400
    max_processes: int | None = None
    keep_sessions: int | None = None
    max_journal_mb: int = 1000
    warnings: tuple[str, ...] = ()

    @property
    def harness_name(self) -> str:
        """How agents in the foreground are spoken to; only one that hears more than its task can be kept."""
        return self.harness or ("pi-rpc" if self.warm_agents else "pi-json")


def preview_width(settings: Settings, tty_columns: int | None) -> int:
    """How wide a tool call preview may be; on a terminal its width decides, elsewhere the setting."""
    if tty_columns:
        return max(MIN_PREVIEW_WIDTH, tty_columns - _TERMINAL_MARGIN)
    return max(MIN_PREVIEW_WIDTH, settings.command_preview_width or DEFAULT_PREVIEW_WIDTH)


def settings_paths(cwd: Path, agent_dir: Path) -> tuple[Path, Path]:
    """The global and the project's settings file; the second overrides the first key by key."""
    return agent_dir / "settings.json", project_root(cwd, agent_dir) / ".pi" / "settings.json"


def load_settings(cwd: Path, agent_dir: Path) -> Settings:
    """Read both settings files; whatever cannot be used is left out and named in `warnings`."""
    values: dict[str, Any] = {}
    warnings: list[str] = []
    for path in settings_paths(cwd, agent_dir):
        _apply_file(path, values, warnings)
    return Settings(**values, warnings=tuple(warnings))


def _apply_file(path: Path, values: dict[str, Any], warnings: list[str]) -> None:
    try:
        text = path.read_bytes().decode("utf-8", errors="replace").removeprefix("\ufeff")
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        warnings.append(f"{path}: cannot be read ({error.strerror}); its settings do not apply")
        return
    try:
        section = _parse_section(text)
    except _BadFile as error:
        warnings.append(f"{path}:{error.line}: {error}; its settings do not apply")
        return
    for name, key in _KEYS.items():
        if section.get(name) is not None:
            _apply_value(path, text, name, key, section[name], values, warnings)


def _apply_value(
    path: Path, text: str, name: str, key: _Key, raw: Any, values: dict[str, Any], warnings: list[str]
) -> None:
    value, complaint = key.read(raw)
    if value is not None:
        values[key.field] = value
    if complaint:
        current = values.get(key.field, getattr(Settings(), key.field))
        instead = "ignoring it" if current is None else f"using {_show(current)}"
        warnings.append(f"{path}:{_line_of(text, name)}: subagents.{name} {complaint}; {instead}")


class _BadFile(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, line: int, sentence: str) -> None:
        super().__init__(sentence)
        self.line = line


def _parse_section(text: str) -> Mapping[str, Any]:
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise _BadFile(error.lineno, f"not valid JSON ({error.msg}, column {error.colno})") from None
    except (ValueError, RecursionError) as error:
        raise _BadFile(1, f"not valid JSON ({error})") from None
    if not isinstance(document, dict):
        raise _BadFile(1, "must hold a JSON object")
    section = document.get("subagents")
    if section is not None and not isinstance(section, dict):
        raise _BadFile(_line_of(text, "subagents"), f'"subagents" must be an object, not {_show(section)}')
    return section or {}


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON value")


def _line_of(text: str, name: str) -> int:
    section = re.search(r'"subagents"\s*:', text)
    start = section.start() if section else 0
    found = re.compile(rf'"{re.escape(name)}"\s*:').search(text, start)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _show(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


class _Key(Protocol):
    """One documented key: where it is kept, and how a JSON value becomes a usable one or a complaint."""

    @property
    def field(self) -> str: ...

    def read(self, raw: Any) -> tuple[Any, str | None]: ...


@dataclass(frozen=True, slots=True)
class _Number:
    field: str
    minimum: int
    maximum: int | None = None
    whole: bool = True

    def read(self, raw: Any) -> tuple[float | None, str | None]:
        if isinstance(raw, bool) or not isinstance(raw, int | float):
            return None, f"must be a number, not {_show(raw)}"
        if isinstance(raw, float) and not math.isfinite(raw):
            return None, "must be a finite number"
        if raw < self.minimum or (self.maximum is not None and raw > self.maximum):
            nearest = self.minimum if raw < self.minimum else self.maximum
            return nearest, f"is {_show(raw)}, outside {self._range()}"
        if self.whole and raw != int(raw):
            return int(raw), f"must be a whole number, not {_show(raw)}"
        return int(raw) if self.whole else raw, None

    def _range(self) -> str:
        return f"{self.minimum} and more" if self.maximum is None else f"{self.minimum} to {self.maximum}"


@dataclass(frozen=True, slots=True)
class _Choice:
    field: str
    words: tuple[str, ...]

    def read(self, raw: Any) -> tuple[str | None, str | None]:
        if isinstance(raw, str) and raw in self.words:
            return raw, None
        return None, f"must be one of {', '.join(self.words)}, not {_show(raw)}"


@dataclass(frozen=True, slots=True)
class _Flag:
    field: str

    def read(self, raw: Any) -> tuple[bool | None, str | None]:
        if isinstance(raw, bool):
            return raw, None
        return None, f"must be true or false, not {_show(raw)}"


@dataclass(frozen=True, slots=True)
class _Command:
    field: str

    def read(self, raw: Any) -> tuple[str | list[str] | None, str | None]:
        words = raw if isinstance(raw, list) else [raw]
        if words and all(isinstance(word, str) for word in words) and words[0].strip():
            return raw, None
        return None, f"must be a command as text or as a list of texts, not {_show(raw)}"


_KEYS: dict[str, _Key] = {
    "maxLinesPerWindow": _Number("max_lines_per_window", minimum=1),
    "commandPreviewWidth": _Number("command_preview_width", minimum=MIN_PREVIEW_WIDTH),
    "extend_timeout_debounce": _Number("extend_timeout_debounce_s", minimum=0, maximum=300, whole=False),
    "looping_tool_count": _Number("looping_tool_count", minimum=0, maximum=50),
    "piCommand": _Command("pi_command"),
    "containment": _Choice("containment", ("auto", "namespace", "guard", "none")),
    "resumeMode": _Choice("resume_mode", ("retell", "native")),
    "maxResumeCharacters": _Number("max_resume_characters", minimum=1000),
    "harness": _Choice("harness", HARNESS_NAMES),
    "runner": _Choice("runner", ("local", "tmux")),
    "maxBackground": _Number("max_background", minimum=1),
    "maxDepth": _Number("max_depth", minimum=1),
    "warmAgents": _Flag("warm_agents"),
    "warmIdleSeconds": _Number("warm_idle_s", minimum=1, whole=False),
    "warmMaxMemoryMb": _Number("warm_max_memory_mb", minimum=50),
    "maxProcesses": _Number("max_processes", minimum=1),
    "keepRunsDays": _Number("keep_runs_days", minimum=1),
    "keepSessions": _Number("keep_sessions", minimum=1),
    "maxJournalMb": _Number("max_journal_mb", minimum=1),
}
