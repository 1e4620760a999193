"""Brings what a script of this clone needs: `bootstrap.py setup | demo | test | conformance | check | docs | missing`.

Standard library only, because it runs before anything is installed. Each step leaves a stamp in .venv with
the key it was done for; when stamp and key agree it is not done again, so a clone that is set up costs a few
file reads. Progress goes to stdout; a failure is one sentence on stderr, with the details in .venv/setup.log.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from pi_subagents.text.steps import Steps  # noqa: E402 - the package is not installed yet

if TYPE_CHECKING:
    from pi_subagents.harness.programs import Package
    from pi_subagents.processes.node import Node

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
DATA = VENV / "share" / "pi-subagents"
STAMPS = VENV / ".stamps"
LOG = VENV / "setup.log"

PYPROJECT = ROOT / "pyproject.toml"
CONSTRAINTS = ROOT / "constraints.txt"
_PROCESSES = ROOT / "src" / "pi_subagents" / "processes"
INSTALLER = tuple(_PROCESSES / f"{name}.py" for name in ("fetching", "install", "node", "npm"))

STEPS = Steps(sys.stdout, "setup: ")


class SetupError(Exception):
    """What failed and what to do, in one sentence; the output of the program that failed goes to the log."""

    def __init__(self, sentence: str, details: str = "") -> None:
        super().__init__(sentence)
        self.details = details


@dataclass(frozen=True)
class Program:
    """A system program that only some tests need; without it they are skipped."""

    commands: tuple[str, ...]
    apt_package: str
    used_for: str

    @property
    def is_missing(self) -> bool:
        return not any(map(shutil.which, self.commands))


PROGRAMS = (
    Program(commands=("tmux",), apt_package="tmux", used_for="the live view in a real terminal, runs in tmux panes"),
    Program(commands=("chromium", "chromium-browser"), apt_package="chromium", used_for="exported pages in a browser"),
)


@dataclass(frozen=True)
class Agent:
    """An agent from npm that only some tests need; without it they are skipped. Its version is that of `PACKAGES`."""

    name: str
    used_for: str

    @property
    def package(self) -> Package:
        from pi_subagents.harness.programs import PACKAGES

        return PACKAGES[self.name]

    @property
    def pin(self) -> str:
        return f"{self.package.npm}=={self.package.tested}"

    @property
    def folder(self) -> Path:
        return DATA / "hosts" / f"{self.name}-{self.package.tested}"

    @property
    def program(self) -> Path | None:
        return self.package.program_in(self.folder)


AGENTS = (
    Agent("claude", "Claude Code as a sub-agent and with the MCP server"),
    Agent("codex", "Codex as a sub-agent and with the MCP server"),
    Agent("opencode", "opencode as a sub-agent"),
    Agent("gemini", "Gemini CLI as a sub-agent"),
)
OTHER_AGENTS = (
    Agent("qwen", "Qwen Code as a sub-agent"),
    Agent("copilot", "Copilot CLI as a sub-agent"),
)
"""Those that only `./scripts/conformance` brings."""


PI_VERSION_VARIABLE = "PI_VERSION"
"""Which pi everything here runs on, if not the pinned one."""
NEWEST_PI_VERSION = "1.5.0"
NEWEST_PI = DATA / "pi" / NEWEST_PI_VERSION

TYPESCRIPT_PIN = "typescript==7.0.2"
TYPESCRIPT = DATA / "typescript"
NEWEST_TYPES = TYPESCRIPT / "newest-pi"
NEWEST_TYPES_PACKAGES = ("@earendil-works/pi-agent-core", "@earendil-works/pi-ai")
TYPES_CHECK = TYPESCRIPT / "check"
"""A program that checks the extension's types; it is made here because it names the paths of this clone."""


@dataclass(frozen=True)
class Step:
    """Something to bring: again when `key` differs from the stamp, or when `evidence` is gone."""

    name: str
    key: Callable[[], str]
    evidence: Callable[[], tuple[Path, ...]]
    bring: Callable[[], None]

    @property
    def is_done(self) -> bool:
        try:
            stamped = (STAMPS / self.name).read_text(encoding="utf-8")
        except OSError:
            return False
        return stamped == self.key() and all(path.exists() for path in self.evidence())

    def ensure(self) -> None:
        """Bring it if that is not done yet; raises SetupError."""
        if self.is_done:
            return
        self.bring()
        STAMPS.mkdir(exist_ok=True)
        (STAMPS / self.name).write_text(self.key(), encoding="utf-8")


