"""What `install pi` and `uninstall pi` tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.errors import AgentNotFound
from pi_subagents.harness.pi.programs import LIST_MODELS, child_environ, find_pi
from pi_subagents.paths import data_dir
from pi_subagents.place import Place
from pi_subagents.processes.query import ask
from pi_subagents.surfaces.cli.json_output import print_json
from pi_subagents.surfaces.cli.output import echo

if TYPE_CHECKING:
    from pi_subagents.installing.pi_extension import FolderChange

_WARM_UP_S = 30.0
_SENTENCES = {
    "created": "wrote the extension to {folder}",
    "updated": "updated the extension in {folder}",
    "unchanged": "the extension in {folder} is already up to date",
    "deleted": "deleted the extension in {folder}",
    "absent": "no extension in {folder}; nothing to do",
}


def warm_up(place: Place) -> str:
    """Let pi load the extension once, for what it keeps compiled; what it says if it cannot, else nothing."""
    data = data_dir(place.environ)
    try:
        program = find_pi(place.settings().pi_command, place.environ, data)
    except AgentNotFound as error:
        return str(error)
    quiet = {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}
    environ = {**child_environ(place.environ, place.agent_dir, data), **quiet}
    answer = ask([*program.argv, LIST_MODELS], environ=environ, timeout_s=_WARM_UP_S, cwd=place.cwd)
    if answer.ok:
        return ""
    lines = [line.strip() for line in answer.text.splitlines() if line.strip()]
    why = next((line for line in lines if "extension" in line.lower()), lines[-1] if lines else "no answer")
    return f"pi fails to start with it: {why} (to undo: pi-subagents uninstall pi)"


def print_folder(change: FolderChange, *, dry_run: bool, as_json: bool) -> None:
    """Say what became of the folder, or what would."""
    if as_json:
        print_json(
            {
                "path": str(change.folder),
                "scope": change.scope,
                "status": change.status,
                "changed": change.is_needed and not dry_run,
                "files": [{"path": str(each.path), "status": each.status} for each in change.changes if each.is_needed],
                "dryRun": dry_run,
            }
        )
    elif dry_run and change.is_needed:
        echo(f"would change {change.folder}:")
        for each in change.changes:
            if each.is_needed:
                echo(f"  {each.path.name}: {each.status}")
    else:
        echo(_SENTENCES[change.status].format(folder=change.folder))
