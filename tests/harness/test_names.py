"""What can be written in a profile or in the settings is what there is."""

from __future__ import annotations

from pi_subagents.harness import HARNESSES
from pi_subagents.models.profile import HARNESS_NAMES


def test_every_harness_can_be_chosen_and_no_other() -> None:
    assert set(HARNESS_NAMES) == set(HARNESSES)
