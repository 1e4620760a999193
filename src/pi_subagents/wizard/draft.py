"""A profile while it is being worked on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from pi_subagents.models import Profile


@dataclass
class Draft:
    """What the profile was, and what differs by now; only the latter is ever written."""

    before: Profile
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def profile(self) -> Profile:
        """As it would be saved."""
        return self.apply_to(self.before)

    def apply_to(self, profile: Profile) -> Profile:
        """Another profile with the same changes."""
        return msgspec.structs.replace(profile, **self.changes)

    def set(self, **values: Any) -> None:
        """Change fields; what is as it was is no change."""
        merged = {**self.changes, **values}
        self.changes = {name: value for name, value in merged.items() if value != getattr(self.before, name)}
