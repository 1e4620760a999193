"""What the shells are told, where click's own way loses something. Loaded only while a shell completes a line."""

from __future__ import annotations

import click
from click.shell_completion import FishComplete, ShellComplete, add_completion_class, get_completion_class

PROGRAM = "pi-subagents"
COMPLETE_VARIABLE = "_PI_SUBAGENTS_COMPLETE"


class WholeFishComplete(FishComplete):
    """click's script cuts a description at its first comma; this one splits off the type and nothing else."""

    source_template = """\
function %(complete_func)s
    set -l response (env %(complete_var)s=fish_complete COMP_WORDS=(commandline -cp) \
COMP_CWORD=(commandline -t) %(prog_name)s)
    for completion in $response
        set -l found (string split --max 1 "," -- $completion)
        switch $found[1]
            case dir
                __fish_complete_directories $found[2]
            case file
                __fish_complete_path $found[2]
            case plain
                echo $found[2]
        end
    end
end

complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


def completer(shell: str, command: click.Command) -> ShellComplete:
    """What writes a shell's script and answers it."""
    register()
    found = get_completion_class(shell)
    assert found is not None
    return found(command, {}, PROGRAM, COMPLETE_VARIABLE)


def register() -> None:
    """Have click use what is here."""
    add_completion_class(WholeFishComplete)
