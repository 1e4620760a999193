"""Profiles and presets: reading, listing, writing them, and what they mean for the agent's command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.lazy import names_from

if TYPE_CHECKING:
    from pi_subagents.profiles.catalog import (
        Agent,
        ProfileCatalog,
        UnknownProfile,
        all_agents,
        find_agent,
        invalidate_profiles_cache,
        load_presets,
        load_profiles,
        presets_dir,
        profiles_dir,
    )
    from pi_subagents.profiles.fields import PRESET, PROFILE, Format
    from pi_subagents.profiles.model_choice import (
        CheckedModel,
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
    from pi_subagents.profiles.reading import ProfileFileError, Scope, read_profile
    from pi_subagents.profiles.summary import (
        detail_text,
        home_of,
        objection_to,
        powers_of,
        profile_detail,
        profile_summary,
        refusal,
    )
    from pi_subagents.profiles.writing import (
        create_preset,
        delete_profile,
        find_profile_file,
        profile_to_markdown,
        require_writable,
        save_profile,
        write_new_file,
    )

__all__ = [
    "PRESET",
    "PROFILE",
    "Agent",
    "CheckedModel",
    "Format",
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

__getattr__ = names_from(
    __name__,
    {
        "catalog": (
            "Agent ProfileCatalog UnknownProfile all_agents find_agent invalidate_profiles_cache load_presets "
            "load_profiles presets_dir profiles_dir"
        ),
        "fields": "PRESET PROFILE Format",
        "model_choice": (
            "CheckedModel Models UncheckedModels UnknownModel check_own_model choose_model find_offered "
            "find_pattern nearest_offered only_model_of"
        ),
        "reading": "ProfileFileError Scope read_profile",
        "summary": "detail_text home_of objection_to powers_of profile_detail profile_summary refusal",
        "writing": (
            "create_preset delete_profile find_profile_file profile_to_markdown require_writable save_profile "
            "write_new_file"
        ),
    },
)
