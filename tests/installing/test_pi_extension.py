"""The files of the extension, renewed by the bridge that finds them older or newer than itself."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pi_subagents.errors import InstallError
from pi_subagents.installing.clients import Scope
from pi_subagents.installing.pi_extension import extension_folder, find_installed, install, manifest, refresh, uninstall
from pi_subagents.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "project" / ".pi").mkdir(parents=True)
    return Place(tmp_path / "project", tmp_path / "agent", {})


def test_the_files_of_a_user_are_renewed_and_that_is_said_once(place: Place) -> None:
    install(place, "user", "1.0")
    folder = extension_folder(place, "user")
    (folder / "index.ts").write_text("// of 1.0")
    told = refresh(folder, "1.1", place)
    assert told == "Updated the pi extension from pi-subagents 1.0 to 1.1; type /reload to use it."
    assert [one.version for one in find_installed(place)] == ["1.1"]
    assert (folder / "index.ts").read_text() != "// of 1.0"
    assert refresh(folder, "1.1", place) is None


def test_without_its_manifest_the_extension_does_nothing_so_it_comes_last_and_goes_first(place: Place) -> None:
    assert install(place, "user", "1.0").changes[-1].path.name == "tools.json"
    assert uninstall(place, "user").changes[0].path.name == "tools.json"


def test_a_projects_files_are_left_to_those_who_keep_them_whatever_they_say_of_themselves(
    place: Place, tmp_path: Path
) -> None:
    install(place, "project", "1.0")
    folder = extension_folder(place, "project")
    known = json.loads((folder / "tools.json").read_text())
    (tmp_path / "precious").write_text("precious")
    for scope in ("project", "user"):
        (folder / "tools.json").write_text(json.dumps({**known, "scope": scope}))
        before = {file.name: file.read_bytes() for file in folder.iterdir()}
        said = refresh(folder, "1.1", place)
        assert said is not None
        assert said.endswith("To update it: pi-subagents install pi --project")
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
        (folder / "index.ts").unlink(missing_ok=True)
        (folder / "index.ts").symlink_to(tmp_path / "precious")


def test_a_folder_that_is_not_ours_or_cannot_be_written_is_no_reason_to_fail(place: Place, tmp_path: Path) -> None:
    assert refresh(tmp_path / "nowhere", "1.1", place) is None
    install(place, "user", "1.0")
    folder = extension_folder(place, "user")
    (folder / "index.ts").unlink()
    (folder / "index.ts").mkdir()
    said = refresh(folder, "1.1", place)
    assert said is not None
    assert str(folder) in said


@pytest.mark.parametrize("scope", ["user", "project"])
def test_three_tools_wait_for_a_model_and_every_tool_has_a_line_for_the_prompt(scope: Scope) -> None:
    tools = manifest("1.0", scope)["tools"]
    assert [tool["name"] for tool in tools if tool["needsModel"]] == [
        "subagent",
        "background_agent",
        "background_agent_status",
    ]
    assert all(tool["label"] and tool["promptSnippet"] and "\n" not in tool["promptSnippet"] for tool in tools)


@pytest.mark.parametrize(
    "content",
    ["[" * 200_000, '{"protocol": ' + "[" * 200_000, "1" * 5_000, '{"protocol": 1, "version": [], "bridge": [[]]}'],
    ids=["nested", "nested below", "digits", "of other kinds"],
)
def test_a_manifest_that_cannot_be_one_has_no_version_and_no_bridge(place: Place, content: str) -> None:
    folder = extension_folder(place, "project")
    folder.mkdir(parents=True)
    (folder / "tools.json").write_text(content)
    assert [(one.version, one.bridge) for one in find_installed(place)] == [(None, ())]
    assert "None" not in (refresh(folder, "1.1", place) or "")


def test_files_that_cannot_be_ours_are_named_and_neither_read_nor_deleted(place: Place) -> None:
    install(place, "project", "1.0")
    folder = extension_folder(place, "project")
    (folder / "z.ts").touch()
    os.truncate(folder / "z.ts", 60_000_000)
    with pytest.raises(InstallError, match=r"z\.ts is larger than 1,048,576 bytes; move it away"):
        uninstall(place, "project")
    os.truncate(folder / "z.ts", 1)
    for number in range(50):
        (folder / f"z{number}.ts").touch()
    before = sorted(folder.iterdir())
    with pytest.raises(InstallError, match="contains more than 50 files; move the others elsewhere"):
        uninstall(place, "project")
    assert sorted(folder.iterdir()) == before
