"""Checks of what the user has configured: settings, profiles, containment, and pi's trust in the project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pi_subagents.diagnosis.situation import Situation
from pi_subagents.errors import SettingsError
from pi_subagents.harness.pi.programs import TRUST_HERE
from pi_subagents.models.finding import Finding
from pi_subagents.paths import ancestors, home_dir, tilde
from pi_subagents.profiles import ProfileCatalog, load_presets, load_profiles, objection_to
from pi_subagents.runners import Mechanism, choose_mechanism
from pi_subagents.settings import settings_paths
from pi_subagents.trust import pi_decision

_MECHANISMS: dict[Mechanism, str] = {
    "namespace": "the kernel kills everything an agent started, through a PID namespace",
    "guard": "a guard process kills everything an agent started",
    "none": "an agent's process group is stopped; processes that left the group are not",
}

# What pi loads from a project only if the user trusts it.
_TRUSTED_ONLY = ("settings.json", "extensions", "skills", "prompts", "themes", "SYSTEM.md", "APPEND_SYSTEM.md")


def check_settings(situation: Situation) -> Iterator[Finding]:
    """What is odd about the settings files."""
    place, settings = situation.place, situation.settings
    warnings = [warning for warning in settings.warnings if warning not in map(str, settings.powerless)]
    for warning in warnings:
        yield Finding("settings", False, warning, "fix the file")
    if not warnings:
        files = [tilde(path) for path in settings_paths(place.cwd, place.agent_dir) if path.is_file()]
        yield Finding("settings", True, ", ".join(files) or "no settings file; the defaults apply")


def check_profiles(situation: Situation) -> Iterator[Finding]:
    """Profile files that cannot be used, or not as their author meant."""
    yield from _check_catalog(load_profiles(situation.place.cwd, situation.place.agent_dir))


def check_presets(situation: Situation) -> Iterator[Finding]:
    """Preset files that cannot be used, or not as their author meant."""
    yield from _check_catalog(load_presets(situation.place.cwd, situation.place.agent_dir))


def _check_catalog(catalog: ProfileCatalog) -> Iterator[Finding]:
    check = f"{catalog.kind.word}s"
    for problem in catalog.broken:
        yield Finding(check, False, f"cannot be used: {problem}", "fix the file")
    for warning in catalog.warnings:
        yield Finding(check, False, warning, "fix the file")
    if not catalog.broken and not catalog.warnings:
        scopes = Counter(profile.scope for profile in catalog.profiles.values())
        yield Finding(check, True, f"{scopes['global']} global, {scopes['project']} in this project")


def check_containment(situation: Situation) -> Iterator[Finding]:
    """Which mechanism makes sure that no agent outlives its run."""
    setting = situation.settings.containment
    try:
        mechanism = choose_mechanism(setting)
    except SettingsError as error:
        yield Finding("containment", False, str(error), 'set subagents.containment to "auto"', needed=True)
        return
    detail = f"{mechanism} (setting: {setting}): {_MECHANISMS[mechanism]}"
    if mechanism == "none":
        yield Finding("containment", False, detail, 'set subagents.containment to "auto", on Linux')
    else:
        yield Finding("containment", True, detail)


def check_power(situation: Situation) -> Iterator[Finding]:
    """Settings, profiles and presets that ask for more than an untrusted file can have."""
    place = situation.place
    catalogs = [load(place.cwd, place.agent_dir) for load in (load_profiles, load_presets)]
    profiles = [profile for catalog in catalogs for profile in catalog.profiles.values()]
    objections = [objection for profile in profiles if (objection := objection_to(profile, place.trust))]
    for sentence in (*map(str, situation.settings.powerless), *objections):
        yield Finding("power", False, sentence)
    if not (situation.settings.powerless or objections):
        yield Finding("power", True, "no setting, profile or preset needs more trust than it has")


def check_trust(situation: Situation) -> Iterator[Finding]:
    """Whether agents load what the project brings for pi; without a saved decision they silently do not."""
    place = situation.place
    protected = [tilde(path) for path in _protected(place.cwd)]
    if not protected:
        yield Finding("trust", True, "this directory has nothing that pi loads only when trusted")
        return
    if pi_decision(place.cwd, place.agent_dir):
        yield Finding("trust", True, f"agents load {', '.join(protected)}")
        return
    yield Finding(
        "trust",
        False,
        f"agents do not load {', '.join(protected)}, because pi does not trust this directory",
        f"if you trust it, {TRUST_HERE}",
    )


def _protected(cwd: Path) -> Iterator[Path]:
    folder = cwd.resolve()
    yield from (folder / ".pi" / name for name in _TRUSTED_ONLY if (folder / ".pi" / name).exists())
    users_own = home_dir().resolve() / ".agents" / "skills"
    for ancestor in ancestors(folder):
        skills = ancestor / ".agents" / "skills"
        if skills.exists() and skills != users_own:
            yield skills
