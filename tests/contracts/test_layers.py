"""The architecture, enforced: which part may use which other part, and who may touch processes and databases.

Each rule is a function from a source tree to sentences about what breaks it. It is run on the real package,
where it must find nothing, and on a package made up to break it, where it must speak up.
"""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path

import pytest

from pi_subagents.harness import HARNESSES
from tests.contracts.layers import ASIDE, ASIDE_IS_USED_FROM, ASIDE_USES_UP_TO, CONTRIBUTING, LAYERS, with_drawing
from tests.contracts.source_tree import (
    PACKAGE,
    Import,
    Module,
    SourceTree,
    When,
    calls_to,
    methods_called,
    read_source_tree,
)

SOURCE = Path(__file__).parents[2] / "src" / PACKAGE

PROCESS_LIBRARIES = ("multiprocessing", "pty", "signal", "subprocess")
PROCESS_CALLS = {
    "os": frozenset(
        {"fork", "forkpty", "kill", "killpg", "popen", "posix_spawn", "posix_spawnp", "system"}
        | {f"exec{kind}" for kind in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")}
    ),
    "asyncio": frozenset({"create_subprocess_exec", "create_subprocess_shell"}),
}
# Programs of their own, which no module imports: what they do to processes is what they are for.
STAND_ALONE = ("testing.agent_program",)
DATABASE_LIBRARIES = ("fcntl", "sqlite3")

# What a harness gathers before a launch and what `doctor` asks it; everything else in `harness/` is pure.
HARNESS_LOOKS_AT_FILES = (
    "harness.checks",
    "harness.codex.codex",
    "harness.programs",
    *(f"harness.pi.{module}" for module in ("checks", "programs")),
)
FILE_LIBRARIES = ("glob", "io", "shutil", "tempfile", f"{PACKAGE}.files", f"{PACKAGE}.trees")
FILE_CALLS = frozenset(
    {"access", "listdir", "lstat", "makedirs", "open", "readlink", "remove", "rename", "scandir", "stat", "walk"}
)
FILE_METHODS = frozenset(
    {"exists", "glob", "is_dir", "is_file", "is_symlink", "iterdir", "lstat", "mkdir", "open", "read_bytes"}
    | {"read_text", "readlink", "realpath", "resolve", "rglob", "rmdir", "stat", "symlink_to", "touch", "unlink"}
    | {"write_bytes", "write_text"}
)

# library: (where it may be loaded with the module, where a function may load it)
HEAVY_LIBRARIES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "click": (("surfaces.cli",), ("surfaces.cli",)),
    "markdown_it": ((), ("export",)),
    "mcp": (("surfaces.mcp",), ("surfaces.mcp",)),
    "rich": (("surfaces.cli.markdown",), ("surfaces",)),
    "ruamel": ((), ("profiles", "settings", "surfaces.cli.task_files")),
    "textual": (("surfaces.watch",), ("surfaces.watch",)),
    "wcwidth": ((), ("text.cells",)),
}

JSON_WRITERS = {
    "json": frozenset({"JSONEncoder", "dump", "dumps", "encode", "format"}),
    "msgspec.json": frozenset({"Encoder", "encode", "format"}),
    "pi_subagents.encoding": frozenset({"encode_any"}),
}

TYPED_DECODING = {"msgspec": frozenset({"convert"}), "msgspec.json": frozenset({"decode"})}

MAX_LINES = 400

Rule = Callable[[SourceTree], Iterator[str]]


def unknown_modules(tree: SourceTree) -> Iterator[str]:
    """Every top-level module has a place in the architecture."""
    placed = {*ASIDE, *(room for rooms in LAYERS.values() for room in rooms)}
    for top in sorted({module.top for module in tree.modules} - placed):
        yield (
            f"{PACKAGE}/{top} is in no layer: decide where it belongs and add it to LAYERS in tests/contracts/layers.py"
        )