def digest(*files: Path) -> str:
    """One value that changes with the content of any of the files."""
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def run(command: Sequence[str | Path], failure: str, environ: dict[str, str] | None = None) -> None:
    """Run a program quietly; raises SetupError with the sentence `failure`."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environ,
            cwd=ROOT,
        )
    except OSError as error:
        raise SetupError(failure, str(error)) from error
    if done.returncode != 0:
        raise SetupError(failure, done.stdout)


def bring_venv() -> None:
    """Make .venv anew, unless a working one is there that this clone did not bring along from elsewhere."""
    was_moved = (STAMPS / VENV_STEP.name).exists()  # stamped for another place, which its scripts still name
    if runs_inside_venv() and not was_moved and importlib.util.find_spec("pip"):
        return
    base = getattr(sys, "_base_executable", sys.executable)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if not importlib.util.find_spec("ensurepip") or not importlib.util.find_spec("venv"):
        raise SetupError(
            f"{base} cannot make virtual environments because its venv or ensurepip module is missing; "
            f"install it (on Debian and Ubuntu: apt install python{version}-venv) and run this again"
        )
    VENV.mkdir(exist_ok=True)  # a clone that cannot be written is told so here, and the log has a place
    with STEPS.step(f"making the virtual environment .venv with Python {version}"):
        run(
            [base, "-I", "-m", "venv", "--clear", VENV],
            "the virtual environment .venv could not be made; remove .venv and run this again",
        )


def runs_inside_venv() -> bool:
    """Whether this very process is .venv's Python."""
    return Path(sys.prefix).resolve() == VENV.resolve()


def bring_packages() -> None:
    """Install the package itself, so that edits take effect, and what it needs at run time."""
    with STEPS.step("installing pi-subagents and the Python packages it needs"):
        pip_install("-e", ".")


def bring_bytecode() -> None:
    """Compile the package: where PYTHONDONTWRITEBYTECODE is set, every command would do it anew."""
    run([PYTHON, "-m", "compileall", "-q", ROOT / "src"], "the files in src could not be compiled")


def source_stamp() -> str:
    """One value that changes when a file of the package does."""
    stats = (file.stat() for file in sorted((ROOT / "src").rglob("*.py")))
    return hashlib.sha256(repr([(stat.st_mtime_ns, stat.st_size) for stat in stats]).encode()).hexdigest()


def bring_dev() -> None:
    """Install what tests and checks need."""
    with STEPS.step("installing the test and check tools"):
        # Read here because `pip install --group` needs a newer pip than Python 3.11 brings along.
        pip_install(*tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["dependency-groups"]["dev"])


