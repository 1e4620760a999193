"""What the contract tests know about the package's source: modules, their imports, what they call.

Nothing is imported; the files are parsed, so a rule can also be tried on a package made up in a test.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

PACKAGE = "pi_subagents"
_MODULE_NAME = re.compile(rf"{PACKAGE}(\.\w+)+")


class When(StrEnum):
    """When an import statement is carried out."""

    EAGER = "when the module is loaded"
    LAZY = "when a function is called"
    TYPING = "by the type checker only"


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module; of a name imported from one of our own, the module that holds it.

    A text that is the name of one of ours counts too: it is there to be loaded or started.
    """

    target: str
    line: int
    when: When


@dataclass(frozen=True, slots=True)
class Module:
    """One source file."""

    name: str  # within the package, dotted; the package's own __init__ is ""
    path: Path
    tree: ast.Module
    imports: tuple[Import, ...]

    @property
    def top(self) -> str:
        """The top-level module or sub-package it belongs to."""
        return self.name.partition(".")[0]

    def is_in(self, place: str) -> bool:
        """Whether it is the module `place`, or lies below it."""
        return f"{self.name}.".startswith(f"{place}.")

    def at(self, line: int) -> str:
        """Where a finding is, for people."""
        return f"{self.path.name if not self.name else self.name.replace('.', '/')}:{line}"


@dataclass(frozen=True, slots=True)
class SourceTree:
    """All modules of one package directory."""

    root: Path
    modules: tuple[Module, ...]


def read_source_tree(root: Path) -> SourceTree:
    """Parse every module below the package directory `root`."""
    paths = sorted(root.rglob("*.py"))
    names = {path: _module_name(root, path) for path in paths}
    known = frozenset(names.values())
    modules = []
    for path, name in names.items():
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        reader = _ImportReader(_package_of(path, name), known)
        reader.visit(tree)
        modules.append(Module(name, path, tree, tuple(reader.found)))
    return SourceTree(root, tuple(modules))


def calls_to(module: Module, library: str, names: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Each mention of `library.name`, whatever the library is called in this module, with its line."""
    aliases = {library}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            aliases.update(alias.asname for alias in node.names if alias.name == library and alias.asname)
        elif isinstance(node, ast.ImportFrom) and node.module == library:
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name in names)
    for node in ast.walk(module.tree):
        match node:
            case ast.Attribute(value=owner, attr=name) if name in names and ast.unparse(owner) in aliases:
                yield name, node.lineno


def methods_called(module: Module, names: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Each call of a function or method with one of these names, whatever it belongs to, with its line."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in names:
                yield name, node.lineno


def _module_name(root: Path, path: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _package_of(path: Path, name: str) -> str:
    full = f"{PACKAGE}.{name}" if name else PACKAGE
    return full if path.name == "__init__.py" else full.rpartition(".")[0]


class _ImportReader(ast.NodeVisitor):
    def __init__(self, package: str, known: frozenset[str]) -> None:
        self._package = package
        self._known = known
        self._when = When.EAGER
        self.found: list[Import] = []

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        source = node.module or ""
        if node.level:
            parents = self._package.split(".")
            base = ".".join(parents[: len(parents) - node.level + 1])
            source = f"{base}.{source}" if source else base
        for alias in node.names:
            name = f"{source}.{alias.name}"
            self._add(name if self._is_module(name) else source, node.lineno)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and _MODULE_NAME.fullmatch(node.value):
            self.found.append(Import(self._module_in(node.value), node.lineno, When.LAZY))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_later(node, When.LAZY)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._visit_later(node, When.LAZY)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            self._visit_later(node, When.TYPING)
        else:
            self.generic_visit(node)

    def _visit_later(self, node: ast.AST, when: When) -> None:
        before, self._when = self._when, when
        self.generic_visit(node)
        self._when = before

    def _module_in(self, name: str) -> str:
        """The module that a text names, maybe with something in it at the end."""
        inner = name.rpartition(".")[0]
        return inner if not self._is_module(name) and self._is_module(inner) else name

    def _is_module(self, name: str) -> bool:
        return name.startswith(f"{PACKAGE}.") and name.removeprefix(f"{PACKAGE}.") in self._known

    def _add(self, target: str, line: int) -> None:
        self.found.append(Import(target, line, self._when))
