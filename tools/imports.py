"""Who imports whom: the import statements of both packages, at any depth."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"gradtape": ROOT / "engine" / "gradtape", "gradviz": ROOT / "gradviz"}

HEAVY = ("IPython", "anywidget", "cupy", "ipywidgets", "numba", "plotly", "torch")


@dataclass(frozen=True)
class Import:
    """One import statement, seen from the module that makes it."""

    module: str  # who imports: "gradviz.render.html"
    target: str  # what: "gradviz.ir.Snapshot", or "torch"
    line: int
    late: bool  # inside a function, so it runs when asked for
    typing: bool  # under `if TYPE_CHECKING:`, so it never runs

    def reaches(self, *names: str) -> bool:
        """Say whether the target is one of these modules or lies inside one."""
        return any(
            self.target == name or self.target.startswith(name + ".") for name in names
        )

    def __str__(self) -> str:
        return f"{self.module}, line {self.line}, imports {self.target}"


def modules() -> dict[str, Path]:
    """Map the name of every module of both packages to its file."""
    found: dict[str, Path] = {}
    for package, folder in PACKAGES.items():
        for file in sorted(folder.rglob("*.py")):
            parts = (package, *file.relative_to(folder).with_suffix("").parts)
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = file
    return found


def imports_of(module: str, source: str, *, is_package: bool) -> Iterator[Import]:
    """Yield every import in the source of a module, at any depth."""
    yield from _walk(ast.parse(source), module, is_package, late=False, typing=False)


_STATEMENTS = ast.stmt, ast.excepthandler, ast.match_case  # no import is anywhere else


def _walk(
    node: ast.AST, module: str, is_package: bool, *, late: bool, typing: bool
) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(module, alias.name, node.lineno, late, typing)
    elif isinstance(node, ast.ImportFrom):
        base = _absolute(node, module, is_package)
        for alias in node.names:
            yield Import(module, f"{base}.{alias.name}", node.lineno, late, typing)
    inside_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for name, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        # Only the body of `if TYPE_CHECKING:` never runs; its `else` does.
        guarded = isinstance(node, ast.If) and name == "body" and _is_guard(node.test)
        for child in children:
            if isinstance(child, _STATEMENTS):
                yield from _walk(
                    child,
                    module,
                    is_package,
                    late=late or inside_function,
                    typing=typing or guarded,
                )


def _is_guard(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def _absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    """Resolve the dots of a relative import."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    keep = len(parts) - node.level + is_package
    return ".".join([*parts[:keep], *([node.module] if node.module else [])])


@cache
def all_imports() -> list[Import]:
    """Return the imports of both packages."""
    return [
        found
        for module, file in modules().items()
        for found in imports_of(
            module,
            file.read_text(encoding="utf-8"),
            is_package=file.name == "__init__.py",
        )
    ]
