"""The order of module hooks, what they may return and warn of, beside PyTorch."""

from __future__ import annotations

import copy
import pickle
import weakref
from collections import OrderedDict

import pytest

import gradtape as gt

from ..oracle import assert_same


def leaf(t, *values):
    return t.tensor([float(v) for v in values], requires_grad=True)


def calling(t, forward):
    """Return a module that computes what a function does."""

    class Calling(t.nn.Module):
        def forward(self, *args, **kwargs):
            return forward(*args, **kwargs)

    return Calling()


def plain(value):
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return None if value is None else value.tolist()


# ---- the older backward hooks: what they miss ----

OLDER = {
    "one node": lambda t, x: (lambda x: x * 2, (x * 1,)),
    "a leaf": lambda t, x: (lambda x: x * 2, (x,)),
    "two nodes": lambda t, x: (lambda x: (x * 2).exp(), (x * 1,)),
    "two outputs": lambda t, x: (lambda x: (x * 2, x * 3), (x,)),
    "a dict": lambda t, x: (lambda x: {"a": x * 2}, (x,)),
    "a list": lambda t, x: (lambda x: [x * 2], (x,)),
    "an input that is no tensor": lambda t, x: (lambda x, k: x * k, (x, 3)),
    "nothing to differentiate": lambda t, x: (lambda x: x * 2, (x.detach(),)),
}


@pytest.mark.parametrize("kind", ["backward", "full_backward"])
@pytest.mark.parametrize("name", OLDER)
def test_backward_hooks(name, kind):
    def program(t):
        x, seen = leaf(t, 1), []
        forward, args = OLDER[name](t, x)
        module = calling(t, forward)
        register = getattr(module, f"register_{kind}_hook")
        register(lambda m, i, o: seen.append((plain(i), plain(o))))
        found = module(*args)
        first = found["a"] if isinstance(found, dict) else found
        first = first[0] if isinstance(first, tuple | list) else first
        if first.requires_grad:
            first.backward()
        return seen, x.grad

    assert_same(program)


# ---- what hooks return ----


def one_gradient_too_many(t):
    module = calling(t, lambda x: x * 2)
    module.register_full_backward_hook(lambda m, i, o: (i[0], i[0]))
    module(leaf(t, 1)).backward()


def one_incoming_gradient_too_many(t):
    module = calling(t, lambda x: x * 2)
    module.register_full_backward_pre_hook(lambda m, o: (o[0], o[0]))
    module(leaf(t, 1)).backward()


def a_tensor_in_place_of_a_tuple(t):
    module = calling(t, lambda x: x * 2)
    module.register_full_backward_hook(lambda m, i, o: i[0] * 5)
    module(leaf(t, 1)).backward()


def a_gradient_for_inputs_that_need_none(t):
    module = t.nn.Linear(1, 1)
    module.register_full_backward_hook(lambda m, i, o: (t.ones(1, 1),))
    module(t.ones(1, 1)).sum().backward()


def no_pair_from_a_hook_with_kwargs(t):
    module = calling(t, lambda x: x)
    module.register_forward_pre_hook(lambda m, a, k: 5, with_kwargs=True)
    module(leaf(t, 1))


def an_output_written_in_place(t):
    module = calling(t, lambda x: x * 2)
    module.register_full_backward_hook(lambda m, i, o: None)
    module(leaf(t, 1) * 1).mul_(2)


def an_input_written_in_place(t):
    module = calling(t, lambda x: x.mul_(2))
    module.register_full_backward_hook(lambda m, i, o: None)
    module(leaf(t, 1) * 1)


def gradients_that_are_differentiated(t):
    x, seen = leaf(t, 1), []
    module = calling(t, lambda x: (x * 2).exp())
    module.register_full_backward_hook(
        lambda m, i, o: seen.append((i[0].requires_grad, o[0].requires_grad))
    )
    (g,) = t.autograd.grad(module(x), x, create_graph=True)
    return g.tolist(), t.autograd.grad(g, x), seen


# ---- order ----


def order_of_all(t):
    shared, seen = t.nn.modules.module, []

    def note(what):
        return lambda *_: seen.append(what)

    handles = [
        shared.register_module_forward_pre_hook(note("all: before")),
        shared.register_module_forward_hook(note("all: after")),
        shared.register_module_full_backward_pre_hook(note("all: backward before")),
        shared.register_module_full_backward_hook(note("all: backward after")),
    ]
    module = calling(t, lambda x: x * 2)
    for name, register in [
        ("before", module.register_forward_pre_hook),
        ("after", module.register_forward_hook),
        ("backward before", module.register_full_backward_pre_hook),
        ("backward after", module.register_full_backward_hook),
    ]:
        register(note(name))
        register(note(f"first {name}"), prepend=True)
    module(leaf(t, 1)).backward()
    for handle in handles:
        handle.remove()
    shared._global_is_full_backward_hook = None
    module(leaf(t, 1)).backward()
    return seen


def keyword_arguments(t):
    module = calling(t, lambda x, *, bias=0: x + bias)
    module.register_forward_pre_hook(
        lambda m, a, k: (a, {"bias": k["bias"] + 1}), with_kwargs=True
    )
    handle = module.register_forward_hook(
        lambda m, a, k, out: out + k["bias"], with_kwargs=True
    )
    first = module(leaf(t, 1), bias=2)
    handle.remove()
    left = len(module._forward_hooks_with_kwargs)
    return first, left, module(leaf(t, 1), bias=2)


