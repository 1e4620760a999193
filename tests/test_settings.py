"""Settings: the documented defaults and limits, and that a wrong file never stops a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.settings import Settings, load_settings, preview_width


class Files:
    """A project and an agent directory with their settings files."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.agent_dir = root / "agent"
        self.global_file = self.agent_dir / "settings.json"
        self.project_file = self.project / ".pi" / "settings.json"
        for file in (self.global_file, self.project_file):
            file.parent.mkdir(parents=True)

    def load(self, cwd: Path | None = None) -> Settings:
        return load_settings(cwd or self.project, self.agent_dir)

    def write_global(self, **subagents: Any) -> None:
        self.global_file.write_text(json.dumps({"subagents": subagents}))

    def write_project(self, **subagents: Any) -> None:
        self.project_file.write_text(json.dumps({"subagents": subagents}))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.mark.parametrize(
    ("attribute", "default"),
    [
        ("max_lines_per_window", 15),
        ("command_preview_width", None),
        ("extend_timeout_debounce_s", 30),
        ("looping_tool_count", 5),
        ("pi_command", None),
        ("containment", "auto"),
        ("warnings", ()),
    ],
)
def test_without_files_the_documented_defaults_apply(files: Files, attribute: str, default: object) -> None:
    assert getattr(files.load(), attribute) == default


@pytest.mark.parametrize(
    ("key", "attribute", "value"),
    [
        ("maxLinesPerWindow", "max_lines_per_window", 25),
        ("maxLinesPerWindow", "max_lines_per_window", 25.0),
        ("commandPreviewWidth", "command_preview_width", 120),
        ("extend_timeout_debounce", "extend_timeout_debounce_s", 0),
        ("extend_timeout_debounce", "extend_timeout_debounce_s", 0.5),
        ("extend_timeout_debounce", "extend_timeout_debounce_s", 300),
        ("looping_tool_count", "looping_tool_count", 0),
        ("looping_tool_count", "looping_tool_count", 50),
        ("piCommand", "pi_command", "pi --offline"),
        ("piCommand", "pi_command", ["node", "/opt/pi cli.js"]),
        ("containment", "containment", "namespace"),
        ("containment", "containment", "guard"),
        ("containment", "containment", "none"),
    ],
)
def test_a_valid_value_is_taken_without_a_warning(files: Files, key: str, attribute: str, value: object) -> None:
    files.write_global(**{key: value})
    settings = files.load()
    assert getattr(settings, attribute) == value
    assert settings.warnings == ()


@pytest.mark.parametrize(
    ("key", "attribute", "value", "used"),
    [
        ("maxLinesPerWindow", "max_lines_per_window", 0, 1),
        ("maxLinesPerWindow", "max_lines_per_window", 9.7, 9),
        ("commandPreviewWidth", "command_preview_width", 3, 20),
        ("extend_timeout_debounce", "extend_timeout_debounce_s", -1, 0),
        ("extend_timeout_debounce", "extend_timeout_debounce_s", 301, 300),
        ("looping_tool_count", "looping_tool_count", -4, 0),
        ("looping_tool_count", "looping_tool_count", 51, 50),
        ("looping_tool_count", "looping_tool_count", 10**400, 50),
    ],
)
def test_a_value_out_of_range_is_clamped_and_the_warning_says_what_is_used(
    files: Files, key: str, attribute: str, value: object, used: int
) -> None:
    files.write_global(**{key: value})
    settings = files.load()
    assert getattr(settings, attribute) == used
    (warning,) = settings.warnings
    assert warning.startswith(f"{files.global_file}:1: subagents.{key} ")
    assert warning.endswith(f"; using {used}")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("maxLinesPerWindow", True),
        ("maxLinesPerWindow", "15"),
        ("extend_timeout_debounce", [30]),
        ("looping_tool_count", {}),
        ("containment", "strong"),
        ("containment", ["auto"]),
        ("containment", 1),
        ("piCommand", 7),
        ("piCommand", []),
        ("piCommand", "  "),
        ("piCommand", ["node", 1]),
    ],
)
def test_a_value_of_the_wrong_type_is_a_warning_and_the_default_applies(files: Files, key: str, value: object) -> None:
    files.write_project(**{key: value})
    settings = files.load()
    assert settings == Settings(warnings=settings.warnings)
    (warning,) = settings.warnings
    assert f"{files.project_file}:1: subagents.{key} must be" in warning


