"""Ready-made presets and prompt templates to copy and change. None of them is in force before it was copied."""

from pathlib import Path

EXAMPLE_PRESETS = Path(__file__).with_name("presets")
"""A preset file for each kind of agent."""

EXAMPLE_PROMPTS = Path(__file__).with_name("prompts")
"""Templates that `pi` offers as `/name`; they hand out work to the presets."""
