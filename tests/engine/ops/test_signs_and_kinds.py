"""Signs of zeros and kinds of containers that programs print."""

from __future__ import annotations

from typing import Any

import pytest

from ..oracle import assert_same


def _kinds(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value).__name__, [_kinds(each) for each in value]
    return "tensor"


@pytest.mark.parametrize("strategy", ["forward-mode", "reverse-mode"])
def test_jacobians_are_nested_as_in_pytorch(strategy: str) -> None:
    def program(t: Any) -> Any:
        functional, a = t.autograd.functional, t.tensor([1.0, 2.0])
        how: dict[str, Any] = {"vectorize": True, "strategy": strategy}
        found = [
            functional.jacobian(lambda a: a * 2, a, **how),
            functional.jacobian(lambda a: a * 2, (a,), **how),
            functional.jacobian(lambda a, b: a * b, (a, a), **how),
            functional.jacobian(lambda a: (a * 2, a), a, **how),
            functional.jacobian(lambda a, b: (a * b, a), (a, a), **how),
            functional.hessian(
                lambda a, b: (a * b).sum(),
                (a, a),
                vectorize=True,
                outer_jacobian_strategy=strategy,
            ),
        ]
        return [[str(_kinds(each)) for each in found], found[:-1]]

    assert_same(program)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_remainders_of_zero_have_the_dividends_sign(dtype: str) -> None:
    def program(t: Any) -> Any:
        kind, inf = getattr(t, dtype), float("inf")
        x = t.tensor([-6.0, 6.0, -6.0, 0.0, -0.0, -5.0, 5.0, 1.0]).to(kind)
        y = t.tensor([3.0, -3.0, -3.0, 2.0, 2.0, 2.0, -2.0, inf]).to(kind)
        each = [x % y, t.remainder(x, 3.0), t.remainder(-6.0, y), x % 2, -x % y]
        found = t.stack(each)
        return [found, t.signbit(found), x.clone().remainder_(y).signbit()]

    assert_same(program)


def test_rms_norm_keeps_the_memory_format() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        x = t.randn(2, 3, 4, 5)
        last = x.to(memory_format=t.channels_last)
        layer, norm = t.nn.RMSNorm(5), t.nn.functional.rms_norm
        return [layer(last), layer(x), norm(x.transpose(0, 2), (5,))]

    assert_same(program)


def test_names_that_programs_import() -> None:
    def program(t: Any) -> Any:
        names = {
            name for name in t.nn.modules.__all__ if not name.startswith("LinearCross")
        }
        missing = {"Container", "CrossMapLRN2d"}
        return [
            sorted(names - missing),
            t.optim.lr_scheduler.EPOCH_DEPRECATION_WARNING,
        ]

    assert_same(program)


def test_old_name_of_a_loss_warns() -> None:
    def program(t: Any) -> Any:
        loss = t.nn.NLLLoss2d(reduction="sum")
        return [loss(t.zeros(2, 3), t.tensor([0, 2])), str(loss)]

    assert_same(program)


def test_cdata_moves_where_tensors_are_swapped() -> None:
    def program(t: Any) -> Any:
        a, b = t.zeros(2), t.ones(3)
        before = a._cdata, b._cdata
        a.data = t.ones(2)
        kept = before == (a._cdata, b._cdata)
        t.utils.swap_tensors(a, b)
        return [kept, before == (b._cdata, a._cdata), before[0] != before[1]]

    assert_same(program)


def test_embedding_bag_of_the_older_name() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        weight = t.randn(4, 3, requires_grad=True)
        indices, offsets = t.tensor([0, 2, 3, 3]), t.tensor([0, 2])
        found = t._embedding_bag(weight, indices, offsets, False, 1)
        found[0].sum().backward()
        return [list(found), weight.grad]

    assert_same(program)


def test_batch_norm_counts_on_its_device() -> None:
    def program(t: Any) -> Any:
        with t.device("meta"):
            layer = t.nn.BatchNorm2d(3)
        before = [str(b.device) for b in layer.buffers()]
        layer.load_state_dict({}, assign=True, strict=False)
        count = layer.num_batches_tracked
        return [before, str(count.device), count]

    assert_same(program)
