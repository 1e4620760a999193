# Sourced by the scripts: goes to the root of the clone, finds a Python, and lets bootstrap.py bring the rest.
# shellcheck shell=bash

root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cd -- "$root"

# The clone has its own environment and runtime; variables that point elsewhere would break it.
unset PYTHONPATH PYTHONHOME PI_SUBAGENTS_DATA_DIR
# The tests start thousands of interpreters: without kept bytecode each compiles the package anew, a quarter of the time.
unset PYTHONDONTWRITEBYTECODE
# An empty HOME makes programs write to the root of the file system; without one they ask the system.
[[ -n "${HOME:-}" ]] || unset HOME

find_python() {
  local candidate
  for candidate in "$root/.venv/bin/python" python3 python3.14 python3.13 python3.12 python3.11 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  echo "error: Python 3.11 or newer was not found on the PATH; install it and run this again." >&2
  return 1
}

# bootstrap WHAT: brings what that script needs, at the cost of a look when it is there.
bootstrap() {
  local python
  python=$(find_python)
  "$python" -I "$root/scripts/bootstrap.py" "$@"
}