def upward_imports(tree: SourceTree) -> Iterator[str]:
    """Nothing imports from a layer above its own, not even inside a function or for a type."""
    for module, target, found in _internal_imports(tree):
        own, other = _layer(module.top), _layer(target.partition(".")[0])
        if own is not None and other is not None and own < other:
            yield f"{module.at(found.line)} (layer {own}) imports {target or PACKAGE} (layer {other})"


def runners_and_store_mixed(tree: SourceTree) -> Iterator[str]:
    """Processes and files know nothing of each other; only the supervisor brings them together."""
    for module, target, found in _internal_imports(tree):
        if {module.top, target.partition(".")[0]} in ({"runners", "store"}, {"processes", "store"}):
            yield f"{module.at(found.line)} imports {target}, but runners and store must not know each other"


def surfaces_mixed(tree: SourceTree) -> Iterator[str]:
    """A surface does not use another one; only the command line may start one, inside a function."""
    for module, target, found in _internal_imports(tree):
        own, other = _surface(module.name), _surface(target)
        if not own or not other or own == other:
            continue
        if own != "cli":
            yield f"{module.at(found.line)} imports {target}, another surface; move what both need below them"
        elif found.when is When.EAGER:
            yield f"{module.at(found.line)} loads {target} eagerly; import it in the command that starts it"


def surfaces_and_store(tree: SourceTree) -> Iterator[str]:
    """What is on disk is reached through `runs`: neither a surface nor a tool knows how the store keeps it."""
    for module, target, found in _internal_imports(tree):
        if module.top in ("surfaces", "tools") and target.partition(".")[0] == "store":
            yield f"{module.at(found.line)} imports {target}; use or extend what runs/ offers"


def aside_entangled(tree: SourceTree) -> Iterator[str]:
    """`offline` and `testing` stay usable on their own, and the engine works without them."""
    for module, target, found in _internal_imports(tree):
        top = target.partition(".")[0]
        if module.top in ASIDE and top != module.top and (_layer(top) or 9) > ASIDE_USES_UP_TO:
            yield f"{module.at(found.line)} imports {target or PACKAGE}, above layer {ASIDE_USES_UP_TO}"
        if top in ASIDE and (_layer(module.top) or 9) < ASIDE_IS_USED_FROM:
            yield f"{module.at(found.line)} imports {target}, which only surfaces may use"


