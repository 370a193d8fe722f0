"""``__torch_dispatch__``: modes and classes below autograd, against PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest

import gradtape
from gradtape._graph.observe import OpCalled

from ..oracle import assert_same

pytest.importorskip("torch.utils._python_dispatch")


def shown(value: Any) -> Any:
    """Return operands with the shapes of tensors in their place."""
    if hasattr(value, "shape"):
        return list(value.shape)
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    return str(value)


def log_of(torch: Any) -> Any:
    class Log(torch.utils._python_dispatch.TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[Any] = []

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            found = func(*args, **(kwargs or {}))
            options = {name: str(each) for name, each in (kwargs or {}).items()}
            self.seen.append((str(func), shown(args), options, shown(found)))
            return found

    return Log()


def wrapper_of(torch: Any, log: list[str] | None = None) -> Any:
    """Return a class that keeps another tensor, and notes what runs on it."""
    tree_map = torch.utils._pytree.tree_map

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner: Any, requires_grad: bool = False) -> Any:
            made = torch.Tensor._make_wrapper_subclass(
                cls,
                inner.size(),
                strides=inner.stride(),
                storage_offset=inner.storage_offset(),
                dtype=inner.dtype,
                device=inner.device,
                requires_grad=requires_grad,
            )
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            def inner(each: Any) -> Any:
                return each.inner if isinstance(each, cls) else each

            def wrapped(each: Any) -> Any:
                return cls(each) if isinstance(each, torch.Tensor) else each

            if log is not None:
                log.append(func.__name__)
            given = tree_map(inner, args), tree_map(inner, kwargs or {})
            return tree_map(wrapped, func(*given[0], **given[1]))

    return Wrapper


def test_a_mode_sees_the_ops_of_a_layer_under_pytorchs_names():
    def program(torch: Any) -> Any:
        x, w, b = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)
        with log_of(torch) as log:
            y = torch.nn.functional.linear(x, w, b).relu()
            torch.nn.functional.conv2d(x.view(1, 1, 2, 3), torch.ones(1, 1, 2, 2))
            y.sum(0, keepdim=True).t().transpose(0, 1)[0]
            y.split(1)
            torch.where(y > 1, y, 2 - y)
        return log.seen

    assert_same(program)


def test_a_mode_sees_writes_and_new_tensors():
    def program(torch: Any) -> Any:
        with log_of(torch) as log:
            x = torch.zeros(2, 2)
            x.add_(1, alpha=2).mul_(x).fill_(3.0)
            x.copy_(torch.ones_like(x))
            x[0].zero_()
            total = x.sum().item()
        return log.seen, total, x, x._version

    assert_same(program)


def test_a_mode_sees_none_where_a_whole_dimension_is_selected():
    def program(torch: Any) -> Any:
        x, i, one = torch.ones(2, 3, 4), torch.tensor([1, 0]), torch.tensor(5.0)
        with log_of(torch) as log:
            found = [x[i], x[:, i], x[:, :, i], x.index_put((i,), one)]
            x[:, i] = one
            x.index_put_((i, i), one, True)
        return log.seen, [each.tolist() for each in (*found, x)]

    assert_same(program)


def test_a_mode_sees_the_ops_of_backward():
    def program(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = (x.exp() * 3).sum()
        with log_of(torch) as log:
            y.backward()
        names = [entry[0] for entry in log.seen]
        return [n for n in names if n != "aten.detach.default"], x.grad

    assert_same(program)


def test_what_a_mode_returns_is_what_the_program_gets():
    def program(torch: Any) -> Any:
        class Rounded(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                assert not types
                found = func(*args, **(kwargs or {}))
                assert not found.requires_grad
                return found.round()

        x = torch.tensor([1.4, 2.6], requires_grad=True)
        with Rounded():
            y = x * 1.1
        y.sum().backward()
        return y, y.grad_fn.name(), x.grad

    assert_same(program)


def test_modes_are_asked_from_the_innermost_out():
    def program(torch: Any) -> Any:
        asked: list[str] = []

        class Named(torch.utils._python_dispatch.TorchDispatchMode):
            def __init__(self, name: str) -> None:
                super().__init__()
                self.name = name

            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                asked.append(self.name)
                return func(*args, **(kwargs or {}))

        x = torch.ones(2)
        with Named("outer"), Named("inner"):
            x + 1
        return asked, (x + 1)

    assert_same(program)


def test_a_class_without_memory_goes_through_forward_and_backward():
    def program(torch: Any) -> Any:
        log: list[str] = []
        wrapper = wrapper_of(torch, log)
        x = wrapper(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), requires_grad=True)
        y = (x.exp() @ x).tanh().sum()
        facts = type(y).__name__, y.shape, x.stride(), x.dtype, str(x.device)
        y.backward()
        y2 = (x * 2).sum()
        y2.backward()
        ops = [n for n in log if not n.startswith(("detach", "ones_like"))]
        return ops, facts, type(x.grad).__name__, x.grad.inner

    assert_same(program)


def test_a_class_without_memory_is_written_in_place():
    def program(torch: Any) -> Any:
        wrapper = wrapper_of(torch)
        x = wrapper(torch.ones(2), requires_grad=True)
        y = x * 1
        y.mul_(3).add_(torch.ones(2))
        y[0] = 5
        plain = torch.zeros(2)
        plain_copy = wrapper(plain).copy_(wrapper(torch.ones(2)))
        y.sum().backward()
        return y.inner, y.grad_fn.name(), x.grad.inner, plain_copy.inner

    assert_same(program)


def test_memory_that_is_not_there_is_never_read():
    wrapper = wrapper_of(gradtape)
    x = wrapper(gradtape.ones(2))
    with pytest.raises(RuntimeError, match="not supported for tensor subclasses"):
        x.numpy()
    with pytest.raises(NotImplementedError, match="__torch_dispatch__"):
        x._data + 1
    huge = gradtape.Tensor._make_wrapper_subclass(wrapper, (10**12,))
    assert huge.shape == (10**12,)


def test_classes_are_made_parameters_and_copied():
    def program(torch: Any) -> Any:
        import copy

        wrapper = wrapper_of(torch)
        weight = torch.nn.Parameter(wrapper(torch.ones(2)))
        again = copy.deepcopy(weight)
        again.inner.zero_()
        return isinstance(weight, torch.nn.Parameter), weight.inner, again.requires_grad

    assert_same(program)


def test_a_class_that_hands_over_to_tensors_own():
    def program(torch: Any) -> Any:
        seen: list[str] = []

        class Marked(torch.Tensor):
            @classmethod
            def __torch_dispatch__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                seen.append((str(func), args[0].requires_grad))
                found = super().__torch_dispatch__(func, types, args, kwargs)
                assert not found.requires_grad
                return found

        x = torch.Tensor._make_subclass(Marked, torch.ones(2), True)
        y = x.neg()
        return seen, y.requires_grad, y.grad_fn.name()

    assert_same(program)


@pytest.mark.parametrize(
    "answer", [NotImplemented, "a word", None], ids=["refused", "word", "none"]
)
def test_what_is_no_tensor_is_answered_as_pytorch_does(answer: Any):
    def program(torch: Any) -> Any:
        class Odd(torch.Tensor):
            @classmethod
            def __torch_dispatch__(cls, *_: Any) -> Any:
                return answer

        x = torch.Tensor._make_wrapper_subclass(Odd, (2,))
        try:
            return torch.neg(x)
        except (RuntimeError, TypeError) as error:
            kind = TypeError if isinstance(error, TypeError) else type(error)
            return kind, str(error).partition("\n")[0]

    assert_same(program)


def test_sparse_and_dense_gradients_meet_under_a_mode():
    def program(torch: Any) -> Any:
        table = torch.ones(3, 2, requires_grad=True)
        rows = torch.tensor([0, 2])
        with log_of(torch):
            whole = table * 2
            picked = torch.nn.functional.embedding(rows, whole, sparse=True)
            (picked.sum() + whole.sum()).backward()
        return table.grad

    assert_same(program)


def test_values_are_cast_on_their_way_into_memory():
    def program(torch: Any) -> Any:
        with log_of(torch) as log:
            x = torch.zeros(2, dtype=torch.float64).copy_(torch.ones(2))
        return x, log.seen[-1]

    assert_same(program)


def test_a_copy_that_a_mode_gives_for_a_view_is_no_view():
    def program(torch: Any) -> Any:
        class Copies(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                return func(*args, **(kwargs or {})) * 2

        x = torch.ones(2, 2, requires_grad=True)
        y = x * 1
        with Copies():
            z = y.view(4)
        y.data.zero_()
        z.sum().backward()
        return z.detach().clone(), x.grad

    assert_same(program)


def test_observers_hear_of_each_op_once():
    heard: list[str] = []

    def listen(event: Any) -> None:
        if isinstance(event, OpCalled):
            heard.append(f"{event.name} {event.node is not None}")

    x = gradtape.ones(2, requires_grad=True)
    with gradtape.observe(listen), log_of(gradtape):
        (x * 2).view(1, 2)
    assert heard == ["mul True", "view True"]


def test_views_of_another_kind_and_duals_go_through_a_mode():
    def program(torch: Any) -> Any:
        x = torch.ones(2, 2, requires_grad=True)
        forward_ad = torch.autograd.forward_ad
        with log_of(torch), forward_ad.dual_level():
            torch.view_as_complex(x).abs().sum().backward()
            empty = torch.zeros(0, 2).unbind()
            dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
            tangent = forward_ad.unpack_dual(dual.sin() * dual).tangent
        return x.grad, len(empty), tangent.clone()

    assert_same(program)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
def test_optimizers_step_tensors_without_memory(name: str):
    def program(torch: Any) -> Any:
        wrapper = wrapper_of(torch)
        weight = torch.nn.Parameter(wrapper(torch.ones(2)))
        step = getattr(torch.optim, name)([weight], lr=0.1, foreach=False)
        for _ in range(2):
            step.zero_grad()
            (weight * weight).sum().backward()
            step.step()
        return weight.inner

    assert_same(program)


def test_a_mode_sees_the_step_of_an_optimizer():
    def program(torch: Any) -> Any:
        weight = torch.nn.Parameter(torch.ones(2))
        step = torch.optim.SGD([weight], lr=0.1, foreach=False)
        weight.grad = torch.ones(2)
        with log_of(torch) as log:
            step.step()
        return [entry[:2] for entry in log.seen if "add_" in entry[0]], weight

    assert_same(program)


def test_a_mode_that_passes_sees_what_the_class_runs():
    def program(torch: Any) -> Any:
        seen: list[str] = []
        wrapper = wrapper_of(torch)

        class Polite(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                seen.append(f"{func} {[kind.__name__ for kind in types]}")
                if wrapper in types:
                    return NotImplemented
                return func(*args, **(kwargs or {}))

        x = wrapper(torch.ones(2))
        with Polite():
            y = x.abs()
        return seen, y.inner

    assert_same(program)
