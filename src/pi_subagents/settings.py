"""What a user has configured under `subagents` in the two settings files.

Loading never fails: a file or value that cannot be used becomes a warning that names file, line, key and what
applies instead. So does a value that has power (`trust.SETTINGS`) in a file that has none, and a key that nobody knows.
The files belong to `pi`, so they are read as it reads them: JSON without comments, an optional byte order mark, keys of
others outside `subagents` left alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from pi_subagents.encoding import read_json
from pi_subagents.files import read_bounded
from pi_subagents.harness import AGENTS, DEFAULT_AGENT, DEFAULT_HARNESS, PI_HARNESSES
from pi_subagents.harness.pi.programs import command_words
from pi_subagents.paths import project_root
from pi_subagents.text.wording import closest
from pi_subagents.trust import SETTINGS, Trust

Containment = Literal["auto", "namespace", "guard", "none"]
WarmAgents = Literal["auto"] | bool
"""Whether an agent process may work for several tasks; "auto" and true mean the same."""
ResumeMode = Literal["retell", "native"]
RunnerName = Literal["local", "tmux"]

MAX_KEYS = 10_000
"""Of a document that a person wrote; one with more was made to keep us busy."""

_MAX_UNKNOWN = 5
"""Keys that get a warning of their own; a file with more was not written for this program."""

MIN_PREVIEW_WIDTH = 20
DEFAULT_PREVIEW_WIDTH = 160
_TERMINAL_MARGIN = 4
"""Two columns of indent and the arrow with its space."""


class Powerless(msgspec.Struct, frozen=True):
    """Settings that would have power, in a file that has none."""

    path: Path
    line: int
    names: tuple[str, ...]
    objection: str

    def __str__(self) -> str:
        said = ", ".join(f"subagents.{name} ({SETTINGS[name]})" for name in self.names)
        return (
            f"{self.path}:{self.line}: {said} {'has' if len(self.names) == 1 else 'have'} no effect, {self.objection}"
        )


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings in force, and what was wrong with the files they came from."""

    max_lines_per_window: int = 15
    command_preview_width: int | None = None
    extend_timeout_debounce_s: float = 30
    looping_tool_count: int = 5
    pi_command: list[str] | None = None
    containment: Containment = "auto"
    resume_mode: ResumeMode = "retell"
    max_resume_characters: int = 400_000
    keep_runs_days: int | None = None
    harness: str | None = None
    runner: RunnerName = "local"
    max_background: int = 8
    max_depth: int = 1
    warm_agents: WarmAgents = "auto"
    warm_idle_s: float = 60
    warm_max_memory_mb: int = 400
    max_processes: int | None = None
    keep_sessions: int | None = None
    max_journal_mb: int = 1000
    warnings: tuple[str, ...] = ()
    powerless: tuple[Powerless, ...] = ()
    """What some of the warnings are about, for those who may want to trust the file."""

    @property
    def harness_name(self) -> str:
        """How `pi` is spoken to, where it can be."""
        return self.harness or DEFAULT_HARNESS


def preview_width(settings: Settings, tty_columns: int | None) -> int:
    """How wide a tool call preview may be; on a terminal its width decides, elsewhere the setting."""
    if tty_columns:
        return max(MIN_PREVIEW_WIDTH, tty_columns - _TERMINAL_MARGIN)
    return max(MIN_PREVIEW_WIDTH, settings.command_preview_width or DEFAULT_PREVIEW_WIDTH)


def settings_paths(cwd: Path, agent_dir: Path) -> tuple[Path, Path]:
    """The global and the project's settings file; the second overrides the first key by key."""
    return agent_dir / "settings.json", project_root(cwd, agent_dir) / ".pi" / "settings.json"


