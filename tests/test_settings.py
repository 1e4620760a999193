"""Settings: the documented defaults and limits, and that a wrong file never stops a run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.settings import Settings, load_settings, preview_width
from pi_subagents.trust import Decisions


class Files:
    """A project and an agent directory with their settings files."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.agent_dir = root / "agent"
        self.global_file = self.agent_dir / "settings.json"
        self.project_file = self.project / ".pi" / "settings.json"
        for file in (self.global_file, self.project_file):
            file.parent.mkdir(parents=True)
        Decisions(self.agent_dir).trust(self.project)

    def load(self, cwd: Path | None = None) -> Settings:
        return load_settings(cwd or self.project, self.agent_dir)

    def write_global(self, **subagents: Any) -> None:
        self.global_file.write_text(json.dumps({"subagents": subagents}))

    def write_project(self, **subagents: Any) -> None:
        self.project_file.write_text(json.dumps({"subagents": subagents}))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


ATTRIBUTES = {
    "maxLinesPerWindow": "max_lines_per_window",
    "commandPreviewWidth": "command_preview_width",
    "extend_timeout_debounce": "extend_timeout_debounce_s",
    "looping_tool_count": "looping_tool_count",
    "piCommand": "pi_command",
    "containment": "containment",
}


def test_without_files_the_documented_defaults_apply(files: Files) -> None:
    settings = files.load()
    assert [getattr(settings, name) for name in ATTRIBUTES.values()] == [15, None, 30, 5, None, "auto"]
    assert settings.warnings == ()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("maxLinesPerWindow", value) for value in (25, 25.0)),
        ("commandPreviewWidth", 120),
        *(("extend_timeout_debounce", value) for value in (0, 0.5, 300)),
        *(("looping_tool_count", value) for value in (0, 50)),
        *(("piCommand", value) for value in (["pi", "--offline"], ["node", "/opt/pi cli.js"])),
        *(("containment", value) for value in ("namespace", "guard", "none")),
    ],
)
def test_a_valid_value_is_taken_without_a_warning(files: Files, key: str, value: object) -> None:
    files.write_global(**{key: value})
    settings = files.load()
    assert getattr(settings, ATTRIBUTES[key]) == value
    assert settings.warnings == ()


@pytest.mark.parametrize(
    ("key", "value", "used"),
    [
        *(("maxLinesPerWindow", 0, 1), ("maxLinesPerWindow", 9.7, 9), ("commandPreviewWidth", 3, 20)),
        *(("extend_timeout_debounce", -1, 0), ("extend_timeout_debounce", 301, 300)),
        *(("looping_tool_count", -4, 0), ("looping_tool_count", 51, 50), ("looping_tool_count", 10**400, 50)),
    ],
)
def test_a_value_out_of_range_is_clamped_and_the_warning_says_what_is_used(
    files: Files, key: str, value: object, used: int
) -> None:
    files.write_global(**{key: value})
    settings = files.load()
    assert getattr(settings, ATTRIBUTES[key]) == used
    (warning,) = settings.warnings
    assert warning.startswith(f"{files.global_file}:1: subagents.{key} ")
    assert warning.endswith(f"; using {used}")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("maxLinesPerWindow", value) for value in (True, "15")),
        *(("extend_timeout_debounce", [30]), ("looping_tool_count", {})),
        *(("containment", value) for value in ("strong", ["auto"], 1)),
        *(("harness", value) for value in ("claude", "rpc", ["pi-rpc"])),
        *(("piCommand", value) for value in (7, [], "  ", ["node", 1])),
    ],
)
def test_a_value_of_the_wrong_type_is_a_warning_and_the_default_applies(files: Files, key: str, value: object) -> None:
    files.write_project(**{key: value})
    settings = files.load()
    assert settings == Settings(warnings=settings.warnings)
    (warning,) = settings.warnings
    assert f"{files.project_file}:1: subagents.{key} must be" in warning


def test_another_agent_is_no_way_to_speak_to_pi_and_how_to_use_it_is_told(files: Files) -> None:
    files.write_global(harness="claude")
    (warning,) = files.load().warnings
    assert 'write "agent: claude" in a profile, or pass --agent claude' in warning


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


def test_several_warnings_come_in_the_same_order_in_every_process(files: Files) -> None:
    keys = ["maxLinesPerWindow", "commandPreviewWidth", "extend_timeout_debounce", "looping_tool_count", "piCommand"]
    files.write_global(**{key: [] for key in reversed(keys)})
    assert [next(key for key in keys if key in warning) for warning in files.load().warnings] == keys


def test_a_byte_order_mark_is_accepted_as_pi_accepts_it(files: Files) -> None:
    files.global_file.write_bytes(b"\xef\xbb\xbf" + b'{"subagents": {"looping_tool_count": 7}}')
    settings = files.load()
    assert (settings.looping_tool_count, settings.warnings) == (7, ())


