"""`completion`: what a shell needs to complete commands and options, where click's own way loses something."""

from __future__ import annotations

import click
from click.shell_completion import FishComplete, ShellComplete, add_completion_class, get_completion_class

from pi_subagents.surfaces.cli.output import echo_text

PROGRAM = "pi-subagents"
COMPLETE_VARIABLE = "_PI_SUBAGENTS_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for SHELL.

    To load it in every new shell:

    \b
    bash:
      mkdir -p ~/.local/share/pi-subagents
      pi-subagents completion bash > ~/.local/share/pi-subagents/completion.bash
      echo 'source ~/.local/share/pi-subagents/completion.bash' >> ~/.bashrc

    \b
    zsh:
      mkdir -p ~/.zfunc
      pi-subagents completion zsh > ~/.zfunc/_pi-subagents
      echo 'fpath=(~/.zfunc $fpath); autoload -Uz compinit && compinit' >> ~/.zshrc

    \b
    fish:
      mkdir -p ~/.config/fish/completions
      pi-subagents completion fish > ~/.config/fish/completions/pi-subagents.fish
    """
    from pi_subagents.surfaces.cli.app import app

    echo_text(completer(shell, app).source())


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