def load_settings(cwd: Path, agent_dir: Path, *, trusted: bool | None = None) -> Settings:
    """Read both settings files; whatever cannot be used is left out and named in `warnings`.

    `trusted` is what was decided about the project for this call alone; None: what is saved counts.
    """
    own, projects = settings_paths(cwd, agent_dir)
    project = projects.parent.parent
    trust = Trust(agent_dir, project, trusted)
    reading = _Reading()
    reading.file(own, trust.objection(own, None), within=None)
    reading.file(projects, trust.objection(projects, project), within=project)
    return Settings(**reading.values, warnings=tuple(reading.warnings), powerless=tuple(reading.powerless))


class _Reading:
    """What the files read so far come to; of two values for a key, the one that is read last counts."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.warnings: list[str] = []
        self.powerless: list[Powerless] = []

    def file(self, path: Path, objection: str | None, within: Path | None) -> None:
        """Add what a file says; one to whose power there is an `objection` may only describe."""
        try:
            text = read_bounded(path, within=within).decode("utf-8", errors="replace").removeprefix("\ufeff")
            section = _parse_section(text)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self.warnings.append(f"{path}: cannot be read ({error.strerror}); its settings do not apply")
            return
        except _BadFile as error:
            self.warnings.append(f"{path}:{error.line}: {error}; its settings do not apply")
            return
        said = {name: section[name] for name in _KEYS if section.get(name) is not None}
        refused = [name for name in said if objection is not None and SETTINGS[name] is not None]
        for name in (name for name in said if name not in refused):
            self._value(path, text, name, said[name])
        if refused:
            self.powerless.append(Powerless(path, _line_of(text, refused[0]), tuple(refused), objection or ""))
            self.warnings.append(str(self.powerless[-1]))
        self._unknown(path, text, [name for name in section if name not in _KEYS])

    def _unknown(self, path: Path, text: str, names: list[str]) -> None:
        for name in names[:_MAX_UNKNOWN]:
            meant = closest(name, _KEYS)
            hint = f"; did you mean subagents.{meant}?" if meant else ""
            where = f"{path}:{_line_of(text, name)}"
            self.warnings.append(f"{where}: unknown setting subagents.{_shorten(name)} is ignored{hint}")
        if more := names[_MAX_UNKNOWN:]:
            self.warnings.append(f"{path}: {len(more)} more unknown settings under subagents are ignored")

    def _value(self, path: Path, text: str, name: str, raw: Any) -> None:
        key = _KEYS[name]
        value, complaint = key.read(raw, path.parent)
        if value is not None:
            self.values[key.field] = value
        if complaint:
            current = self.values.get(key.field, getattr(Settings(), key.field))
            instead = "ignoring it" if current is None else f"using {_show(current)}"
            self.warnings.append(f"{path}:{_line_of(text, name)}: subagents.{name} {complaint}; {instead}")


class _BadFile(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, line: int, sentence: str) -> None:
        super().__init__(sentence)
        self.line = line


def _parse_section(text: str) -> Mapping[str, Any]:
    try:
        document = read_json(text)
    except (ValueError, RecursionError) as error:
        raise _bad_json(error) from None
    if not isinstance(document, dict):
        raise _BadFile(1, "must contain a JSON object")
    if text.count(":") > MAX_KEYS and _count_keys(document) > MAX_KEYS:
        raise _BadFile(1, f"has more than {MAX_KEYS:,} keys")
    section = document.get("subagents")
    if section is not None and not isinstance(section, dict):
        raise _BadFile(_line_of(text, "subagents"), f'"subagents" must be an object, not {_show(section)}')
    return section or {}


def _bad_json(error: ValueError | RecursionError) -> _BadFile:
    import json  # not for a file that is in order

    if isinstance(error, json.JSONDecodeError):
        return _BadFile(error.lineno, f"not valid JSON ({error.msg}, column {error.colno})")
    return _BadFile(1, f"not valid JSON ({error})")


def _count_keys(value: Any) -> int:
    """All keys of a document, at every depth."""
    if isinstance(value, dict):
        return len(value) + sum(map(_count_keys, value.values()))
    return sum(map(_count_keys, value)) if isinstance(value, list) else 0


def _line_of(text: str, name: str) -> int:
    section = re.search(r'"subagents"\s*:', text)
    start = section.start() if section else 0
    found = re.compile(rf'"{re.escape(name)}"\s*:').search(text, start)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _show(value: Any) -> str:
    import json  # only a complaint shows a value

    return _shorten(json.dumps(value, ensure_ascii=False))


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


# One class for each kind of key: where it is kept, and how what a settings file in `folder` says becomes a usable value
# and a complaint, either of which may be missing.


class _Number(msgspec.Struct, frozen=True):
    field: str
    minimum: int
    maximum: int | None = None
    whole: bool = True

    def read(self, raw: Any, folder: Path) -> tuple[float | None, str | None]:
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
        return f"{self.minimum} or more" if self.maximum is None else f"{self.minimum} to {self.maximum}"


class _Choice(msgspec.Struct, frozen=True):
    field: str
    words: Collection[str]
    hints: Mapping[str, str] = {}

    def read(self, raw: Any, folder: Path) -> tuple[str | None, str | None]:
        if isinstance(raw, str) and raw in self.words:
            return raw, None
        return None, f"must be one of {', '.join(self.words)}, not {_show(raw)}{self.hints.get(str(raw), '')}"


class _AutoOrFlag(msgspec.Struct, frozen=True):
    field: str

    def read(self, raw: Any, folder: Path) -> tuple[WarmAgents | None, str | None]:
        if isinstance(raw, bool) or raw == "auto":
            return raw, None
        return None, f'must be "auto", true or false, not {_show(raw)}'


class _Command(msgspec.Struct, frozen=True):
    field: str

    def read(self, raw: Any, folder: Path) -> tuple[str | list[str] | None, str | None]:
        words = raw if isinstance(raw, list) else [raw]
        if not (words and all(isinstance(word, str) for word in words) and words[0].strip()):
            return None, f"must be a command, as a string or a list of strings, not {_show(raw)}"
        try:
            return command_words(raw, folder), None
        except ValueError as error:
            return None, f"is not a command ({error}): {_show(raw)}"


_Key = _Number | _Choice | _AutoOrFlag | _Command

_OTHER_AGENTS = {
    name: f' (for that agent, write "agent: {name}" in a profile, or pass --agent {name})'
    for name in AGENTS
    if name != DEFAULT_AGENT
}

_KEYS: dict[str, _Key] = {
    "maxLinesPerWindow": _Number("max_lines_per_window", minimum=1),
    "commandPreviewWidth": _Number("command_preview_width", minimum=MIN_PREVIEW_WIDTH),
    "extend_timeout_debounce": _Number("extend_timeout_debounce_s", minimum=0, maximum=300, whole=False),
    "looping_tool_count": _Number("looping_tool_count", minimum=0, maximum=50),
    "piCommand": _Command("pi_command"),
    "containment": _Choice("containment", ("auto", "namespace", "guard", "none")),
    "resumeMode": _Choice("resume_mode", ("retell", "native")),
    "maxResumeCharacters": _Number("max_resume_characters", minimum=1000),
    "harness": _Choice("harness", PI_HARNESSES, _OTHER_AGENTS),
    "runner": _Choice("runner", ("local", "tmux")),
    "maxBackground": _Number("max_background", minimum=1),
    "maxDepth": _Number("max_depth", minimum=1),
    "warmAgents": _AutoOrFlag("warm_agents"),
    "warmIdleSeconds": _Number("warm_idle_s", minimum=1, whole=False),
    "warmMaxMemoryMb": _Number("warm_max_memory_mb", minimum=50),
    "maxProcesses": _Number("max_processes", minimum=1),
    "keepRunsDays": _Number("keep_runs_days", minimum=1),
    "keepSessions": _Number("keep_sessions", minimum=1),
    "maxJournalMb": _Number("max_journal_mb", minimum=1),
}