def pip_install(*requirements: str) -> None:
    """Install into .venv in the tested versions."""
    run(
        [PYTHON, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", *requirements],
        "Python packages could not be installed; check the network connection and run this again",
        pinned_environment(),
    )
    importlib.invalidate_caches()  # this process may use what has just come


def pinned_environment() -> dict[str, str]:
    """The environment in which every pip, also one that builds a package, uses the tested versions."""
    pins = CONSTRAINTS.as_uri()  # pip splits the variable at spaces, which a path may have and an address not
    return os.environ | {"PIP_CONSTRAINT": pins, "PIP_BUILD_CONSTRAINT": pins, "PIP_USER": "0"}


def bring_pi() -> None:
    """Bring pi, Node and ripgrep with the code that users have as `pi-subagents install-pi`."""
    DATA.mkdir(parents=True, exist_ok=True)
    os.environ.update(pinned_environment())
    from pi_subagents.processes.install import PINNED_PI_VERSION

    chosen = os.environ.get(PI_VERSION_VARIABLE) or PINNED_PI_VERSION
    if not (DATA / "pi" / PINNED_PI_VERSION).exists() and chosen != PINNED_PI_VERSION:
        fetch_pi(PINNED_PI_VERSION)  # its packages are needed beside any other
    fetch_pi(chosen)


def bring_newest_pi() -> None:
    """Try to bring the newest pi that is known beside the one that is started; `missing` tells of it if that fails."""
    if not NEWEST_PI.exists():
        try:
            fetch_pi(NEWEST_PI_VERSION)
        except SetupError as error:
            STEPS.say(f"{error}; the tests go on without it")
            log(error)
        bring_pi()  # the one that is started is the one that came last


def fetch_pi(version: str) -> None:
    """Bring one version of pi and make it the one that is started."""
    from pi_subagents.processes.install import install_pi

    with install_errors():
        install_pi(version, steps=STEPS, data=DATA)


@contextmanager
def install_errors() -> Iterator[None]:
    """Turn what our own installer raises into a SetupError."""
    from pi_subagents.errors import InstallError

    try:
        yield
    except InstallError as error:
        notes: list[str] = getattr(error, "__notes__", [])
        raise SetupError(str(error).rstrip("."), "\n".join(notes)) from error


def bring_programs() -> None:
    """Try once, as root, to install missing system programs with apt; `missing` names what stays missing."""
    wanted = [program.apt_package for program in PROGRAMS if program.is_missing]
    if not wanted or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-qy", "--no-install-recommends", *wanted]
    try:
        with STEPS.step(f"installing {', '.join(wanted)} with apt"):
            run(["apt-get", "update", "-q"], "apt-get update failed", environ)
            run(install, "apt-get install failed", environ)
    except SetupError as error:
        log(error)


def bring_agents(agents: Sequence[Agent]) -> None:
    """Try to fetch missing agents. `missing` names those that stay missing; the next call tries again."""
    for agent in agents:
        if agent.program:
            continue
        try:
            with STEPS.step(f"fetching {agent.pin} from npm, for tests only"):
                bring_agent(agent)
        except SetupError as error:
            STEPS.say(f"{error}; the tests go on without it")
            log(error)


def npm_install(pin: str, folder: Path) -> Path:
    """Fetch a package into an empty folder; returns the Node that did it."""
    return npm_run("install", "--prefix", folder, pin)


def npm_run(command: str, option: str, folder: Path, *pins: str) -> Path:
    """Let npm put something into an empty folder; returns the Node that did it."""
    from pi_subagents.processes.npm import NPM_OPTIONS, npm_environment

    names = ", ".join(pins)
    node = node_with_npm(names)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run(
        [*node.npm, command, *NPM_OPTIONS, option, folder, *(pin.replace("==", "@") for pin in pins)],
        f"{names} could not be fetched",
        npm_environment(),
    )
    return node.binary


def node_with_npm(names: str) -> Node:
    """The Node that `pi` runs on, with its npm."""
    from pi_subagents.processes.node import find_node

    node = find_node(DATA)
    if node is None or not node.npm:
        raise SetupError(f"{names} cannot be fetched, because Node has no npm here")
    return node


def bring_agent(agent: Agent) -> None:
    """Install one agent with the code of `install-agent`, and remove its other versions."""
    from pi_subagents.processes.install_agent import bring_package

    others = set(agent.folder.parent.glob(f"{agent.name}-*")) - {agent.folder}
    with install_errors():
        bring_package(
            agent.package, agent.package.tested, node_with_npm(agent.pin), lambda _version: agent.folder, DATA
        )
    for other in others:
        shutil.rmtree(other)


def bring_typescript() -> None:
    """Bring the compiler, and tell it where each pi has the types that the extension uses."""
    from pi_subagents.processes.install import PINNED_PI_VERSION

    with STEPS.step(f"fetching {TYPESCRIPT_PIN} from npm, for checks only"):
        node = npm_install(TYPESCRIPT_PIN, TYPESCRIPT)
    pinned = DATA / "pi" / PINNED_PI_VERSION / "node_modules"
    types = {PINNED_PI_VERSION: pinned_types(pinned)}
    if NEWEST_PI.exists():
        bring_newest_types()
        types[NEWEST_PI_VERSION] = newest_types(pinned)
    compiler = TYPESCRIPT / "node_modules" / "typescript" / "bin" / "tsc"
    lines = ["#!/bin/sh", "status=0"]
    for version, modules in types.items():
        configuration = TYPESCRIPT / f"pi-{version}.json"
        configuration.write_text(types_configuration(modules, pinned / "@types"), encoding="utf-8")
        command = shlex.join(map(str, (node, compiler, "--project", configuration)))
        lines.append(f"{command} || {{ status=1; printf '\\nerror: the extension does not fit pi {version}\\n' >&2; }}")
    TYPES_CHECK.write_text("\n".join([*lines, "exit $status", ""]), encoding="utf-8")
    TYPES_CHECK.chmod(0o755)


def bring_newest_types() -> None:
    """Bring the packages that the newest pi takes types from; unpacked, because npm lacks some that they name."""
    pins = [f"{package}=={NEWEST_PI_VERSION}" for package in NEWEST_TYPES_PACKAGES]
    with STEPS.step(f"fetching the types of pi {NEWEST_PI_VERSION} from npm, for checks only"):
        npm_run("pack", "--pack-destination", NEWEST_TYPES, *pins)
        for package in NEWEST_TYPES_PACKAGES:
            unpack_types(package)


def unpack_types(package: str) -> None:
    """Put a package that was fetched where the compiler looks for it."""
    from pi_subagents.processes.npm import BROKEN_ARCHIVE, unpack

    file = NEWEST_TYPES / f"{package[1:].replace('/', '-')}-{NEWEST_PI_VERSION}.tgz"
    folder = NEWEST_TYPES / package
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        unpack(file).rename(folder)
    except BROKEN_ARCHIVE as error:
        raise SetupError(f"{file.name} could not be unpacked ({error})") from error
    file.unlink()


def pinned_types(packages: Path) -> dict[str, Path]:
    """Where the pinned pi, whose packages are all there, has the types of the modules that the extension imports."""
    own = ("@earendil-works/pi-ai", "@earendil-works/pi-coding-agent", "@earendil-works/pi-tui")
    return {name: packages / name / "dist" / "index.d.ts" for name in own} | typebox_types(packages)


def newest_types(pinned: Path) -> dict[str, Path]:
    """Where the newest pi has them, as far as npm does.

    Not checked: what is new in pi-tui, whose types are those of the pinned pi, and whatever has a type of pi-schema,
    pi-telemetry, pi-mcp or pi-codemode, which is `any`.
    """
    packages = NEWEST_PI / "node_modules"
    agent = "@earendil-works/pi-coding-agent"
    return {
        **pinned_types(pinned),
        **{name: NEWEST_TYPES / name / "dist" / "index.d.ts" for name in NEWEST_TYPES_PACKAGES},
        "@earendil-works/pi-ai/compat": NEWEST_TYPES / "@earendil-works" / "pi-ai" / "dist" / "compat.d.ts",
        agent: packages / agent / "dist" / "index.d.ts",
        **typebox_types(packages),
    }


def typebox_types(packages: Path) -> dict[str, Path]:
    """Where TypeBox has its types; its folders are unlike those of pi."""
    return {"typebox": packages / "typebox" / "build" / "index.d.mts"}


def types_configuration(modules: Mapping[str, Path], type_roots: Path) -> str:
    """The compiler's options: as strict as it can be, with pi's own types, for what Node runs as it stands."""
    options = {
        **{"target": "ES2023", "lib": ["ES2023"], "module": "ESNext", "moduleResolution": "bundler"},
        **dict.fromkeys(("strict", "noUnusedLocals", "noUnusedParameters", "noImplicitReturns"), True),
        **dict.fromkeys(("noEmit", "allowImportingTsExtensions", "verbatimModuleSyntax", "erasableSyntaxOnly"), True),
        "skipLibCheck": True,  # pi's types import files that are not there
        "types": ["node"],
        "typeRoots": [str(type_roots)],
        "paths": {name: [str(path)] for name, path in modules.items()},
    }
    sources = ROOT / "src" / "pi_subagents" / "extension" / "*.ts"
    return json.dumps({"compilerOptions": options, "include": [str(sources)]}, indent=2)


VENV_STEP = Step("venv", lambda: str(VENV), lambda: (PYTHON,), bring_venv)
PACKAGES_STEP = Step(
    "packages",
    lambda: digest(PYPROJECT, CONSTRAINTS),
    lambda: (VENV / "bin" / "pi-subagents",),
    bring_packages,
)
BYTECODE_STEP = Step("bytecode", source_stamp, lambda: (), bring_bytecode)
DEV_STEP = Step(
    "dev",
    lambda: digest(PYPROJECT, CONSTRAINTS),
    lambda: tuple(VENV / "bin" / tool for tool in ("mypy", "pytest", "ruff")),
    bring_dev,
)
PI_STEP = Step(
    "pi",
    lambda: f"{digest(*INSTALLER, CONSTRAINTS)} {os.environ.get(PI_VERSION_VARIABLE, '')}",
    lambda: (DATA / "bin" / "pi",),
    bring_pi,
)
NEWEST_PI_STEP = Step("newest-pi", lambda: PI_STEP.key() + NEWEST_PI_VERSION, lambda: (NEWEST_PI,), bring_newest_pi)
PROGRAMS_STEP = Step("programs", lambda: repr(PROGRAMS), lambda: (), bring_programs)
AGENTS_STEP = Step(
    "agents",
    lambda: repr([agent.pin for agent in AGENTS]),
    lambda: tuple(agent.folder for agent in AGENTS),
    lambda: bring_agents(AGENTS),
)
OTHER_AGENTS_STEP = Step(
    "other-agents",
    lambda: repr([agent.pin for agent in OTHER_AGENTS]),
    lambda: tuple(agent.folder for agent in OTHER_AGENTS),
    lambda: bring_agents(OTHER_AGENTS),
)

TYPESCRIPT_STEP = Step(
    "typescript",
    lambda: (
        f"{TYPESCRIPT_PIN} {NEWEST_PI.exists()} {digest(*INSTALLER)} {types_configuration(newest_types(DATA), DATA)}"
    ),
    lambda: (TYPES_CHECK,),
    bring_typescript,
)

NEEDS = {
    "setup": (
        PACKAGES_STEP,
        BYTECODE_STEP,
        DEV_STEP,
        PI_STEP,
        NEWEST_PI_STEP,
        PROGRAMS_STEP,
        AGENTS_STEP,
        TYPESCRIPT_STEP,
    ),
    "demo": (PACKAGES_STEP, BYTECODE_STEP, PI_STEP),
    "test": (PACKAGES_STEP, DEV_STEP, PI_STEP, NEWEST_PI_STEP, PROGRAMS_STEP, AGENTS_STEP),
    "conformance": (PACKAGES_STEP, DEV_STEP, PI_STEP, AGENTS_STEP, OTHER_AGENTS_STEP),
    "check": (PACKAGES_STEP, DEV_STEP, PI_STEP, NEWEST_PI_STEP, TYPESCRIPT_STEP),
    "docs": (PACKAGES_STEP,),
}


@contextmanager
def alone() -> Iterator[None]:
    """Keep two scripts in the same clone from setting it up at the same time."""
    folder = os.open(ROOT / "scripts", os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with STEPS.step("waiting for another script that is setting up this clone"):
                fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def set_up(steps: Sequence[Step]) -> None:
    """Do the steps that are not done, inside .venv; raises SetupError at the first that fails."""
    if all(step.is_done for step in (VENV_STEP, *steps)):
        return
    with alone():
        VENV_STEP.ensure()
        if not runs_inside_venv():
            os.execv(PYTHON, [str(PYTHON), "-I", *sys.argv])
        for step in steps:
            step.ensure()


def log(error: SetupError) -> None:
    """Keep the details of a failure."""
    LOG.write_text(f"{error}\n\n{error.details}\n", encoding="utf-8")


def name_missing() -> None:
    """Say in one line which programs are missing and what is not run without them."""
    missing = [f"{program.commands[0]} ({program.used_for})" for program in PROGRAMS if program.is_missing]
    missing += [f"{agent.name} ({agent.used_for})" for agent in AGENTS if not agent.program]
    if not NEWEST_PI.exists():
        missing.append(f"pi {NEWEST_PI_VERSION} (what is new in it)")
    if missing:
        sys.stdout.write(f"not run, because the program is not installed: {', '.join(missing)}\n")


def main() -> int:
    """The entry point; returns the exit code."""
    what = sys.argv[1] if len(sys.argv) == 2 else ""
    try:
        if what == "missing":
            name_missing()
        elif what in NEEDS:
            set_up(NEEDS[what])
        else:
            raise SetupError(f"usage: bootstrap.py {' | '.join([*NEEDS, 'missing'])}")
    except SetupError as error:
        where = ""
        if error.details:
            log(error)
            where = f" (details: {LOG.relative_to(ROOT)})"
        sys.stderr.write(f"error: {error}{where}.\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"error: this clone cannot be set up ({error}); make it writable and run this again.\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
