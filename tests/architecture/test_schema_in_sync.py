"""The TypeScript types and the table of references follow gradviz/ir."""

from __future__ import annotations

from gradviz import ir
from gradviz.ir import fields
from tools import ir_typescript

# Numbers that are not rows of a table. A new field of gradviz/ir belongs here or into
# gradviz.ir.fields.REFERENCES; forgetting both would leave a reference unchecked.
PLAIN = {
    "OpNode": "iteration sequence elapsed_ns order count",
    "Edge": "output input",
    "TensorMeta": "shape strides offset version",
    "Saved": "version_saved version_now",
    "Write": "version",
    "StorageMeta": "nbytes itemsize version",
    "Statistics": "count zeros nans infs first_bad histogram",
    "Thumbnail": "rows columns pixels tiles",
    "Site": "line end_line column end_column",
    "Replacement": "line end_line column end_column",
    "Event": "time_ns version",
    "FlowLayer": "count",
    "FlowStep": "number time_ns rank step_ns backward_ns wait_ns",
    "FlowPoint": "zeros nans infs",
    "Process": "rank size steps like step_ns backward_ns wait_ns",
}


def test_types_ts_is_what_ir_py_says():
    written = ir_typescript.TARGET.read_text(encoding="utf-8")
    assert written == ir_typescript.generate(), "run `python -m tools.ir_typescript`"


def test_check_fails_on_a_stale_file(tmp_path, monkeypatch, capsys):
    stale = tmp_path / "types.ts"
    stale.write_text(ir_typescript.generate().replace("OpNode", "Node"))
    monkeypatch.setattr(ir_typescript, "TARGET", stale)
    assert ir_typescript.main(["--check"]) == 1
    assert "python -m tools.ir_typescript" in capsys.readouterr().err
    assert ir_typescript.main([]) == 0
    assert ir_typescript.main(["--check"]) == 0


def test_every_number_is_a_reference_or_plain():
    numbers = {
        f"{record.__name__}.{field.name}"
        for record in [t.record for t in fields.tables().values()] + [ir.Snapshot]
        for field in fields.fields_of(record)
        if field.kind in ("int", "ints")
    }
    plain = {
        f"{owner}.{name}" for owner, names in PLAIN.items() for name in names.split()
    }
    assert numbers == set(fields.REFERENCES) | plain
    assert not set(fields.REFERENCES) & plain
    assert set(fields.REFERENCES) >= fields.SPARSE
