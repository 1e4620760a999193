"""Puts our MCP server into a client's configuration, and takes it out without a trace."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pi_subagents.errors import ClientConfigError, InvalidCall
from pi_subagents.installing import changes
from pi_subagents.installing.changes import Change, Status
from pi_subagents.installing.clients import SERVER_NAME, SHARED_LAUNCH, Client, Scope, ServerCommand, generic_entry
from pi_subagents.installing.formats import CannotEdit, value_at
from pi_subagents.place import Place
from pi_subagents.trees import Tree, explain


@dataclass(frozen=True, slots=True)
class Installation:
    """A client, whose configuration of it is meant, and how our server is started."""

    client: Client
    scope: Scope
    place: Place
    launch: ServerCommand

    @property
    def entry(self) -> dict[str, Any]:
        """What the client is to know of our server."""
        return self.client.entry(self.launch if self.scope == "user" else SHARED_LAUNCH, self.scope)

    @property
    def tree(self) -> Tree:
        """Where its files are."""
        return Tree() if self.scope == "user" else Tree.of_project(self.place.project)

    def entry_in(self, text: str) -> Any:
        """What a text of the client has at the place of our entry, or None; raises CannotEdit."""
        return value_at(self.client.file_format.parse(text), (self.client.table, SERVER_NAME))

    def put_entry(self, text: str, entry: dict[str, Any]) -> str:
        """The text with an entry of ours in it; raises CannotEdit."""
        return self.client.file_format.merge(text, {self.client.table: {SERVER_NAME: entry}})


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
    return installation.put_entry("", installation.entry)


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
    client, scope = installation.client, installation.scope
    if scope not in client.locations:
        known = " or ".join(client.locations)
        raise InvalidCall(f"{client.title} has no scope {scope!r}; use --scope {known}.")
    path = _choose_file(installation)
    with _explained(path, by_hand), nullcontext() if dry_run else changes.one_at_a_time():
        change = plan(installation, path)
        if not dry_run:
            change.apply(is_private=scope == "user")
    return change


def _choose_file(installation: Installation) -> Path:
    """The file that has our entry, else the first there is, else the first of all."""
    paths = installation.client.paths(installation.scope, installation.place)
    there = [path for path in paths if os.path.lexists(path)]
    return next((path for path in there if _has_entry(installation, path)), next(iter(there), paths[0]))


def _has_entry(installation: Installation, path: Path) -> bool:
    try:
        return installation.entry_in((installation.tree.read(path) or b"").decode()) is not None
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
    after = installation.put_entry(text, installation.entry).encode()
    if before is None:
        return Change(tree, path, "created", before, after)
    if after == before:
        return Change(tree, path, "unchanged", before, after)
    status: Status = "added" if installation.entry_in(text) is None else "updated"
    is_kept = before in changes.backups(path, tree).values()
    return Change(tree, path, status, before, after, backup=None if is_kept else changes.next_backup(path))


def _plan_uninstall(installation: Installation, path: Path) -> Change:
    tree = installation.tree
    before = tree.read(path)
    text = (before or b"").decode()
    if installation.entry_in(text) is None:
        return Change(tree, path, "absent", before, before)
    backups = changes.backups(path, tree)
    for origin, content in [*backups.items(), (None, None)]:  # the last for a file that we made
        was = _text(content)
        if _is_made_of(installation, text, was):
            # Backups made before updates hold nothing but what is there again, and an entry that is to go.
            older = (one for one, kept in backups.items() if _is_made_of(installation, _text(kept), was))
            if origin is None:
                return Change(tree, path, "deleted", before, None, obsolete=tuple(older))
            return Change(tree, path, "restored", before, content, obsolete=(*older, origin))
    after = installation.client.file_format.remove(text, (installation.client.table, SERVER_NAME))
    return Change(tree, path, "removed", before, after.encode())


def _text(content: bytes | None) -> str:
    return (content or b"").decode(errors="replace")


def _is_made_of(installation: Installation, text: str, origin: str) -> bool:
    """Whether installing the entry that `text` has into `origin`, which has none, gave exactly this text."""
    if len(origin) >= len(text):
        return False
    try:
        entry = installation.entry_in(text)
        if not isinstance(entry, dict) or installation.entry_in(origin) is not None:
            return False
        return installation.put_entry(origin, entry) == text
    except CannotEdit:
        return False
