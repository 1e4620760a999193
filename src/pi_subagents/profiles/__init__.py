"""Profiles and presets: reading, listing, writing them, and what they mean for the agent's command line."""

from pi_subagents.profiles.agents import Agent, all_agents, find_agent
from pi_subagents.profiles.catalog import (
    BrokenProfile,
    ProfileCatalog,
    UnknownProfile,
    invalidate_profiles_cache,
    load_presets,
    load_profiles,
    presets_dir,
    profiles_dir,
)
from pi_subagents.profiles.formats import PRESET, PROFILE, Format
from pi_subagents.profiles.markdown import profile_to_markdown
from pi_subagents.profiles.model_choice import (
    CheckedModel,
    ModelChoice,
    Models,
    UncheckedModels,
    UnknownModel,
    check_own_model,
    choose_model,
    find_offered,
    find_pattern,
    nearest_offered,
    only_model_of,
)
from pi_subagents.profiles.powers import home_of, objection_to, powers_of, refusal
from pi_subagents.profiles.reading import ProfileFileError, Scope, read_profile
from pi_subagents.profiles.summary import detail_text, profile_detail, profile_summary
from pi_subagents.profiles.writing import (
    create_preset,
    delete_profile,
    find_profile_file,
    require_writable,
    save_profile,
    write_new_file,
)

__all__ = [
    "PRESET",
    "PROFILE",
    "Agent",
    "BrokenProfile",
    "CheckedModel",
    "Format",
    "ModelChoice",
    "Models",
    "ProfileCatalog",
    "ProfileFileError",
    "Scope",
    "UncheckedModels",
    "UnknownModel",
    "UnknownProfile",
    "all_agents",
    "check_own_model",
    "choose_model",
    "create_preset",
    "delete_profile",
    "detail_text",
    "find_agent",
    "find_offered",
    "find_pattern",
    "find_profile_file",
    "home_of",
    "invalidate_profiles_cache",
    "load_presets",
    "load_profiles",
    "nearest_offered",
    "objection_to",
    "only_model_of",
    "powers_of",
    "presets_dir",
    "profile_detail",
    "profile_summary",
    "profile_to_markdown",
    "profiles_dir",
    "read_profile",
    "refusal",
    "require_writable",
    "save_profile",
    "write_new_file",
]
