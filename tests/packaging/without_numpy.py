"""What runs without NumPy, on whichever Python runs this: prints what it tried.

Sites and their columns, the examples of every module that can be imported, snapshots
written and read, findings explained.
"""

from __future__ import annotations

import doctest
import importlib
import json
import linecache
import pkgutil
import sys
import types
from typing import Any

SOURCE = """\
values = [here(1), (
    here(2)
)]; other = {'π': here(3)}['π']
"""
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ABSENT = {"IPython", "anyio", "anywidget", "gradtape", "numpy", "pytest", "torch"}


def modules() -> dict[str, Any]:
    """The modules that need none of the absent packages; another error is one."""
    package = importlib.import_module("gradviz")
    found: dict[str, Any] = {}
    walked = pkgutil.walk_packages(
        package.__path__, "gradviz.", onerror=lambda name: None
    )
    for info in walked:
        if info.name.endswith("__main__"):
            continue
        try:
            found[info.name] = importlib.import_module(info.name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ABSENT:
                raise
    return found


def examples(found: dict[str, Any]) -> int:
    """Run the examples that import no absent package; return how many there were."""
    needs = ["import torch", "import gradtape", "numpy", "open_log"]
    if sys.platform == "emscripten":
        needs.append("with alias")  # there are no processes
    tried = 0
    report: list[str] = []
    for module in found.values():
        for test in doctest.DocTestFinder().find(module):
            source = "".join(example.source for example in test.examples)
            if source and not any(name in source for name in needs):
                tried += len(test.examples)
                doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append)
    assert not report, "".join(report)
    return tried


def expressions() -> list[str]:
    """The calls in SOURCE, as their sites tell them."""
    from gradviz.program.places import Places

    file, raws = "sample.py", list[tuple[types.CodeType, int]]()

    def here(_: int) -> None:
        frame = sys._getframe(1)
        raws.append((frame.f_code, frame.f_lasti))

    linecache.cache[file] = (len(SOURCE), None, SOURCE.splitlines(True), file)
    exec(compile(SOURCE, file, "exec"), {"here": here})
    return [Places().expression(raw) for raw in raws]


def snapshot_is_kept() -> bool:
    """Whether a snapshot written as JSON is read back as it was, and drawn."""
    from gradviz import ir
    from gradviz.ir import json as ir_json
    from gradviz.ir import validate
    from gradviz.render.dot import to_dot

    nodes = (ir.OpNode("AccumulateGrad", "accumulate", "x"),)
    snapshot = ir.Snapshot("demo 1.0", "kept", nodes=nodes)
    validate.validate(snapshot)
    assert "digraph" in to_dot(snapshot)
    return ir_json.loads(ir_json.dumps(snapshot)) == snapshot


def explained() -> int:
    """How many findings are explained, each by its code."""
    from gradviz.diagnosis.manual import documented, explanation, find_rule

    pages = [explanation(find_rule(rule.code)) for rule in documented()]
    return len({page.partition(" ")[0] for page in pages})


def main() -> None:
    """Try everything, and say what was tried."""
    found = modules()
    told = {
        "python": sys.version.partition(" ")[0],
        "modules": len(found),
        "examples": examples(found),
        "expressions": expressions(),
        "snapshot": snapshot_is_kept(),
        "explained": explained(),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
