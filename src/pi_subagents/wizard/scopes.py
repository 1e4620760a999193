"""Which of the two scopes is meant, and which files of a name they hold."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from pi_subagents.errors import ProfileError
from pi_subagents.paths import home_dir
from pi_subagents.place import Place
from pi_subagents.profiles import Scope, find_profile_file, load_profiles, profiles_dir
from pi_subagents.profiles.fields import NAME_RULE
from pi_subagents.wizard.questions import Questions

SCOPES: tuple[Scope, ...] = ("global", "project")


def files_of(name: str, place: Place) -> dict[Scope, Path]:
    """The file of that name in each scope that has one, the one in force first; raises ProfileError if none has."""
    found: dict[Scope, Path] = {}
    for scope in reversed(SCOPES):
        if path := find_profile_file(name, directory(scope, place)):
            found[scope] = path
    if not found:
        load_profiles(place.cwd, place.agent_dir).resolve(name)  # knows the sentence about it
        raise ProfileError(f'The profile "{name}" has been deleted in the meantime.')
    return found


def require_one(name: str, found: dict[Scope, Path], scope: Scope | None) -> Scope:
    """The scope that is meant, if that is plain; raises ProfileError."""
    if scope is None and len(found) > 1:
        raise ProfileError(f'There is both a global and a project profile "{name}"; choose one with --scope.')
    if scope is not None and scope not in found:
        raise ProfileError(f'There is no {scope} profile "{name}", only this one: {next(iter(found.values()))}')
    return next(iter(found)) if scope is None else scope


def require_name(name: str) -> None:
    """Raise ProfileError for what cannot be a name."""
    if not NAME_RULE.fullmatch(name):
        raise ProfileError(f'The name "{name}" may only contain letters, digits, "-" and "_".')


def require_free(name: str, scope: Scope, place: Place) -> Path:
    """The path of a profile that is to be created; raises ProfileError if the name cannot be had."""
    require_name(name)
    folder = directory(scope, place)
    path = folder / f"{name}.md"
    if found := find_profile_file(name, folder):
        raise ProfileError(f'A {scope} profile "{name}" already exists in {found}. To change it, edit it.')
    if path.exists():
        raise ProfileError(f"{shlex.quote(str(path))} contains another profile; rename that file first.")
    return path


def directory(scope: Scope, place: Place) -> Path:
    """Where the profiles of a scope are."""
    return profiles_dir(scope, place.cwd, place.agent_dir)


async def ask_scope(title: str, scopes: Sequence[Scope], questions: Questions, place: Place, usual: Scope) -> Scope:
    """Let the person choose."""
    labels = {label(scope, place): scope for scope in scopes}
    return labels[await questions.select(title, list(labels), initial=label(usual, place))]


def label(scope: Scope, place: Place) -> str:
    """A scope with its directory, as short as it can be written."""
    folder = directory(scope, place)
    for base, sign in ((place.cwd, ""), (home_dir(), "~/")):
        if folder.is_relative_to(base) and not (scope == "global" and base == place.cwd):
            return f"{scope.capitalize()} ({sign}{folder.relative_to(base)}/)"
    return f"{scope.capitalize()} ({folder}/)"
