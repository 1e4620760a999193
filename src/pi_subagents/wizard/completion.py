"""What can follow `/profile`, for hosts that complete it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pi_subagents.place import Place
from pi_subagents.profiles import ProfileCatalog, load_profiles, profile_summary
from pi_subagents.wizard.words import ACTIONS, MEANINGS, Action


@dataclass(frozen=True)
class Completion:
    """`value` is all that stands behind `/profile` then; the other two are shown."""

    value: str
    label: str
    description: str


def completions(prefix: str, place: Place) -> list[Completion]:
    """All that begins with what has been typed so far."""
    catalog = load_profiles(place.cwd, place.agent_dir)
    word, space, start = prefix.lstrip().partition(" ")
    if not space:
        return [*_actions(word), *_names(catalog, "show", word)]
    action = ACTIONS.get(word)
    if action in (None, "list", "create"):
        return []
    named = _names(catalog, action, start.lstrip())
    return [Completion(f"{word} {found.value}", found.label, found.description) for found in named]


def _actions(start: str) -> Iterator[Completion]:
    for action, meaning in MEANINGS.items():
        if action.startswith(start):
            yield Completion(action if action == "list" else f"{action} ", action, meaning)


def _names(catalog: ProfileCatalog, action: Action, start: str) -> Iterator[Completion]:
    known = {name: profile_summary(profile) for name, profile in catalog.profiles.items()}
    if action == "delete":  # which is a way to be rid of a broken file
        known = {problem.name_guess: str(problem) for problem in catalog.broken} | known
    for name, description in known.items():
        if name.startswith(start):
            yield Completion(name, name, description)
