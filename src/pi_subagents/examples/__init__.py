"""Ready-made presets, prompt templates and profiles to copy and change. None is in force before it was copied."""

from pathlib import Path

EXAMPLE_PRESETS = Path(__file__).with_name("presets")
"""A preset file for each kind of agent."""

EXAMPLE_PROMPTS = Path(__file__).with_name("prompts")
"""Templates that `pi` offers as `/name`; they hand out work to the presets."""

EXAMPLE_AGENTS = Path(__file__).with_name("agents")
"""A profile file for each agent that `install-agent` installs."""