def test_the_project_overrides_the_global_file_key_by_key(files: Files) -> None:
    files.write_global(maxLinesPerWindow=30, looping_tool_count=9)
    files.write_project(maxLinesPerWindow=40)
    settings = files.load()
    assert (settings.max_lines_per_window, settings.looping_tool_count) == (40, 9)


def test_an_unusable_project_value_leaves_the_global_one_in_force_and_says_so(files: Files) -> None:
    files.write_global(maxLinesPerWindow=30)
    files.write_project(maxLinesPerWindow="many")
    settings = files.load()
    assert settings.max_lines_per_window == 30
    assert settings.warnings[0].endswith('must be a number, not "many"; using 30')


def test_the_project_file_is_found_from_a_folder_below(files: Files) -> None:
    files.write_project(looping_tool_count=8)
    below = files.project / "src" / "deep"
    below.mkdir(parents=True)
    assert files.load(below).looping_tool_count == 8


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n  "subagents": {\n    "looping_tool_count": 3,\n  }\n}', 4),
        ('// a comment\n{"subagents": {}}', 1),
        ('{\n"subagents": {"looping_tool_count": NaN}}', 1),
        ("", 1),
        ("[]", 1),
        ('{\n  "theme": "dark",\n  "subagents": 3\n}', 3),
        ("[" * 200_000, 1),
    ],
)
def test_a_broken_file_is_one_warning_with_its_line_and_the_other_file_still_applies(
    files: Files, text: str, line: int
) -> None:
    files.global_file.write_text(text)
    files.write_project(maxLinesPerWindow=40)
    settings = files.load()
    assert settings.max_lines_per_window == 40
    (warning,) = settings.warnings
    assert warning.startswith(f"{files.global_file}:{line}: ")
    assert warning.endswith("; its settings do not apply")


def test_infinity_written_as_a_large_number_is_refused(files: Files) -> None:
    files.global_file.write_text('{"subagents": {"extend_timeout_debounce": 1e999}}')
    settings = files.load()
    assert settings.extend_timeout_debounce_s == 30
    assert "must be a finite number" in settings.warnings[0]


def test_a_warning_cites_the_line_of_the_key_in_our_section(files: Files) -> None:
    files.global_file.write_text(
        '{\n  "looping_tool_count": 1,\n  "subagents": {\n\n    "looping_tool_count": "x"\n  }\n}'
    )
    assert files.load().warnings[0].startswith(f"{files.global_file}:5: ")


def test_a_byte_order_mark_is_accepted_as_pi_accepts_it(files: Files) -> None:
    files.global_file.write_bytes(b"\xef\xbb\xbf" + b'{"subagents": {"looping_tool_count": 7}}')
    settings = files.load()
    assert (settings.looping_tool_count, settings.warnings) == (7, ())


def test_keys_of_others_and_nulls_are_left_alone(files: Files) -> None:
    files.global_file.write_text('{"theme": "dark", "subagents": {"later": 1, "maxLinesPerWindow": null}}')
    assert files.load() == Settings()


def test_a_file_that_cannot_be_read_is_a_warning(files: Files) -> None:
    files.global_file.mkdir()
    (warning,) = files.load().warnings
    assert warning.startswith(f"{files.global_file}: cannot be read")


@pytest.mark.parametrize(
    ("setting", "columns", "width"),
    [
        (None, None, 160),
        (None, 0, 160),
        (90, None, 90),
        (None, 100, 96),
        (90, 100, 96),
        (None, 24, 20),
        (None, 10, 20),
        (5, None, 20),
    ],
)
def test_the_preview_width_follows_the_terminal_else_the_setting(
    setting: int | None, columns: int | None, width: int
) -> None:
    assert preview_width(Settings(command_preview_width=setting), columns) == width
