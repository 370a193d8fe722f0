"""``FlopCounterMode`` counts what PyTorch's counts."""

from __future__ import annotations

from typing import Any

import pytest

import gradtape
from gradtape.utils.flop_counter import FlopCounterMode, register_flop_formula

from ..oracle import assert_same

pytest.importorskip("torch.utils.flop_counter")


def counts_of(torch: Any, program: Any, **options: Any) -> Any:
    mode = torch.utils.flop_counter.FlopCounterMode(display=False, **options)
    with mode as counter:
        program()
    counts = counter.get_flop_counts()
    return {
        module: {str(op): count for op, count in sorted(each.items(), key=str)}
        for module, each in sorted(counts.items())
    }, counter.get_total_flops()


def test_layers_are_counted_forward_and_backward_by_module():
    def program(torch: Any) -> Any:
        nn = torch.nn
        net = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1, stride=2),
            nn.ConvTranspose2d(4, 2, 2, stride=2),
            nn.Flatten(),
            nn.Linear(2 * 8 * 8, 3),
        )
        x = torch.ones(2, 1, 8, 8, requires_grad=True)
        return counts_of(torch, lambda: net(x).sum().backward())

    assert_same(program)


def test_products_are_counted_however_they_are_written():
    def program(torch: Any) -> Any:
        a, b, c = torch.ones(4, 5), torch.ones(2, 4, 5), torch.ones(2, 5, 3)

        def products() -> None:
            a @ a.t()
            b @ c
            torch.baddbmm(torch.ones(2, 4, 3), b, c)
            torch.einsum("ij,kj->ik", a, a)

        return counts_of(torch, products)

    assert_same(program)


def test_other_ops_are_counted_by_formulas_of_ones_own():
    def program(torch: Any) -> Any:
        def seven(*shapes: Any, out_shape: Any, **_: Any) -> int:
            return 7 * out_shape[0]

        a = torch.ones(3, 2)
        mapping = {torch.ops.aten.add: seven}
        return counts_of(torch, lambda: a + a, custom_mapping=mapping)

    assert_same(program)


def test_an_op_has_one_formula():
    with pytest.raises(RuntimeError, match=r"duplicate registrations for aten\.mm"):
        register_flop_formula(gradtape.ops.aten.mm)(lambda *_, **__: 0)


def test_the_table_shows_modules_down_to_a_depth(capsys: pytest.CaptureFixture[str]):
    layer = gradtape.nn.Sequential(gradtape.nn.Linear(3, 4))
    with FlopCounterMode() as counter:
        layer(gradtape.ones(50, 3))
    shown = capsys.readouterr().out
    assert shown == counter.get_table() + "\n"
    assert [line.split()[0] for line in shown.splitlines()[2:]] == [
        *("Sequential", "-", "Sequential.0", "-")
    ]
    assert "aten.addmm  1200.000    100.00%" in shown
    assert "Sequential.0" not in counter.get_table(depth=1)
    with FlopCounterMode(display=False) as counter:
        pass
    assert "Global" in counter.get_table()
