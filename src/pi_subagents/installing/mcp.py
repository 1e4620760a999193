"""Puts our MCP server into a client's configuration, and takes it out without a trace."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pi_subagents.errors import ClientConfigError, InvalidCall
from pi_subagents.installing import files
from pi_subagents.installing.change import Change, Status
from pi_subagents.installing.clients import SERVER_NAME, Client, Scope, Surroundings, generic_entry
from pi_subagents.installing.formats import CannotEdit, merge, remove, value_at
from pi_subagents.installing.launch import SHARED_LAUNCH, ServerCommand
from pi_subagents.trees import Tree, explain


@dataclass(frozen=True, slots=True)
class Installation:
    """A client, whose configuration of it is meant, and how our server is started."""

    client: Client
    scope: Scope
    around: Surroundings
    launch: ServerCommand

    @property
    def entry(self) -> dict[str, Any]:
        """What the client is to know of our server."""
        return self.client.entry(self.launch if self.scope == "user" else SHARED_LAUNCH, self.scope)

    @property
    def tree(self) -> Tree:
        """Where its files are."""
        return Tree() if self.scope == "user" else Tree.of_project(self.around.project)

    @property
    def place(self) -> tuple[str, str]:
        """Where in a file our entry stands."""
        return self.client.table, SERVER_NAME

    def patch(self, entry: dict[str, Any]) -> dict[str, Any]:
        """A document with nothing in it but an entry of ours."""
        return {self.client.table: {SERVER_NAME: entry}}


def install(installation: Installation, *, dry_run: bool = False) -> Change:
    """Add our entry or bring it up to date; raises ClientConfigError, and then nothing was changed."""
    by_hand = f"add this by hand:\n\n{snippet(installation)}"
    return _change(installation, _plan_install, by_hand, dry_run=dry_run)


def uninstall(installation: Installation, *, dry_run: bool = False) -> Change:
    """Take our entry out: the file is again what it was, or has lost just that entry; raises ClientConfigError."""
    by_hand = f"remove {SERVER_NAME!r} from {installation.client.table!r} by hand."
    return _change(installation, _plan_uninstall, by_hand, dry_run=dry_run)


def snippet(installation: Installation) -> str:
    """What a file with nothing but our entry holds."""
    return merge(installation.client.file_format, "", installation.patch(installation.entry))


def generic_configuration(launch: ServerCommand) -> dict[str, Any]:
    """What most clients understand in their configuration."""
    return {"mcpServers": {SERVER_NAME: generic_entry(launch)}}


def hints(installation: Installation) -> Iterator[str]:
    """What is left for people to do."""
    if installation.scope == "project":
        yield f"everyone who works on the project needs {SHARED_LAUNCH.command} on their PATH"
    yield from installation.client.hints.get(installation.scope, ())
    yield f"{installation.client.title} starts the server the next time you start it"


def _change(
    installation: Installation, plan: Callable[[Installation, Path], Change], by_hand: str, *, dry_run: bool
) -> Change:
    _check_scope(installation)
    path = _choose_file(installation)
    with _explained(path, by_hand), nullcontext() if dry_run else files.one_at_a_time():
        change = plan(installation, path)
        if not dry_run:
            change.apply(is_private=installation.scope == "user")
    return change


def _check_scope(installation: Installation) -> None:
    client, scope = installation.client, installation.scope
    if scope not in client.locations:
        known = " or ".join(client.locations)
        raise InvalidCall(f"{client.title} has no scope {scope!r}; use --scope {known}.")


def _choose_file(installation: Installation) -> Path:
    """The file that has our entry, else the first there is, else the first of all."""
    paths = installation.client.paths(installation.scope, installation.around)
    there = [path for path in paths if os.path.lexists(path)]
    return next((path for path in there if _has_entry(installation, path)), next(iter(there), paths[0]))


def _has_entry(installation: Installation, path: Path) -> bool:
    try:
        return _entry_in(installation, (installation.tree.read(path) or b"").decode()) is not None
    except (OSError, ValueError):
        return False


@contextmanager
def _explained(path: Path, by_hand: str) -> Iterator[None]:
    try:
        yield
    except CannotEdit as error:
        raise ClientConfigError(
            f"{path} was not changed, because it cannot be edited safely: {error}. "
            f"Fix it and run this again, or {by_hand}"
        ) from None
    except UnicodeError:
        raise ClientConfigError(
            f"{path} was not changed, because it would not be UTF-8. Fix it and run this again, or {by_hand}"
        ) from None
    except OSError as error:
        raise ClientConfigError(f"{explain(error, path)}. Fix that, or {by_hand}") from None


def _plan_install(installation: Installation, path: Path) -> Change:
    tree = installation.tree
    before = tree.read(path)
    text = (before or b"").decode()
    after = merge(installation.client.file_format, text, installation.patch(installation.entry)).encode()
    if before is None:
        return Change(tree, path, "created", before, after)
    if after == before:
        return Change(tree, path, "unchanged", before, after)
    status: Status = "added" if _entry_in(installation, text) is None else "updated"
    is_kept = before in files.backups(path, tree).values()
    return Change(tree, path, status, before, after, backup=None if is_kept else files.next_backup(path))


def _plan_uninstall(installation: Installation, path: Path) -> Change:
    tree = installation.tree
    before = tree.read(path)
    text = (before or b"").decode()
    entry = _entry_in(installation, text)
    if entry is None:
        return Change(tree, path, "absent", before, before)
    backups = files.backups(path, tree)
    origins = (one for one, content in backups.items() if _is_made_of(installation, text, _text(content), entry))
    origin = next(origins, None)
    if origin is not None:
        obsolete = _obsolete(installation, backups, _text(backups[origin]))
        return Change(tree, path, "restored", before, backups[origin], obsolete=(*obsolete, origin))
    if _is_made_of(installation, text, "", entry):
        return Change(tree, path, "deleted", before, None, obsolete=_obsolete(installation, backups, ""))
    after = remove(installation.client.file_format, text, installation.place)
    return Change(tree, path, "removed", before, after.encode())


def _obsolete(installation: Installation, backups: Mapping[Path, bytes], origin: str) -> tuple[Path, ...]:
    """Backups made before updates: they hold nothing but what is there again, and an entry that is to go."""
    return tuple(one for one, content in backups.items() if _differs_by_us(installation, _text(content), origin))


def _text(content: bytes) -> str:
    return content.decode(errors="replace")


def _entry_in(installation: Installation, text: str) -> Any:
    return value_at(installation.client.file_format.parse(text), installation.place)


def _differs_by_us(installation: Installation, text: str, origin: str) -> bool:
    try:
        return _is_made_of(installation, text, origin, _entry_in(installation, text))
    except CannotEdit:
        return False


def _is_made_of(installation: Installation, text: str, origin: str, entry: Any) -> bool:
    """Whether installing the entry that `text` has into `origin` gave exactly this text."""
    if not isinstance(entry, dict) or len(origin) >= len(text):
        return False
    try:
        if _entry_in(installation, origin) is not None:
            return False
        return merge(installation.client.file_format, origin, installation.patch(entry)) == text
    except CannotEdit:
        return False
