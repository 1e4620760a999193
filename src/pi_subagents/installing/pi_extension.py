"""Puts the extension into `pi`: a folder below its `extensions`, for one user or with a project.

The folder holds our TypeScript and `tools.json`, which says what tools there are and how the bridge is started. Each
file is replaced whole and `tools.json` last, so that a pi that starts meanwhile finds one that works.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pi_subagents.errors import InstallError, PiSubagentsError
from pi_subagents.extension import EXTENSION_FILES, PROTOCOL
from pi_subagents.installing.changes import Change, Status, one_at_a_time
from pi_subagents.installing.clients import Scope
from pi_subagents.place import Place
from pi_subagents.tools import TOOLS, Tool
from pi_subagents.trees import Tree, explain

FOLDER = "pi-subagents"
MANIFEST = "tools.json"
_OURS = "painting.ts"
"""Tells our folder from another extension's even when the manifest is gone."""
_MAX_FILES = 50


@dataclass(frozen=True, slots=True)
class Installed:
    """The extension as it is found in a folder; the version is None if its `tools.json` cannot be read."""

    folder: Path
    scope: Scope
    version: str | None
    bridge: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FolderChange:
    """What becomes of the folder, file by file."""

    folder: Path
    scope: Scope
    status: Status
    changes: tuple[Change, ...]

    @property
    def is_needed(self) -> bool:
        return any(change.is_needed for change in self.changes)


def extension_folder(place: Place, scope: Scope) -> Path:
    """Where pi looks: in its own directory, or in `.pi` of the directory it is started in."""
    base = place.agent_dir if scope == "user" else place.project / ".pi"
    return base / "extensions" / FOLDER


def manifest(version: str, scope: Scope) -> dict[str, Any]:
    """What the extension is told: the tools, and how to start the bridge."""
    return {
        "version": version,
        "protocol": PROTOCOL,
        "scope": scope,
        "bridge": list(bridge_command(scope)),
        "tools": [_definition(tool) for tool in TOOLS.values()],
    }


def install(place: Place, scope: Scope, version: str, *, dry_run: bool = False) -> FolderChange:
    """Write the extension or bring it up to date; raises InstallError, and then nothing was changed."""
    with _own_folder(place, scope) as (folder, tree):
        return _write(folder, tree, scope, version, dry_run=dry_run)


def uninstall(place: Place, scope: Scope, *, dry_run: bool = False) -> FolderChange:
    """Delete what `install` wrote, and the folders that are empty without it; raises InstallError."""
    with _own_folder(place, scope) as (folder, tree):
        # The manifest goes first: without it the rest does nothing but say so.
        names = (MANIFEST, *(name for name in _names_in(folder, tree) if name != MANIFEST))
        changes = tuple(_deletion(tree, folder / name) for name in names)
        result = FolderChange(folder, scope, "deleted" if folder.is_dir() else "absent", changes)
        if not dry_run:
            _apply(result)
            for empty in (folder, folder.parent):
                tree.remove_if_empty(empty)
        return result


def find_installed(place: Place) -> Iterator[Installed]:
    """Where pi would find the extension from here."""
    scopes: tuple[Scope, ...] = ("user", "project")
    for scope in scopes:
        folder = extension_folder(place, scope)
        if folder.is_dir():
            version, bridge = _read_manifest(folder, _tree(place, scope))
            yield Installed(folder, scope, version, bridge)


def refresh(folder: Path, version: str, place: Place) -> str | None:
    """Bring a user's installed files up to this version; what to tell the user, or None. Never raises."""
    # Where it is decides whose it is: what a project's file says of itself could be a stranger's word.
    own = extension_folder(place, "user")
    is_own = folder.is_dir() and own.is_dir() and folder.samefile(own)
    was, _ = _read_manifest(folder, Tree() if is_own else Tree(folder))
    if was is None or was == version:
        return None
    if not is_own:  # a file of the repository is not changed behind its owners' backs
        return (
            f"This project's pi extension is from pi-subagents {was}, but you have {version}. "
            "To update it: pi-subagents install pi --project"
        )
    try:
        with _explained(own):
            _write(own, Tree(), "user", version)
    except PiSubagentsError as error:
        return str(error)
    return f"Updated the pi extension from pi-subagents {was} to {version}; type /reload to use it."