def test_keys_of_others_and_nulls_are_left_alone(files: Files) -> None:
    files.global_file.write_text('{"theme": "dark", "maxDepht": 3, "subagents": {"maxLinesPerWindow": null}}')
    assert files.load() == Settings()


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("maxLinesPerWindw", "; did you mean subagents.maxLinesPerWindow?"),
        ("loopingToolCount", "; did you mean subagents.looping_tool_count?"),
        ("extend-timeout-debounce", "; did you mean subagents.extend_timeout_debounce?"),
        ("MAXDEPTH", "; did you mean subagents.maxDepth?"),
        ("colour", ""),
    ],
)
def test_an_unknown_key_in_our_section_is_a_warning_that_names_the_one_that_was_meant(
    files: Files, key: str, hint: str
) -> None:
    files.project_file.write_text(f'{{"subagents": {{\n"maxBackground": 3,\n"{key}": 7}}}}')
    settings = files.load()
    assert settings.max_background == 3
    assert settings.warnings == (f"{files.project_file}:3: unknown setting subagents.{key} is ignored{hint}",)


def test_many_unknown_keys_are_counted_instead_of_named(files: Files) -> None:
    files.write_global(**{f"option {number}": 1 for number in range(100)})
    *named, rest = files.load().warnings
    assert len(named) == 5
    assert rest == f"{files.global_file}: 95 more unknown settings under subagents are ignored"


@pytest.mark.parametrize(
    ("setting", "columns", "width"),
    [
        *((None, None, 160), (None, 0, 160), (90, None, 90), (5, None, 20)),
        *((None, 100, 96), (90, 100, 96), (None, 24, 20), (None, 10, 20)),
    ],
)
def test_the_preview_width_follows_the_terminal_else_the_setting(
    setting: int | None, columns: int | None, width: int
) -> None:
    assert preview_width(Settings(command_preview_width=setting), columns) == width


def test_a_relative_program_is_seen_from_the_file_that_names_it(files: Files) -> None:
    files.write_global(piCommand="./agent.sh --offline")
    assert files.load().pi_command == [str(files.agent_dir / "agent.sh"), "--offline"]
    files.write_project(piCommand=["../tools/agent.sh", "./not-a-program"])
    assert files.load().pi_command == [str(files.project / ".pi" / "../tools/agent.sh"), "./not-a-program"]


def test_a_bare_name_is_looked_for_on_the_path_and_never_here(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    (files.agent_dir / "pi").write_text("")
    monkeypatch.chdir(files.agent_dir)
    files.write_global(piCommand="pi")
    assert files.load().pi_command == ["pi"]


def test_a_path_with_spaces_is_one_word_if_there_is_such_a_file(files: Files) -> None:
    (files.agent_dir / "my agent.sh").write_text("")
    files.write_global(piCommand="./my agent.sh")
    assert files.load().pi_command == [str(files.agent_dir / "my agent.sh")]


@pytest.mark.parametrize("command", ["pi 'open", 'pi "open', "pi \\", "''"])
def test_a_command_that_cannot_be_split_is_a_warning(files: Files, command: str) -> None:
    files.write_global(piCommand=command)
    settings = files.load()
    assert settings.pi_command is None
    assert "subagents.piCommand is not a command" in settings.warnings[0]


def test_a_file_larger_than_a_person_writes_is_not_read(files: Files) -> None:
    files.global_file.write_text(" " * (1024 * 1024 + 1))
    (warning,) = files.load().warnings
    assert "cannot be read (is larger than 1,048,576 bytes)" in warning


def test_a_document_with_too_many_keys_does_not_apply(files: Files) -> None:
    document = {"subagents": {"maxLinesPerWindow": 3}, "rest": [{str(number): 1} for number in range(10_000)]}
    files.global_file.write_text(json.dumps(document))
    settings = files.load()
    assert settings.max_lines_per_window == 15
    assert "has more than 10,000 keys" in settings.warnings[0]


@pytest.mark.parametrize("place", ["/dev/zero", "/dev/full", "pipe", "folder"])
def test_what_is_no_regular_file_is_refused_at_once(files: Files, place: str) -> None:
    files.project_file.unlink(missing_ok=True)
    if place == "pipe":
        os.mkfifo(files.project_file)
    elif place == "folder":
        files.project_file.mkdir()
    else:
        files.global_file.unlink(missing_ok=True)
        files.global_file.symlink_to(place)
    (warning,) = files.load().warnings
    refused = files.project_file if files.project_file.exists() else files.global_file
    assert warning.startswith(f"{refused}: cannot be read")


def test_a_projects_file_that_leads_out_of_the_project_is_not_read(files: Files, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.json").write_text('{"subagents": {"maxLinesPerWindow": 3}}')
    files.project_file.symlink_to(tmp_path / "elsewhere.json")
    settings = files.load()
    assert settings.max_lines_per_window == 15
    assert f"is a link that points outside {files.project}" in settings.warnings[0]


def test_several_powers_of_one_file_are_one_warning(files: Files) -> None:
    files.write_project(piCommand="x", keepSessions=1, maxLinesPerWindow=3)
    settings = load_settings(files.project, files.agent_dir, trusted=False)
    assert settings.max_lines_per_window == 3
    (warning,) = settings.warnings
    assert "subagents.piCommand (runs a program), subagents.keepSessions (deletes records) have no effect" in warning
