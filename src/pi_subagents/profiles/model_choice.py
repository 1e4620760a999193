"""Which model a run of a preset gets: the call's, else the preset's own; there is no third.

A model is checked against those that the agent program offers, but only where that list can decide: an agent with a
key or an extension of its own may have models that nobody else is offered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Protocol

import msgspec

from pi_subagents.errors import InvalidCall
from pi_subagents.models import Profile, ThinkingLevel

_MAX_NAMED = 8
"""Some providers offer hundreds."""


class UnknownModel(InvalidCall):
    """No model was named, or none that is offered; only the task that asked for it fails."""


@dataclass(frozen=True, slots=True)
class CheckedModel:
    """A model as the agent program names it; `warning` says why it could not be checked."""

    name: str
    warning: str | None = None


ModelCheck = Callable[[str], CheckedModel]
"""Finds the model that a text means; raises UnknownModel."""


class Models(Protocol):
    """What the agent program can say about models."""

    def check(self, wanted: str) -> CheckedModel:
        """The model that a text means; raises UnknownModel."""
        ...

    def default_of(self, provider: str) -> str | None:
        """The model to name with a provider that is named alone; None where that is left to the agent program.

        Raises UnknownModel where one must be named and none is the obvious one.
        """
        ...


class UncheckedModels:
    """Passes on what was asked for."""

    def check(self, wanted: str) -> CheckedModel:
        """The model as it was named."""
        return CheckedModel(wanted)

    def default_of(self, _provider: str) -> str | None:
        """Left to the agent program."""
        return None


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A preset with its model settled, and the model as it was asked for."""

    profile: Profile
    requested: str
    warning: str | None = None


def choose_model(preset: Profile, wanted: str | None, check: ModelCheck) -> ModelChoice:
    """Settle the model of a preset's run, of which the call may want another one; raises UnknownModel."""
    requested = wanted or _own_model(preset)
    if requested is None:
        raise UnknownModel(
            f'No model resolved for preset "{preset.name}". '
            'Pass "model" in the call, or add a line "model: provider/id" to the preset.'
        )
    if wanted is not None and preset.api_key is not None:
        _check_key(preset, wanted)
        requested = wanted if "/" in wanted or not preset.model_provider else f"{preset.model_provider}/{wanted}"
    is_special = preset.api_key is not None or preset.extensions is not None
    checked = CheckedModel(requested) if is_special else check(requested)
    profile = msgspec.structs.replace(preset, model=checked.name, provider=None)
    return ModelChoice(profile, wanted or requested, checked.warning)


def _own_model(preset: Profile) -> str | None:
    if preset.model is None or preset.provider is None or preset.model.startswith(f"{preset.provider}/"):
        return preset.model
    return f"{preset.provider}/{preset.model}"


def _check_key(preset: Profile, wanted: str) -> None:
    # A key must never be sent to anybody but the provider that it was written down for.
    provider, slash, _model = wanted.partition("/")
    if slash and provider != preset.model_provider:
        raise UnknownModel(
            f'Preset "{preset.name}" has a key of its own for {preset.model_provider or "its provider"}; '
            f'it cannot be used with the model "{wanted}"'
        )


def only_model_of(provider: str, offered: Sequence[str]) -> str:
    """The one model that a provider offers; raises UnknownModel."""
    models = [name for name in offered if name.lower().startswith(f"{provider.lower()}/")]
    if len(models) != 1:
        raise UnknownModel(
            f'The provider "{provider}" is named without a model, and this version of pi needs both. '
            f'Add a line "model: …" to the profile. Available models: {_some(models)}'
        )
    return models[0].partition("/")[2]


def find_offered(wanted: str, offered: Sequence[str]) -> str:
    """The model on offer that a text means: `provider/id`, or an id that only one provider has; raises UnknownModel.

    A thinking level behind a colon stays where it is.
    """
    for text, level in _readings(wanted.strip()):
        exact = [name for name in offered if name.lower() == text.lower()]
        found = exact or [name for name in offered if _id_of(name) == text.lower()]
        if len(found) > 1:
            raise UnknownModel(f'Several providers offer the model "{wanted}". Name one of: {", ".join(found)}')
        if found:
            return found[0] + level
    raise UnknownModel(f'Unknown model: "{wanted}".{_hint(wanted, offered)} Available models: {_some(offered)}')


def _readings(text: str) -> Iterator[tuple[str, str]]:
    # Some ids have a colon of their own, so the whole text goes first.
    yield text, ""
    name, colon, level = text.rpartition(":")
    if colon and level in tuple(ThinkingLevel):
        yield name, f":{level}"


def _id_of(name: str) -> str:
    return name.partition("/")[2].lower()


def _hint(wanted: str, offered: Sequence[str]) -> str:
    folded = {name.lower(): name for name in offered}
    folded |= {_id_of(name): name for name in reversed(offered)}
    close = get_close_matches(wanted.strip().lower(), folded, n=1)
    return f' Did you mean "{folded[close[0]]}"?' if close else ""


def _some(offered: Sequence[str]) -> str:
    more = f" and {len(offered) - _MAX_NAMED} more" if len(offered) > _MAX_NAMED else ""
    return (", ".join(offered[:_MAX_NAMED]) or "(none)") + more
