"""What the host knows of its agents."""

from __future__ import annotations

from dataclasses import dataclass

from pi_subagents.place import Place


@dataclass(frozen=True)
class Host:
    """The place, and what there is to choose from; what is empty is unknown, and then anything may be typed."""

    place: Place
    models: tuple[str, ...] = ()
    """As `provider/id`."""
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()

    @property
    def providers(self) -> tuple[str, ...]:
        """Every provider with a model, once."""
        return tuple(dict.fromkeys(model.partition("/")[0] for model in self.models))

    def models_of(self, provider: str | None) -> tuple[str, ...]:
        """The ids of a provider's models; without a provider all models in full."""
        if provider is None:
            return self.models
        return tuple(model.removeprefix(f"{provider}/") for model in self.models if model.startswith(f"{provider}/"))