def hooks_after_an_error(t):
    seen = []

    def fail(x):
        raise ValueError("in forward")

    def fail_too(module, args, output):
        raise KeyError("in the hook")

    module = calling(t, fail)
    add = module.register_forward_hook
    add(lambda m, a, out: seen.append(("first", out)), always_call=True)
    add(fail_too, always_call=True)
    add(lambda m, a, out: 7, always_call=True)
    add(lambda m, a, k, out: seen.append((k, out)), always_call=True, with_kwargs=True)
    add(lambda m, a, out: seen.append("never"))
    try:
        module(leaf(t, 1))
    except ValueError as error:
        seen.append(str(error))
    return seen


def removed_while_running(t):
    seen, handles = [], []
    module = calling(t, lambda x: x)

    def before(module, args):
        seen.append("first")
        handles[0].remove()

    module.register_forward_pre_hook(before)
    handles.append(module.register_forward_pre_hook(lambda m, a: seen.append("second")))
    module(leaf(t, 1))
    module(leaf(t, 1))
    return seen


def both_kinds_for_all_modules(t):
    shared = t.nn.modules.module
    handle = shared.register_module_full_backward_hook(lambda *_: None)
    try:
        shared.register_module_backward_hook(lambda *_: None)
    finally:
        handle.remove()
        shared._global_is_full_backward_hook = None


# ---- registration, state dicts, copies ----


def what_modules_are_given(t):
    shared, seen = t.nn.modules.module, []
    handles = [
        register(lambda m, name, value, kind=kind: seen.append((kind, name)))
        for kind, register in (
            ("parameter", shared.register_module_parameter_registration_hook),
            ("buffer", shared.register_module_buffer_registration_hook),
            ("module", shared.register_module_module_registration_hook),
        )
    ]
    module = t.nn.Module()
    module.weight = t.nn.Parameter(t.ones(1))
    module.register_buffer("mean", t.ones(1))
    module.register_buffer("nothing", None)
    module.register_parameter("none", None)
    module.layer = t.nn.Linear(1, 1)
    module.register_module("end", t.nn.ReLU())
    for handle in handles:
        handle.remove()
    return seen


def state_dict_hooks(t):
    seen, net = [], t.nn.Sequential(t.nn.Linear(1, 1))
    net.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append(prefix))
    net[0].register_state_dict_post_hook(
        lambda m, state, prefix, meta: seen.append((sorted(state), prefix, dict(meta)))
    )
    net[0].register_load_state_dict_pre_hook(
        lambda m, state, prefix, *rest: seen.append((type(m).__name__, sorted(state)))
    )
    net.register_load_state_dict_post_hook(
        lambda m, keys: seen.append((keys.missing_keys, keys.unexpected_keys))
    )
    state = net.state_dict()
    del state["0.bias"]
    state["other"] = t.ones(1)
    net.load_state_dict(state, strict=False)
    return seen


def a_copied_module_has_hooks_of_its_own(t):
    seen, module = [], t.nn.Linear(1, 1)
    handle = module.register_forward_hook(lambda *_: seen.append("ran"))
    other = copy.deepcopy(module)
    handle.remove()
    module(t.ones(1, 1))
    other(t.ones(1, 1))
    return seen


def tables_of_a_module(t):
    return sorted(
        name for name in t.nn.Linear(1, 1).__dict__ if name.endswith(("hook", "hooks"))
    )


def a_table_put_in_its_place(t):
    seen, module = [], t.nn.ReLU()
    module.register_forward_hook(lambda *_: seen.append("old"))
    module._forward_hooks = OrderedDict()
    module(t.ones(1))
    return seen


def a_pickled_handle(t):
    table = OrderedDict()
    handle = t.utils.hooks.RemovableHandle(table)
    table[handle.id] = "hook"
    copied, other = pickle.loads(pickle.dumps((table, handle)))
    other.remove()
    found = [len(table), len(copied)]
    lonely = pickle.loads(pickle.dumps(handle))
    lonely.remove()
    return [*found, len(table)]


def hooks_that_saving_loses(t):
    x = leaf(t, 1)
    x.register_hook(abs)
    x.register_hook(t.utils.hooks.unserializable_hook(lambda g: g))
    t.utils.hooks.warn_if_has_hooks(x)


def a_hook_object_used_by_hand(t):
    seen, x = [], leaf(t, 1)
    hook = t.utils.hooks.BackwardHook(
        None, [lambda m, i, o: seen.append((plain(i), plain(o)))], []
    )
    inputs = hook.setup_input_hook((x, 2))
    hook.setup_output_hook(inputs[0] * 3).backward()
    return seen, x.grad


PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value)
    and getattr(value, "__module__", "") == __name__
    and name not in ("leaf", "calling", "plain", "test_backward_hooks")
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_as_pytorch(program):
    assert_same(program)


@pytest.mark.usefixtures("no_collector")
def test_a_module_is_not_kept_by_its_hooks():
    module = gt.nn.Linear(1, 1)
    module.register_load_state_dict_pre_hook(lambda m, *_: None)
    module.register_full_backward_hook(lambda m, i, o: None)
    module(gt.ones(1, 1, requires_grad=True)).sum().backward()
    kept = weakref.ref(module)
    del module
    assert kept() is None


def test_a_hook_of_a_module_that_is_gone_says_so():
    module = gt.nn.Linear(1, 1)
    module.register_load_state_dict_pre_hook(lambda m, *_: None)
    (hook,) = module._load_state_dict_pre_hooks.values()
    del module
    with pytest.raises(RuntimeError, match="hook of a dead Module"):
        hook({}, "", {}, True, [], [], [])
