"""Checks of what the user has configured: settings, profiles, containment, trust, and our extension in `pi`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pi_subagents.delegation.configuration import why_no_agent_can
from pi_subagents.errors import SettingsError
from pi_subagents.harness import Inspection
from pi_subagents.harness.pi.programs import TRUST_HERE
from pi_subagents.installing.pi_extension import Installed, bridge_command, find_installed
from pi_subagents.models.finding import Finding
from pi_subagents.paths import tilde
from pi_subagents.profiles import ProfileCatalog, load_presets, load_profiles, objection_to
from pi_subagents.runners import Mechanism, choose_mechanism
from pi_subagents.settings import settings_paths
from pi_subagents.trust import pi_decision, pi_protects

_MECHANISMS: dict[Mechanism, str] = {
    "namespace": "the kernel kills everything an agent started, through a PID namespace",
    "guard": "a guard process kills everything an agent started",
    "none": "an agent's process group is stopped; processes that left the group are not",
}

_EXTENSION = "extension"
_VERSION_TIMEOUT_S = 10.0


def check_settings(inspection: Inspection) -> Iterator[Finding]:
    """What is odd about the settings files."""
    place, settings = inspection.place, inspection.settings
    warnings = [warning for warning in settings.warnings if warning not in map(str, settings.powerless)]
    for warning in warnings:
        yield Finding("settings", False, warning, "fix the file")
    if not warnings:
        files = [tilde(path) for path in settings_paths(place.cwd, place.agent_dir) if path.is_file()]
        yield Finding("settings", True, ", ".join(files) or "no settings file; the defaults apply")


def check_profiles(inspection: Inspection) -> Iterator[Finding]:
    """Files of profiles, then of presets, that cannot be used, or not as their author meant."""
    for load in (load_profiles, load_presets):
        yield from _check_catalog(load(inspection.place.cwd, inspection.place.agent_dir))


def _check_catalog(catalog: ProfileCatalog) -> Iterator[Finding]:
    check = f"{catalog.kind.word}s"
    for problem in catalog.broken:
        yield Finding(check, False, f"cannot be used: {problem}", "fix the file")
    for warning in catalog.warnings:
        yield Finding(check, False, warning, "fix the file")
    useless = [
        f"{profile.path}: {why}"
        for profile in catalog.profiles.values()
        if (why := why_no_agent_can(profile, catalog.kind.word))
    ]
    for sentence in useless:
        yield Finding(check, False, f"no agent can use {sentence}", "fix the file")
    if not (catalog.broken or catalog.warnings or useless):
        scopes = Counter(profile.scope for profile in catalog.profiles.values())
        yield Finding(check, True, f"{scopes['global']} global, {scopes['project']} in this project")


def check_containment(inspection: Inspection) -> Iterator[Finding]:
    """Which mechanism makes sure that no agent outlives its run."""
    setting = inspection.settings.containment
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


def check_power(inspection: Inspection) -> Iterator[Finding]:
    """Settings, profiles and presets that ask for more than an untrusted file can have."""
    place = inspection.place
    catalogs = [load(place.cwd, place.agent_dir) for load in (load_profiles, load_presets)]
    profiles = [profile for catalog in catalogs for profile in catalog.profiles.values()]
    objections = [objection for profile in profiles if (objection := objection_to(profile, place.trust))]
    for sentence in (*map(str, inspection.settings.powerless), *objections):
        yield Finding("power", False, sentence)
    if not (inspection.settings.powerless or objections):
        yield Finding("power", True, "no setting, profile or preset needs more trust than it has")


def check_trust(inspection: Inspection) -> Iterator[Finding]:
    """Whether agents load what the project brings for pi; without a saved decision they silently do not."""
    place = inspection.place
    protected = [tilde(path) for path in pi_protects(place.cwd)]
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


def check_extension(inspection: Inspection) -> Iterator[Finding]:
    """What pi itself would find of ours; not to have it there is no fault."""
    installed = list(find_installed(inspection.place))
    if not installed:
        detail = "not installed (optional); to use the tools inside pi: pi-subagents install pi"
        yield Finding(_EXTENSION, True, detail, is_absent=True)
    for one in installed:
        yield _check_installed(inspection, one)


def _check_installed(inspection: Inspection, installed: Installed) -> Finding:
    where = tilde(installed.folder)
    again = "run: pi-subagents install pi" + (" --project" if installed.scope == "project" else "")
    if installed.version is None or not installed.bridge:
        return Finding(_EXTENSION, False, f"the files in {where} are damaged", again)
    if installed.scope == "project" and installed.bridge != bridge_command("project"):
        # A stranger may have written it, and looking must not run what it says.
        reason = "would start something other than pi-subagents"
        return Finding(_EXTENSION, False, f"the files in {where} {reason}", again)
    # Everything but the sub-command: the program is the same, and it says of which version it is.
    answer = inspection.ask(
        [*installed.bridge[:-1], "--version"], environ=inspection.place.environ, timeout_s=_VERSION_TIMEOUT_S
    )
    if not answer.ok:
        return Finding(_EXTENSION, False, f"{where} cannot start {installed.bridge[0]}", again)
    version = answer.text.split()[-1]
    if version != installed.version:
        return Finding(_EXTENSION, False, f"{where} is version {installed.version}, the bridge is {version}", again)
    place = inspection.place
    if installed.scope == "project" and pi_decision(place.cwd, place.agent_dir) is not True:
        reason = "because pi does not trust this directory"
        return Finding(_EXTENSION, False, f"pi does not load {where}, {reason}", TRUST_HERE)
    return Finding(_EXTENSION, True, f"{where}, version {version}")
