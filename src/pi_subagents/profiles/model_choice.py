"""Which model a run gets: the call's, else that of its profile or preset; a preset must have one of the two.

A model is checked against those that the agent program offers, but only where that list can decide: an agent with a
key or an extension of its own may have models that nobody else is offered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import msgspec

from pi_subagents.errors import InvalidCall
from pi_subagents.harness.pi.programs import LOGIN
from pi_subagents.models import Profile, ThinkingLevel
from pi_subagents.text.wording import closest

_MAX_NAMED = 8
"""Some providers offer hundreds."""
_BRING_MODELS = ("--extension", "-e", "--provider", "--model")


class UnknownModel(InvalidCall):
    """No model was named, or none that is offered; only the task that asked for it fails."""


class CheckedModel(msgspec.Struct, frozen=True):
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

    def check_pattern(self, pattern: str) -> CheckedModel:
        """The same for what the agent program may take for a part of a model's name; raises UnknownModel."""
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

    check_pattern = check

    def default_of(self, _provider: str) -> str | None:
        """Left to the agent program."""
        return None


class ModelChoice(msgspec.Struct, frozen=True):
    """A profile or preset with its model settled, and the model as it was asked for."""

    profile: Profile
    requested: str | None = None
    warning: str | None = None


def choose_model(profile: Profile, wanted: str | None, check: ModelCheck) -> ModelChoice:
    """Settle the model of a run that must have one, of which the call may want another one; raises UnknownModel."""
    requested = wanted or _own_model(profile)
    if requested is None:
        raise UnknownModel(
            f'No model resolved for preset "{profile.name}". '
            'Pass "model" in the call, or add a line "model: provider/id" to the preset. On the command line: --model.'
        )
    if wanted is not None and profile.api_key is not None:
        _check_key(profile, wanted)
        requested = wanted if "/" in wanted or not profile.model_provider else f"{profile.model_provider}/{wanted}"
    checked = check(requested) if _is_listed(profile) else CheckedModel(requested)
    settled = msgspec.structs.replace(profile, model=checked.name, provider=None)
    return ModelChoice(settled, wanted or requested, checked.warning)


def check_own_model(profile: Profile, models: Models) -> ModelChoice:
    """A profile whose own model can be had, if it names one, or that is given one where it must; raises UnknownModel.

    The model stays as it is written: the agent program understands more than whole names.
    """
    if profile.model is None:
        model = models.default_of(profile.provider) if profile.provider else None
        return ModelChoice(msgspec.structs.replace(profile, model=model))
    own = _own_model(profile)
    if own is None or not _is_listed(profile):
        return ModelChoice(profile)
    return ModelChoice(profile, warning=models.check_pattern(own).warning)


def _is_listed(profile: Profile) -> bool:
    """Whether the models that are offered to everybody are all that this agent can have."""
    brings_more = any(argument in _BRING_MODELS for argument in profile.extra_args or ())
    return profile.api_key is None and profile.extensions is None and not brings_more


def _own_model(profile: Profile) -> str | None:
    if profile.model is None or profile.provider is None or profile.model.startswith(f"{profile.provider}/"):
        return profile.model
    return f"{profile.provider}/{profile.model}"


def _check_key(profile: Profile, wanted: str) -> None:
    # A key must never be sent to anybody but the provider that it was written down for.
    provider, slash, _model = wanted.partition("/")
    if slash and provider != profile.model_provider:
        raise UnknownModel(
            f'"{profile.name}" has its own key for {profile.model_provider or "its provider"}, '
            f'which cannot be used with the model "{wanted}"'
        )


def only_model_of(provider: str, offered: Sequence[str]) -> str:
    """The one model that a provider offers; raises UnknownModel."""
    models = _models_of(provider, offered)
    if len(models) != 1:
        raise UnknownModel(
            f'The provider "{provider}" is set without a model, but this version of pi needs both. '
            f'Add a line "model: …" to the profile. Available models: {_some(models)}'
            + ("" if models else f" (if pi has no key for it, {LOGIN})")
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
    nearest = nearest_offered(wanted, offered)
    hint = f' Did you mean "{nearest}"?' if nearest else _without_key(wanted, offered)
    raise UnknownModel(f'Unknown model: "{wanted}".{hint} Available models: {_some(offered)}')


def find_pattern(pattern: str, offered: Sequence[str]) -> str:
    """The text itself if it means a model on offer, is a part of the name of one, or may be a new one.

    Of a provider that it knows `pi` takes any model: what is like none on offer, or only another version of one, is no
    slip of the pen. Raises UnknownModel.
    """
    for text, _level in _readings(pattern.strip()):
        if any(_is_part(text, name) for name in offered):
            return pattern
    provider, _slash, model = pattern.strip().partition("/")
    if model and _models_of(provider, offered):
        is_other_version = _without_version(pattern) in map(_without_version, offered)
        if is_other_version or nearest_offered(pattern, offered) is None:
            return pattern
    return find_offered(pattern, offered)


def _models_of(provider: str, offered: Sequence[str]) -> list[str]:
    return [name for name in offered if name.lower().startswith(f"{provider.lower()}/")]


def _without_version(text: str) -> str:
    return re.sub(r"\d+", "#", text.lower())


def _is_part(text: str, name: str) -> bool:
    provider, _slash, part = text.partition("/")
    of_provider = _folded(part) if _models_of(provider, [name]) else ""
    return any(piece and piece in _folded(_id_of(name)) for piece in (of_provider, _folded(text)))


def _folded(text: str) -> str:
    """Without what people write in several ways: `Sonnet 4.5` is `sonnet-4-5`."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _readings(text: str) -> Iterator[tuple[str, str]]:
    # Some ids have a colon of their own, so the whole text goes first.
    yield text, ""
    name, colon, level = text.rpartition(":")
    if colon and level in tuple(ThinkingLevel):
        yield name, f":{level}"


def _id_of(name: str) -> str:
    return name.partition("/")[2].lower()


def nearest_offered(wanted: str, offered: Sequence[str]) -> str | None:
    """The model on offer that a text is most like, whether it names the provider or not."""
    named = {_id_of(name): name for name in reversed(offered)} | {name: name for name in offered}
    name = closest(wanted, named)
    return named[name] if name is not None else None


def _without_key(wanted: str, offered: Sequence[str]) -> str:
    provider, slash, _model = wanted.strip().partition("/")
    if not slash or _models_of(provider, offered):
        return ""
    return f' pi offers no models from "{provider}"; if it lacks a key, {LOGIN}.'


def _some(offered: Sequence[str]) -> str:
    more = f" and {len(offered) - _MAX_NAMED} more" if len(offered) > _MAX_NAMED else ""
    return (", ".join(offered[:_MAX_NAMED]) or "(none)") + more
