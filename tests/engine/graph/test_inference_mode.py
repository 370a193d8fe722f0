"""Inference mode beside PyTorch: what is made inside, and what may follow."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest

import gradtape as gt

from ..oracle import assert_same


def made_inside(t, requires_grad=False):
    with t.inference_mode():
        return t.ones(2, 3, requires_grad=requires_grad)


def facts(tensor):
    """Return what tells an inference tensor from others."""
    return (
        tensor.is_inference(),
        tensor.requires_grad,
        tensor.is_leaf,
        tensor._is_view(),
        tensor._base is None,
        tensor.grad_fn,
    )


def flags_inside(t):
    def now():
        return t.is_grad_enabled(), t.is_inference_mode_enabled()

    seen = [now()]
    with t.inference_mode():
        seen.append(now())
        with t.enable_grad():
            seen.append(now())
        with t.set_grad_enabled(True):
            seen.append(now())
        with t.inference_mode(False):
            seen.append(now())
        t.set_grad_enabled(True)
        seen.append(now())
    with t.no_grad(), t.inference_mode(False):
        seen.append(now())
    return [*seen, now()]


def fresh_tensors(t):
    with t.inference_mode():
        found = [t.ones(2), t.ones(2, requires_grad=True), t.ones(2) * 2]
    return [facts(each) for each in found], [t.is_inference(each) for each in found]


def nothing_is_recorded_inside_even_with_grad(t):
    w = t.ones(2, requires_grad=True)
    with t.inference_mode():
        plain = w * 2
        with t.enable_grad():
            asked = w * 2
            view = w[:1]
        with t.inference_mode(False):
            recorded = w * 2
    return [facts(each) for each in (plain, asked, view, recorded)]


def views_of_normal_tensors_inside(t):
    c = t.ones(2, 3, requires_grad=True).clone()
    n = t.ones(2, 3)
    with t.inference_mode():
        views = [c[0], n[0], n.view(-1), c.detach(), n.reshape(-1), n.t().reshape(-1)]
    return [facts(each) for each in views]


def views_of_inference_tensors(t):
    x = made_inside(t)
    with t.inference_mode():
        inside = x[0]
    return facts(inside), facts(x[0]), facts(x.view(-1)), facts(x[0][1:]), x[0][1:]


def writes_inside(t):
    n = t.ones(2, requires_grad=True)
    c = n.clone()
    with t.inference_mode():
        x = t.zeros(2)
        x.add_(1)
        n.add_(1)
        c.mul_(2)
        x[0] = 5
    return x, n, n._version, c._version, c.grad_fn


def version_is_not_kept(t):
    return made_inside(t)._version


def write_outside(t):
    made_inside(t).add_(1)


def write_without_grad_outside(t):
    with t.no_grad():
        made_inside(t).add_(1)


def setitem_outside(t):
    made_inside(t)[0] = 1


def write_a_view_outside(t):
    made_inside(t)[0].zero_()


def copy_outside(t):
    made_inside(t).copy_(t.zeros(2, 3))


def out_argument_outside(t):
    t.add(t.ones(2, 3), t.ones(2, 3), out=made_inside(t))


def transposed_outside(t):
    made_inside(t).t_()


def set_outside(t):
    made_inside(t).set_(t.ones(2))


def requires_grad_outside(t):
    made_inside(t).requires_grad_()


def requires_grad_assigned_outside(t):
    made_inside(t).requires_grad = True


def requires_grad_off_outside(t):
    return made_inside(t).requires_grad_(False).requires_grad


def requires_grad_inside(t):
    with t.inference_mode():
        x = t.ones(2).requires_grad_()
        return facts(x), facts(x * 2)


def saved_outside(t):
    return made_inside(t) * t.ones(2, 3, requires_grad=True)


def saved_by_a_write_outside(t):
    t.ones(2, 3, requires_grad=True).clone().mul_(made_inside(t))


def saved_as_matrix(t):
    return t.ones(2, 2, requires_grad=True) @ made_inside(t)


def used_without_being_saved(t):
    x, w = made_inside(t), t.ones(2, 3, requires_grad=True)
    y = x + w
    y.sum().backward()
    return facts(y)[:3], w.grad


def used_without_grad(t):
    with t.no_grad():
        return facts(made_inside(t) * t.ones(2, 3, requires_grad=True))


def functional_ops_outside(t):
    x = made_inside(t)
    return [facts(each) for each in (x * x, x.exp(), x.sum(), x.clone(), t.cat([x, x]))]


def functional_ops_of_one_that_requires_grad(t):
    x = made_inside(t, requires_grad=True)
    return [facts(each) for each in (x * x, x.exp(), x.sum(), x[0], x.detach())]


def copies(t):
    x = made_inside(t)
    made = [x.clone(), x.detach(), copy.deepcopy(x), pickle.loads(pickle.dumps(x))]
    return [each.is_inference() for each in made]


def data_of_an_inference_tensor(t):
    d = made_inside(t).data
    d.add_(1)
    return d.is_inference(), d._version, d


def data_exchanged(t):
    inside, normal = made_inside(t), t.zeros(2)
    taken = t.ones(2, 3)
    taken.data = inside
    inside.data = normal
    return taken.is_inference(), taken._version, inside.is_inference(), inside


def parameters(t):
    n = t.ones(2)
    with t.inference_mode():
        return facts(t.nn.Parameter(t.ones(2)))[:3], facts(t.nn.Parameter(n))[:3]


def view_made_inside_written_outside(t):
    c = t.ones(2, requires_grad=True).clone()
    with t.inference_mode():
        v = c[:1]
    v.add_(1)


def view_made_inside_written_with_grad_operand(t):
    n = t.ones(2)
    with t.inference_mode():
        v = n[:1]
    v.add_(1)
    v.mul_(t.ones(1, requires_grad=True))


def view_of_a_view_made_inside(t):
    c = t.ones(2, requires_grad=True).clone()
    with t.inference_mode():
        v = c[:1]
    v[:1].add_(1)


def view_made_inside_after_a_write_to_its_base(t):
    c = t.ones(2, requires_grad=True).clone()
    with t.inference_mode():
        v = c[:1]
    c.mul_(2)
    return v.grad_fn


def split_inside_written_outside(t):
    c = t.ones(2, requires_grad=True).clone()
    with t.inference_mode():
        a, _ = c.split(1)
    a.add_(1)


def backward_inside(t):
    w = t.ones(2, requires_grad=True)
    with t.inference_mode():
        (w * 1).sum().backward()


def graph_from_outside_differentiated_inside(t):
    w = t.ones(2, requires_grad=True)
    loss = (w * 3).sum()
    with t.inference_mode():
        loss.backward()
    return w.grad, w.grad.is_inference()


def hook_on_one_without_grad(t):
    made_inside(t).register_hook(lambda g: g)


def mode_argument(t):
    modes = [t.inference_mode(), t.inference_mode(False), t.inference_mode(mode=True)]
    return [(m.mode, m.clone().mode) for m in modes]


def decorated(t):
    @t.inference_mode()
    def called():
        """Say it."""
        return t.ones(1).is_inference()

    @t.inference_mode
    def bare():
        return t.ones(1).is_inference()

    off = t.inference_mode(False)(t.is_inference_mode_enabled)
    with t.inference_mode():
        inner = off()
    return called(), called.__name__, called.__doc__, bare(), inner


def decorated_generator(t):
    @t.inference_mode()
    def numbers():
        got = yield t.is_inference_mode_enabled()
        yield got, t.is_inference_mode_enabled()

    steps = numbers()
    first, between = next(steps), t.is_inference_mode_enabled()
    return first, between, steps.send("sent"), t.is_inference_mode_enabled()


def decorated_class(t):
    @t.inference_mode()
    class Made:
        def __init__(self):
            self.tensor = t.ones(1)

    return Made().tensor.is_inference()


def numpy_inside(t):
    import numpy as np

    with t.inference_mode():
        return t.from_numpy(np.ones(2)).is_inference(), t.tensor([1.0]).is_inference()


def version_preserved(t):
    x = t.zeros(2)
    x.add_(1)
    with t.autograd._unsafe_preserve_version_counter(x):
        x.add_(1)
    return x, x._version


PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value)
    and getattr(value, "__module__", "") == __name__
    and name not in ("made_inside", "facts")
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program)


def test_mode_belongs_to_its_thread():
    seen = []
    with gt.inference_mode():
        other = threading.Thread(target=lambda: seen.append(gt.ones(1)))
        other.start()
        other.join()
    assert not seen[0].is_inference()


def test_an_error_inside_ends_the_mode():
    with pytest.raises(ZeroDivisionError), gt.inference_mode():
        _ = 1 / 0
    assert not gt.is_inference_mode_enabled()
    assert (gt.ones(1, requires_grad=True) * 2).requires_grad


def test_observers_hear_of_writes_inside():
    events = []
    with gt.inference_mode(), gt.observe(events.append):
        gt.zeros(2).add_(1)
    names = [type(event).__name__ for event in events]
    assert "StorageWritten" in names
