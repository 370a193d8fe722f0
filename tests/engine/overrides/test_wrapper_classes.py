"""Classes that keep their values elsewhere: what they say of themselves, and files."""

from __future__ import annotations

import copy
import io
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

pytest.importorskip("torch.utils._python_dispatch")

from ..oracle import assert_same
from .test_torch_dispatch import wrapper_of


def kept(t: Any, says: dict[str, Any], **options: Any) -> Any:
    """Return a tensor of a class that ``says`` some of what it is asked."""

    class Kept(t.Tensor):
        asked: ClassVar[list[str]] = []

        @staticmethod
        def __new__(cls, inner: Any, **given: Any) -> Any:
            like = {"dtype": inner.dtype, "strides": inner.stride(), **given}
            made = t.Tensor._make_wrapper_subclass(cls, inner.shape, **like)
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            cls.asked.append(str(func))
            if str(func) in says:
                return says[str(func)]
            tree_map = t.utils._pytree.tree_map
            given = tree_map(lambda x: x.inner if isinstance(x, cls) else x, args)
            found = func(*given, **(kwargs or {}))
            return tree_map(lambda x: cls(x) if isinstance(x, t.Tensor) else x, found)

    Kept.__qualname__ = "Kept"
    setattr(sys.modules[__name__], "Kept", Kept)  # noqa: B010 - where pickles look
    return Kept(t.arange(6.0).reshape(2, 3), **options)


FACTS: list[Callable[[Any], Any]] = [
    lambda x: x.size(),
    lambda x: x.shape,
    lambda x: x.dim(),
    lambda x: x.numel(),
    lambda x: x.stride(),
    lambda x: x.stride(1),
    lambda x: x.is_contiguous(),
    lambda x: len(x),
    lambda x: x.device,
    lambda x: x.is_cpu,
    lambda x: str(x.layout),
    lambda x: x.data_ptr(),
    lambda x: (x + 1).inner,
]
SIZES = {
    "aten.sym_size.default": [5, 7],
    "aten.sym_numel.default": 35,
    "aten.sym_stride.default": (7, 1),
    "aten.is_contiguous.default": False,
}


@pytest.mark.parametrize("says", [{}, SIZES, dict.fromkeys(SIZES)])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dispatch_sizes_strides_policy": "strides"},
        {"dispatch_sizes_strides_policy": "sizes"},
        {"dispatch_sizes_strides_policy": "all"},
        {"dispatch_device": True},
        {"dispatch_layout": True},
    ],
)
def test_a_class_says_its_own_layout(options: Any, says: dict[str, Any]) -> None:
    def program(t: Any) -> Any:
        place = {"device": t.device("meta"), "layout": t.sparse_coo}
        own = {f"prim.{name}.default": value for name, value in place.items()}
        x = kept(t, {**says, **own} if says else {}, **options)
        return [fact(x) for fact in FACTS]

    assert_same(program)


def test_a_class_is_asked_by_the_names_that_pytorch_has() -> None:
    def program(t: Any) -> Any:
        x = kept(t, {}, dispatch_sizes_strides_policy="sizes", dispatch_device=True)
        facts = x.size(), x.dim(), x.numel(), x.is_contiguous(), x.device
        return facts, type(x).asked

    assert_same(program)


@pytest.mark.parametrize("parameter", [False, True])
def test_tensors_of_such_classes_are_saved_and_copied(parameter: bool) -> None:
    def program(t: Any) -> Any:
        x = kept(t, {}, requires_grad=parameter)
        x = t.nn.Parameter(x) if parameter else x
        file = io.BytesIO()
        t.save(x, file)
        found: list[Any] = [copy.deepcopy(x)]
        for named in ([], [type(x)]):
            file.seek(0)
            try:
                with t.serialization.safe_globals(named):
                    found.append(t.load(file))
            except Exception as error:
                found.append(type(error).__name__)
        twins = [each for each in found if not isinstance(each, str)]
        kinds = [isinstance(each, t.nn.Parameter) for each in twins]
        same = [type(each) is type(x) and each is not x for each in twins]
        shapes = [(each.shape, each.stride(), each.requires_grad) for each in twins]
        return [each.inner for each in twins], kinds, same, shapes, len(found)

    assert_same(program)


