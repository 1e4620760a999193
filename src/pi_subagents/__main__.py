"""`python -m pi_subagents` is the command."""

from pi_subagents.surfaces.cli import main

if __name__ == "__main__":
    main()