def _tree(place: Place, scope: Scope) -> Tree:
    return Tree() if scope == "user" else Tree.of_project(place.project)


def _write(folder: Path, tree: Tree, scope: Scope, version: str, *, dry_run: bool = False) -> FolderChange:
    content = {name: source.read_bytes() for name, source in EXTENSION_FILES.items()}
    content[MANIFEST] = (json.dumps(manifest(version, scope), indent=1, ensure_ascii=False) + "\n").encode()
    found = [(folder / name, tree.read(folder / name), after) for name, after in content.items()]
    changes = [Change(tree, path, _status(before, after), before, after) for path, before, after in found]
    # What an earlier version had beside these; pi would not load it, but it would be a riddle to people.
    obsolete = [name for name in _names_in(folder, tree) if name not in content]
    changes[-1:-1] = [_deletion(tree, folder / name) for name in obsolete]
    status: Status = "created" if all(before is None for _, before, _ in found) else "updated"
    result = FolderChange(folder, scope, status, tuple(changes))
    if not result.is_needed:
        return FolderChange(folder, scope, "unchanged", tuple(changes))
    if not dry_run:
        _apply(result)
    return result


def _deletion(tree: Tree, path: Path) -> Change:
    return Change(tree, path, "deleted", tree.read(path), None)


def _status(before: bytes | None, after: bytes) -> Status:
    return "created" if before is None else "unchanged" if before == after else "updated"


def _apply(change: FolderChange) -> None:
    with one_at_a_time() if change.is_needed else nullcontext():
        for each in change.changes:
            each.apply(is_private=change.scope == "user")


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InstallError(f"{explain(error, folder)}.") from None


@contextmanager
def _own_folder(place: Place, scope: Scope) -> Iterator[tuple[Path, Tree]]:
    """Our folder; one of its name may be another extension's, or a link to somebody's sources."""
    folder, tree = extension_folder(place, scope), _tree(place, scope)
    with _explained(folder):
        if folder.is_symlink():
            raise InstallError(f"{folder} is a link to {folder.readlink()}; remove it and run this again.")
        names = tree.names(folder)
        if names and not {MANIFEST, _OURS}.intersection(names):
            raise InstallError(f"{folder} belongs to another extension; move it and run this again.")
        yield folder, tree


def _names_in(folder: Path, tree: Tree) -> list[str]:
    """Which of our files are there, those of earlier versions too."""
    names = [name for name in tree.names(folder) if name == MANIFEST or name.endswith(".ts")]
    if len(names) > _MAX_FILES:
        raise InstallError(
            f"{folder} contains more than {_MAX_FILES} files; move the others elsewhere and run this again."
        )
    return names


def _read_manifest(folder: Path, tree: Tree) -> tuple[str | None, tuple[str, ...]]:
    """The version and the bridge, as far as they can be made out."""
    try:
        value = json.loads(tree.read(folder / MANIFEST) or b"")
    except (OSError, ValueError, RecursionError):
        return None, ()
    if not isinstance(value, dict) or "protocol" not in value:
        return None, ()
    version, bridge = value.get("version"), value.get("bridge")
    if not isinstance(bridge, list) or not all(isinstance(word, str) for word in bridge):
        bridge = []
    return version if isinstance(version, str) else None, tuple(bridge)


def bridge_command(scope: Scope) -> tuple[str, ...]:
    """How an extension that we wrote starts the bridge."""
    if scope == "project":  # others get the file too, and their installation is elsewhere
        return ("pi-subagents", "bridge")
    # -P: a file of the project's must not be taken for one of our modules.
    return (str(Path(sys.executable).absolute()), "-P", "-m", "pi_subagents", "bridge")


def _definition(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "label": tool.label,
        "description": tool.description,
        "promptSnippet": tool.description.partition(". ")[0].removesuffix("."),
        "needsModel": tool.needs_model,
        "parameters": dict(tool.input_schema),
    }