@pytest.mark.parametrize("clones", [False, True])
def test_classes_around_meta_tensors_are_copied_by_their_clone(
    clones: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def program(t: Any) -> Any:
        class Around(t.Tensor):
            @staticmethod
            def __new__(cls, inner: Any) -> Any:
                found = t.Tensor._make_subclass(cls, inner.to("meta"))
                found.inner = inner
                return found

        if clones:
            monkeypatch.setattr(
                Around, "clone", lambda self: Around(self.inner.clone())
            )
        around = Around(t.ones(2))
        around.said = "kept"
        twin = copy.deepcopy(around)
        return type(twin) is Around, twin.inner, twin.said, twin.inner is around.inner

    assert_same(program)


@pytest.mark.parametrize(
    "fill",
    [
        lambda init, x: init.uniform_(x),
        lambda init, x: init.normal_(x, 1.0, 2.0),
        lambda init, x: init.constant_(x, 3),
        lambda init, x: init.zeros_(x),
        lambda init, x: init.xavier_uniform_(x),
        lambda init, x: init.kaiming_normal_(x),
        lambda init, x: init.trunc_normal_(x).inner.shape,
    ],
)
def test_they_are_filled_before_training(fill: Any) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        x = t.nn.Parameter(kept(t, {}))
        found = fill(t.nn.init, x)
        return found.inner if isinstance(found, t.Tensor) else found

    assert_same(program)


def test_their_memory_is_refused() -> None:
    def program(t: Any) -> Any:
        storage = kept(t, {}).untyped_storage()
        said = []
        for use in (storage.data_ptr, lambda: storage.fill_(0), storage.tolist):
            with pytest.raises(RuntimeError, match=r"storage|not allocated"):
                use()
            said.append(storage.nbytes())
        return said

    assert_same(program)


@pytest.mark.parametrize("swap", [True, False])
def test_a_parametrization_may_change_the_class_of_a_weight(swap: bool) -> None:
    def program(t: Any) -> Any:
        cls = type(kept(t, {}))

        class Wrapping(t.nn.Module):
            def forward(self, x: Any) -> Any:
                return x

            def right_inverse(self, x: Any) -> Any:
                return cls(x)

        layer = t.nn.Linear(3, 2)
        weight = layer.weight
        t.__future__.set_swap_module_params_on_conversion(swap)
        try:
            t.nn.utils.parametrize.register_parametrization(layer, "weight", Wrapping())
        finally:
            t.__future__.set_swap_module_params_on_conversion(False)
        found = layer.parametrizations.weight.original
        return type(found).__name__, found is weight, isinstance(found, t.nn.Parameter)

    assert_same(program)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
@pytest.mark.parametrize("name", ["mul", "sin_sum", "matmul", "softmax", "norm"])
@pytest.mark.parametrize("plain", [False, True])
def test_tangents_go_through_a_class_without_memory(name: str, plain: bool):
    def program(t: Any) -> Any:
        wrapper, forward = wrapper_of(t), t.autograd.forward_ad
        x, tangent = t.tensor([[1.0, 2.0], [3.0, 4.0]]), t.ones(2, 2)
        calls: dict[str, Any] = {
            "mul": lambda a: a * a,
            "sin_sum": lambda a: a.sin().sum(),
            "matmul": lambda a: a @ a,
            "softmax": lambda a: a.softmax(1),
            "norm": lambda a: t.linalg.vector_norm(a, 3),
        }
        with forward.dual_level():
            given = forward.make_dual(
                wrapper(x), tangent if plain else wrapper(tangent)
            )
            found = forward.unpack_dual(calls[name](given))
        inner = [each.inner.clone() for each in found]
        return type(found.tangent).__name__, inner

    assert_same(program)


def test_a_class_without_memory_says_where_to_index():
    def program(t: Any) -> Any:
        wrapper = wrapper_of(t)
        at, mask = wrapper(t.tensor([2, 0])), wrapper(t.tensor([True, False, True]))
        x, y, z = t.arange(3.0), wrapper(t.arange(3.0)), t.zeros(3)
        found = [x[at], y[at], y[mask], wrapper(t.ones(2, 3))[:, at]]
        z[at] = wrapper(t.tensor(5.0))
        y[mask] = 7
        w = wrapper(t.arange(3.0), requires_grad=True)
        (w[at] * w[t.tensor([1, 1])]).sum().backward()
        kinds = [type(each).__name__ for each in (*found, z, y, w.grad)]
        return kinds, [each.inner for each in (*found, y, w.grad)], z

    assert_same(program)
