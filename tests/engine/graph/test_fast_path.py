"""Attention as one call: its kinds, and when a layer in evaluation takes it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradtape
from gradtape._graph.observe import observe
from gradtape._graph.registry import FUNCTIONS

from ..oracle import assert_same

pytest.importorskip("torch")

WIDE = 8


def _parts(t: Any) -> tuple[Any, ...]:
    def drawn(*shape: int) -> Any:
        return t.arange(float(t.Size(shape).numel())).reshape(shape).cos()

    x = drawn(2, 3, WIDE)
    weights = drawn(3 * WIDE, WIDE), drawn(3 * WIDE), drawn(WIDE, WIDE), drawn(WIDE)
    return x, weights


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "cut": lambda run, x, w: run.cut(x.repeat(1, 1, 3), w[1], 2),
    "cut oddly": lambda run, x, w: run.cut(x.repeat(1, 1, 3), w[1], 3),
    "self": lambda run, x, w: run(x, x, x, WIDE, 2, *w),
    "each head": lambda run, x, w: run(
        x, x, x, WIDE, 2, *w, average_attn_weights=False
    ),
    "no weights": lambda run, x, w: run(x, x, x, WIDE, 4, *w, need_weights=False),
    "another key": lambda run, x, w: run(x, x.sin(), x.sin(), WIDE, 2, *w),
    "three": lambda run, x, w: run(x, x.sin(), x + 1, WIDE, 2, *w),
    "nothing": lambda run, x, w: run(x[:0], x[:0], x[:0], WIDE, 2, *w),
    "padding": lambda run, x, w: run(x, x, x, WIDE, 2, *w, x[..., 0] > 0, mask_type=1),
    "numbers": lambda run, x, w: run(
        x, x, x, WIDE, 2, *w, (x[0, :, :3] > 0).float(), mask_type=0
    ),
    "flat query": lambda run, x, w: run(x[0], x, x, WIDE, 2, *w),
    "flat key": lambda run, x, w: run(x, x[0], x, WIDE, 2, *w),
    "other shape": lambda run, x, w: run(x, x, x[:1], WIDE, 2, *w),
    "other size": lambda run, x, w: run(x, x, x, WIDE - 1, 2, *w),
    "odd heads": lambda run, x, w: run(x, x, x, WIDE, 3, *w),
    "flat weight": lambda run, x, w: run(x, x, x, WIDE, 2, w[0][0], *w[1:]),
    "short weight": lambda run, x, w: run(x, x, x, WIDE, 2, w[0][1:], *w[1:]),
    "narrow weight": lambda run, x, w: run(x, x, x, WIDE, 2, w[0][:, 1:], *w[1:]),
    "wide bias": lambda run, x, w: run(x, x, x, WIDE, 2, w[0], w[1][None], *w[2:]),
    "short bias": lambda run, x, w: run(x, x, x, WIDE, 2, w[0], w[1][1:], *w[2:]),
}


@pytest.mark.parametrize("name", CALLS)
def test_attention_in_one_call(name: str):
    def program(t: Any) -> Any:
        class Run:
            cut = staticmethod(t._transform_bias_rescale_qkv)

            def __call__(self, *args: Any, **kwargs: Any) -> Any:
                return t._native_multi_head_attention(*args, **kwargs)

        found = CALLS[name](Run(), *_parts(t))
        return [x if x is None else x.clone() for x in found]

    assert_same(program, rtol=1e-4)


def _layer(t: Any, **options: Any) -> Any:
    layer = t.nn.TransformerEncoderLayer(WIDE, 2, 6, batch_first=True, **options)
    with t.no_grad():
        for weight in layer.parameters():
            weight.copy_(t.arange(float(weight.numel())).view_as(weight).sin())
    return layer.eval()


@pytest.mark.parametrize("options", [{}, {"norm_first": True, "activation": "gelu"}])
@pytest.mark.parametrize("masked", ["", "pairs", "padding", "pairs and padding"])
def test_layers_give_the_same_at_once(options: dict[str, Any], masked: str):
    def program(t: Any) -> Any:
        x, _ = _parts(t)
        pairs = t.ones(3, 3).triu(1).bool() if "pairs" in masked else None
        padding = t.arange(6).reshape(2, 3) == 2 if "padding" in masked else None
        with t.no_grad():
            return _layer(t, **options)(x, pairs, padding)

    assert_same(program, rtol=1e-4)


ATTENTION, LAYER = "_native_multi_head_attention", "_transformer_encoder_layer_fwd"


def taken(monkeypatch: pytest.MonkeyPatch, layer: Any, *args: Any) -> list[str]:
    """Return which calls of the fast path one call of a layer makes."""
    calls: list[str] = []

    def noted(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: calls.append(name) or run(*given)

    with monkeypatch.context() as patches, gradtape.no_grad():
        for name in (ATTENTION, LAYER):
            patches.setitem(FUNCTIONS, name, noted(name, FUNCTIONS[name]))
        layer(*args)
    return calls


def test_evaluation_without_gradients_takes_it(monkeypatch: pytest.MonkeyPatch):
    x, _ = _parts(gradtape)
    layer = _layer(gradtape)
    assert taken(monkeypatch, layer, x) == [LAYER]
    assert taken(monkeypatch, layer.self_attn, x, x, x) == [ATTENTION]


@pytest.mark.parametrize(
    "change",
    [
        lambda layer: layer.train(),
        lambda layer: layer.linear1.register_forward_hook(lambda *_: None),
        lambda layer: setattr(layer.norm1, "eps", 0.5),
        lambda layer: setattr(layer.self_attn, "batch_first", False),
    ],
)
def test_other_layers_run_part_by_part(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], Any]
):
    x, _ = _parts(gradtape)
    layer = _layer(gradtape)
    change(layer)
    assert LAYER not in taken(monkeypatch, layer, x)


def test_layers_without_values_are_not_asked_for_them(monkeypatch: pytest.MonkeyPatch):
    layer = _layer(gradtape).to("meta")
    x, mask = (gradtape.empty(3, 3, n, device="meta") for n in (WIDE, 3))
    assert not taken(monkeypatch, layer, x, mask[0])


def test_masks_that_weigh_are_added(monkeypatch: pytest.MonkeyPatch):
    x, _ = _parts(gradtape)
    layer = _layer(gradtape)
    weighs = gradtape.eye(3)
    assert not taken(monkeypatch, layer, x, weighs)
    with gradtape.no_grad():
        alone = layer(x)
        weighed = layer(x, weighs)
    assert np.abs(alone.numpy() - weighed.numpy()).max() > 1e-3


def test_the_switch_keeps_the_parts(monkeypatch: pytest.MonkeyPatch):
    x, _ = _parts(gradtape)
    layer = _layer(gradtape)
    switch = gradtape.backends.mha.set_fastpath_enabled
    switch(False)
    try:
        assert not taken(monkeypatch, layer, x)
    finally:
        switch(True)


def test_who_watches_changes_no_bit():
    x, _ = _parts(gradtape)
    layer, seen = _layer(gradtape), list[Any]()
    with gradtape.no_grad():
        alone = layer(x)
        with observe(seen.append):
            assert layer(x).equal(alone)
    assert seen


# ---- the kind that PyTorch would choose ----

CHOICES: dict[str, Callable[[Any, Any], tuple[Any, dict[str, Any]]]] = {
    "alike": lambda t, q: ((q, q, q), {}),
    "with dropout": lambda t, q: ((q, q, q), {"dropout_p": 0.5}),
    "three dimensions": lambda t, q: ((q[0], q[0], q[0]), {}),
    "narrow values": lambda t, q: ((q, q, q[..., :3]), {}),
    "one batch": lambda t, q: ((q, q[:1], q[:1]), {}),
    "one head": lambda t, q: ((q, q[:, :1], q[:, :1]), {}),
    "shared head": lambda t, q: ((q, q[:, :1], q[:, :1]), {"enable_gqa": True}),
    "short keys": lambda t, q: ((q, q[:, :, :2], q[:, :, :2]), {}),
    "no queries": lambda t, q: ((q[:, :, :0], q, q), {}),
    "columns": lambda t, q: ((q.mT, q.mT, q.mT), {}),
    "mask": lambda t, q: ((q, q, q, t.zeros(4, 4)), {"is_causal": True}),
    "mask of heads": lambda t, q: ((q, q, q, t.zeros(2, 4, 4)), {}),
    "mask that learns": lambda t, q: ((q, q, q, t.zeros(4, 4).requires_grad_()), {}),
    "halves": lambda t, q: ((q.half(),) * 3, {}),
    "integers": lambda t, q: ((q.int(),) * 3, {}),
}
KINDS = (["MATH"], ["FLASH_ATTENTION"], ["EFFICIENT_ATTENTION"], None)


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("name", CHOICES)
def test_the_kind_of_attention_that_is_chosen(name: str, kinds: list[str] | None):
    def program(t: Any) -> Any:
        attention = importlib.import_module(f"{t.__name__}.nn.attention")
        args, named = CHOICES[name](t, t.ones(2, 2, 4, 8))
        if kinds is None:
            return t._fused_sdp_choice(*args, **named)
        with attention.sdpa_kernel(
            [getattr(attention.SDPBackend, kind) for kind in kinds]
        ):
            return t._fused_sdp_choice(*args, **named)

    assert_same(program)


@pytest.mark.parametrize("kind", ["MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION"])
def test_a_kind_that_is_switched_off_is_not_taken(kind: str):
    def program(t: Any, *args: Any) -> Any:
        attention = importlib.import_module(f"{t.__name__}.nn.attention")
        q = t.ones(2, 2, 4, 8)
        with attention.sdpa_kernel(getattr(attention.SDPBackend, kind)):
            return t.nn.functional.scaled_dot_product_attention(q, q, q, *args)

    assert_same(lambda t: program(t))
    assert_same(lambda t: program(t, t.zeros(4, 4), 0.0, True))
    assert gradtape.backends.cuda.math_sdp_enabled()
