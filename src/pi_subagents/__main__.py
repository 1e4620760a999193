"""`python -m pi_subagents` is the command, and with `pane ADDRESS` the program that works in a tmux pane."""

import sys

if __name__ == "__main__":
    if sys.argv[1:2] == ["pane"]:
        from pi_subagents.surfaces.live.pane import main
    else:
        from pi_subagents.surfaces.cli import run_program as main
    main()
