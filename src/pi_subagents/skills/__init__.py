"""Skills: finding those that `pi` would find, and giving them to an agent."""

from pi_subagents.skills.discovery import (
    Skill,
    UnknownSkill,
    check_skills,
    discover_skills,
    needs_skills,
    resolve_skills,
)

__all__ = ["Skill", "UnknownSkill", "check_skills", "discover_skills", "needs_skills", "resolve_skills"]