def import_cycles(tree: SourceTree) -> Iterator[str]:
    """No module needs itself to be loaded first."""
    graph: dict[str, set[str]] = {module.name: set() for module in tree.modules}
    for module, target, found in _internal_imports(tree):
        if found.when is When.EAGER:
            graph[module.name].add(target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        yield f"import cycle: {' → '.join(name or PACKAGE for name in reversed(error.args[1]))}"


def processes_outside_runners(tree: SourceTree) -> Iterator[str]:
    """Only `runners` starts, signals or replaces processes."""
    for module in tree.modules:
        if module.is_in("runners") or module.is_in("processes") or module.name in STAND_ALONE:
            continue
        for found in module.imports:
            if _library(found) in PROCESS_LIBRARIES:
                yield f"{module.at(found.line)} imports {found.target}; only runners/ may"
        for library, names in PROCESS_CALLS.items():
            for name, line in calls_to(module, library, names):
                yield f"{module.at(line)} uses {library}.{name}; only runners/ may"


def files_in_harness(tree: SourceTree) -> Iterator[str]:
    """A harness does not touch files, except in the few modules that gather what a launch needs."""
    for module in tree.modules:
        if not module.is_in("harness") or module.name in HARNESS_LOOKS_AT_FILES:
            continue
        for found in module.imports:
            if found.target in FILE_LIBRARIES:
                yield f"{module.at(found.line)} imports {found.target}; a harness may not touch files there"
        for name, line in (*calls_to(module, "os", FILE_CALLS), *methods_called(module, FILE_METHODS)):
            yield f"{module.at(line)} calls {name}; a harness may not touch files there"


def modes_outside_harness(tree: SourceTree) -> Iterator[str]:
    """Everybody else gets a harness from the table, by its name: a module that names one would serve no other."""
    for module in tree.modules:
        for library, _, name in (path.rpartition(".") for path in HARNESSES.values()):
            for _, line in () if module.is_in("harness") else calls_to(module, library, frozenset({name})):
                yield f"{module.at(line)} uses {name}; ask harness_named()"


def databases_outside_store(tree: SourceTree) -> Iterator[str]:
    """Only `store` locks files and opens databases; an install locks the folder that it works in."""
    for module in tree.modules:
        for found in module.imports:
            is_install = module.is_in("processes.fetching") and _library(found) == "fcntl"
            if _library(found) in DATABASE_LIBRARIES and not module.is_in("store") and not is_install:
                yield f"{module.at(found.line)} imports {found.target}; only store/ may"


def heavy_imports(tree: SourceTree) -> Iterator[str]:
    """Libraries that are slow to load are loaded by the part that needs them, when it needs them."""
    for module in tree.modules:
        for found in module.imports:
            if _library(found) not in HEAVY_LIBRARIES:
                continue
            eager, lazy = HEAVY_LIBRARIES[_library(found)]
            allowed = eager if found.when is When.EAGER else lazy
            if not any(map(module.is_in, allowed)):
                places = ", ".join(allowed) or "no module"
                yield f"{module.at(found.line)} imports {found.target} {found.when}; {places} may do so"


def printing_elsewhere(tree: SourceTree) -> Iterator[str]:
    """One module of the command prints; what everybody else writes goes through it and is made harmless there."""
    for module in tree.modules:
        if module.name != "surfaces.cli.output":
            for name, line in calls_to(module, "click", frozenset({"echo", "secho", "echo_via_pager"})):
                yield f"{module.at(line)} uses click.{name}; use surfaces/cli/output.py"


def json_printed_elsewhere(tree: SourceTree) -> Iterator[str]:
    """One module of the command writes JSON; there everything is escaped that a terminal would obey."""
    for module in tree.modules:
        if module.is_in("surfaces.cli") and module.name != "surfaces.cli.output":
            for library, names in JSON_WRITERS.items():
                for name, line in calls_to(module, library, names):
                    yield f"{module.at(line)} uses {library}.{name}; use surfaces/cli/output.py"


def typed_decoding_elsewhere(tree: SourceTree) -> Iterator[str]:
    """One module has msgspec decode: two threads that begin to at the same time would crash the program."""
    for module in tree.modules:
        if module.name != "encoding" and any(_library(found) == "msgspec" for found in module.imports):
            calls = (calls_to(module, library, names) for library, names in TYPED_DECODING.items())
            for name, line in (*chain.from_iterable(calls), *methods_called(module, frozenset({"Decoder"}))):
                yield f"{module.at(line)} uses {name} of msgspec; use encoding.py"


def missing_docstrings(tree: SourceTree) -> Iterator[str]:
    """Every module says what it is for."""
    for module in tree.modules:
        body = module.tree.body
        first = getattr(body[0], "value", None) if body else None
        if not isinstance(getattr(first, "value", None), str):
            yield f"{module.at(1)} has no docstring; say what the module is for"


def long_files(tree: SourceTree) -> Iterator[str]:
    """No source file outgrows a reader."""
    for path in sorted(tree.root.rglob("*")):
        if path.suffix in (".py", ".ts", ".js"):
            lines = len(path.read_text(encoding="utf-8").splitlines())
            if lines > MAX_LINES:
                yield f"{path.relative_to(tree.root)} has {lines} lines; the limit is {MAX_LINES}"


def _internal_imports(tree: SourceTree) -> Iterator[tuple[Module, str, Import]]:
    for module in tree.modules:
        for found in module.imports:
            if _library(found) == PACKAGE:
                yield module, found.target.removeprefix(PACKAGE).removeprefix("."), found


def _library(found: Import) -> str:
    return found.target.partition(".")[0]


def _layer(top: str) -> int | None:
    return next((number for number, names in LAYERS.items() if top in names), None)


def _surface(name: str) -> str:
    top, _, rest = name.partition(".")
    return rest.partition(".")[0] if top == "surfaces" else ""


RULES: tuple[Rule, ...] = (
    unknown_modules,
    upward_imports,
    runners_and_store_mixed,
    surfaces_mixed,
    surfaces_and_store,
    aside_entangled,
    import_cycles,
    processes_outside_runners,
    files_in_harness,
    modes_outside_harness,
    databases_outside_store,
    heavy_imports,
    printing_elsewhere,
    json_printed_elsewhere,
    typed_decoding_elsewhere,
    missing_docstrings,
    long_files,
)


@pytest.fixture(scope="module")
def package() -> SourceTree:
    return read_source_tree(SOURCE)


def test_the_package_is_found(package: SourceTree) -> None:
    assert {"errors", "models", "paths"} <= {module.top for module in package.modules}


def test_every_room_of_the_table_exists(package: SourceTree) -> None:
    rooms = {*ASIDE, *(room for rooms in LAYERS.values() for room in rooms)}
    assert not rooms - {module.top for module in package.modules}


def test_the_drawing_of_the_layers_is_up_to_date() -> None:
    page = CONTRIBUTING.read_text(encoding="utf-8")
    assert page == with_drawing(page), "CONTRIBUTING.md shows other layers; run ./scripts/docs"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps(rule: Rule, package: SourceTree) -> None:
    findings = list(rule(package))
    assert not findings, "\n".join([rule.__doc__ or "", *findings])


BROKEN: tuple[tuple[Rule, Mapping[str, str], str], ...] = (
    (unknown_modules, {"novelty.py": ""}, "add it to LAYERS"),
    (unknown_modules, {"novelty/__init__.py": ""}, "pi_subagents/novelty is in no layer"),
    (upward_imports, {"models/run.py": "import pi_subagents.store.index"}, "models/run:2 (layer 1)"),
    (upward_imports, {"fold.py": "from pi_subagents.tools import delegate"}, "imports tools (layer 5)"),
    (
        upward_imports,
        {"fold.py": "def f():\n    from pi_subagents import delegation", "delegation.py": ""},
        "(layer 5)",
    ),
    (upward_imports, {"fold.py": "if TYPE_CHECKING:\n    from pi_subagents.delegation import S"}, "(layer 5)"),
    (upward_imports, {"store/index.py": "from ..supervisor import drive"}, "imports supervisor (layer 4)"),
    (
        upward_imports,
        {"runners/child.py": "f('pi_subagents.background.keeper')"},
        "imports background.keeper (layer 5)",
    ),
    (
        upward_imports,
        {"harness/__init__.py": "T = {'x': 'pi_subagents.tools.x.X'}", "tools/x.py": ""},
        "imports tools.x (layer 5)",
    ),
    (upward_imports, {"delegation.py": "from pi_subagents import delegate"}, "imports pi_subagents (layer 6)"),
    (runners_and_store_mixed, {"runners/child.py": "from pi_subagents.store import lease"}, "imports store"),
    (runners_and_store_mixed, {"store/lease.py": "import pi_subagents.runners.child"}, "imports runners.child"),
    (surfaces_mixed, {"surfaces/mcp.py": "from pi_subagents.surfaces.cli import echo"}, "another surface"),
    (surfaces_mixed, {"surfaces/mcp.py": "def f():\n    import pi_subagents.surfaces.live"}, "another surface"),
    (surfaces_mixed, {"surfaces/cli/main.py": "import pi_subagents.surfaces.live"}, "loads surfaces.live"),
    (surfaces_and_store, {"surfaces/cli/stop.py": "from pi_subagents.store import load_run"}, "imports store"),
    (surfaces_and_store, {"surfaces/mcp.py": "def f():\n    import pi_subagents.store.index"}, "imports store.index"),
    (surfaces_and_store, {"tools/a.py": "from ..store import Index"}, "use or extend what runs/ offers"),
    (aside_entangled, {"offline/demo.py": "from pi_subagents.delegation import delegate"}, "above layer 2"),
    (aside_entangled, {"testing/fakes.py": "import pi_subagents.offline.server"}, "above layer 2"),
    (aside_entangled, {"delegation.py": "import pi_subagents.testing.fakes"}, "only surfaces may use"),
    (aside_entangled, {"harness/__init__.py": "T = 'pi_subagents.testing.echo.Echo'"}, "only surfaces may use"),
    (
        import_cycles,
        {"fold.py": "from pi_subagents import outcome", "outcome.py": "from pi_subagents.fold import f"},
        "import cycle:",
    ),
    (import_cycles, {"models/__init__.py": "from .run import R", "models/run.py": "from . import R"}, "models.run"),
    (processes_outside_runners, {"delegation.py": "import subprocess"}, "imports subprocess"),
    (processes_outside_runners, {"store/lease.py": "def f():\n    from signal import SIGTERM"}, "imports signal"),
    (processes_outside_runners, {"delegation.py": "import os\nos.killpg(1, 9)"}, "delegation:3 uses os.killpg"),
    (processes_outside_runners, {"delegation.py": "import os as o\no.kill(1, 9)"}, "uses os.kill"),
    (processes_outside_runners, {"delegation.py": "from os import fork"}, "uses os.fork"),
    (processes_outside_runners, {"tools/a.py": "asyncio.create_subprocess_exec('x')"}, "uses asyncio.create"),
    (processes_outside_runners, {"testing/fakes.py": "import signal"}, "imports signal"),
    (files_in_harness, {"harness/pi/decoder.py": "def f(p):\n    return p.read_bytes()"}, "decoder:3 calls read_bytes"),
    (files_in_harness, {"harness/contract.py": "def f(p):\n    with open(p): ..."}, "calls open"),
    (files_in_harness, {"harness/pi/arguments.py": "def f(p):\n    return p.stat()"}, "calls stat"),
    (files_in_harness, {"harness/pi/arguments.py": "import os as o\ndef f(p):\n    o.listdir(p)"}, "calls listdir"),
    (
        files_in_harness,
        {"harness/acp/mode.py": "from pi_subagents.files import read", "files.py": ""},
        "imports pi_sub",
    ),
    (files_in_harness, {"harness/acp/mode.py": "def f():\n    import shutil"}, "imports shutil"),
    (
        modes_outside_harness,
        {"background/launch.py": "from pi_subagents.harness.pi.rpc import PiRpc", "harness/pi/rpc.py": ""},
        "ask harness_named()",
    ),
    (databases_outside_store, {"delegation.py": "import sqlite3"}, "imports sqlite3"),
    (databases_outside_store, {"runners/child.py": "def f():\n    import fcntl"}, "imports fcntl"),
    (heavy_imports, {"surfaces/live/view.py": "from rich.live import Live"}, "imports rich.live when the module"),
    (heavy_imports, {"delegation.py": "def f():\n    import rich"}, "imports rich when a function"),
    (heavy_imports, {"surfaces/live/view.py": "import click"}, "imports click"),
    (heavy_imports, {"export/prose.py": "import markdown_it"}, "imports markdown_it when the module"),
    (heavy_imports, {"profiles/files.py": "from ruamel.yaml import YAML"}, "no module may do so"),
    (heavy_imports, {"surfaces/cli/main.py": "def f():\n    import mcp"}, "imports mcp"),
    (heavy_imports, {"surfaces/cli/main.py": "import textual.app"}, "imports textual.app"),
    (heavy_imports, {"text/cells.py": "from wcwidth import wcswidth"}, "imports wcwidth when the module"),
    (printing_elsewhere, {"surfaces/cli/run.py": "import click\nclick.echo('x')"}, "run:3 uses click.echo"),
    (printing_elsewhere, {"surfaces/cli/run.py": "from click import secho"}, "uses click.secho"),
    (json_printed_elsewhere, {"surfaces/cli/a.py": "import json\necho(json.dumps(1))"}, "a:3 uses json.dumps"),
    (json_printed_elsewhere, {"surfaces/cli/b/a.py": "from json import dump"}, "b/a:2 uses json.dump"),
    (json_printed_elsewhere, {"surfaces/cli/a.py": "from msgspec import json\njson.encode(1)"}, "uses json.encode"),
    (json_printed_elsewhere, {"surfaces/cli/a.py": "import msgspec\nmsgspec.json.format(b'')"}, "msgspec.json.format"),
    (json_printed_elsewhere, {"surfaces/cli/a.py": "import msgspec.json as j\nj.Encoder()"}, "msgspec.json.Encoder"),
    (json_printed_elsewhere, {"surfaces/cli/a.py": "from pi_subagents.encoding import encode_any"}, "encode_any"),
    (typed_decoding_elsewhere, {"store/a.py": "import msgspec\nmsgspec.convert(1, int)"}, "a:3 uses convert"),
    (typed_decoding_elsewhere, {"fold.py": "from msgspec import json\njson.Decoder(int)"}, "fold:3 uses Decoder"),
    (typed_decoding_elsewhere, {"tools/a.py": "import msgspec\nmsgspec.json.decode(b'', type=A)"}, "a:3 uses decode"),
    (missing_docstrings, {"clock.py": "-"}, "clock:1 has no docstring"),
    (long_files, {"clock.py": "\n" * MAX_LINES}, f"has {MAX_LINES + 1} lines"),
    (long_files, {"extension/index.ts": "\n" * (MAX_LINES + 1)}, "extension/index.ts has"),
)

SOUND: Mapping[str, str] = {
    "__init__.py": "from pi_subagents.delegation import delegate",
    "encoding.py": "import msgspec\nmsgspec.json.Decoder(int)",
    "harness/__init__.py": "T = {'pi': 'pi_subagents.harness.pi.pi.Pi'}",
    "harness/pi/pi.py": "def f(paths):\n    return [path.name for path in paths]",
    "harness/pi/programs.py": "from pi_subagents.files import read_bounded\ndef f(p):\n    return p.read_text()",
    "models/__init__.py": "from .usage import Usage",
    "models/run.py": "from .usage import Usage\nimport os\nos.getpid()",
    "models/usage.py": "if TYPE_CHECKING:\n    from .run import Run",
    "profiles/files.py": "def f():\n    from ruamel.yaml import YAML",
    "runners/child.py": "import os, signal, subprocess\nos.killpg(1, signal.SIGTERM)",
    "store/lease.py": "import fcntl\nfrom pi_subagents.models import run",
    "runs/run.py": "from pi_subagents.store import lease",
    "diagnosis/records.py": "from pi_subagents.store import lease",
    "delegation.py": "from pi_subagents import models\nfrom pi_subagents.runners.child import spawn",
    "offline/server.py": "from pi_subagents import encoding",
    "surfaces/cli/__init__.py": "from .demo import demo",
    "surfaces/cli/demo.py": "import click\ndef f():\n    from ...offline import server\n    import rich",
    "surfaces/cli/output.py": "from pi_subagents.encoding import encode_any",
    "surfaces/cli/stop.py": "from pi_subagents.runs.run import Run",
    "surfaces/cli/live.py": "def f():\n    from pi_subagents.surfaces.watch import app",
    "surfaces/cli/tasks.py": "import json\njson.loads('1')",
    "surfaces/watch/app.py": "import json, textual.app\njson.dumps(1)",
}


@pytest.mark.parametrize(("rule", "files", "finding"), BROKEN)
def test_a_package_that_breaks_a_rule_is_found(
    rule: Rule, files: Mapping[str, str], finding: str, tmp_path: Path
) -> None:
    findings = list(rule(_made_up_package(tmp_path, files)))
    assert [text for text in findings if finding in text], findings


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_package_that_keeps_the_rules_passes(rule: Rule, tmp_path: Path) -> None:
    assert not list(rule(_made_up_package(tmp_path, SOUND)))


def test_every_rule_is_shown_to_fail() -> None:
    assert {rule for rule, _, _ in BROKEN} == set(RULES)


def _made_up_package(folder: Path, files: Mapping[str, str]) -> SourceTree:
    """Write the files, each below a docstring unless it begins with `-`, and parse them."""
    root = folder / PACKAGE
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text[1:] if text.startswith("-") else f'"""Made up."""\n{text}', encoding="utf-8")
    return read_source_tree(root)
