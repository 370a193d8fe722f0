"""Attention and transformers give PyTorch's numbers, masks, refusals and text."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import pytest

from ..oracle import assert_same


def inputs(t: Any, *lead: int) -> list[Any]:
    """Make query, key and value for sequences of 4 and 6 steps."""
    t.manual_seed(5)
    shapes = ((*lead, 4, 3), (*lead, 6, 3), (*lead, 6, 3))
    return [t.randn(*s, dtype=t.float64).requires_grad_() for s in shapes]


def numbers(t: Any, value: Any) -> Any:
    """Return tensors without what a fused kernel does otherwise: nodes and strides."""
    if isinstance(value, t.Tensor):
        return value.detach().contiguous().clone()
    if isinstance(value, (list, tuple)):
        return [numbers(t, each) for each in value]
    return value


def gradients(t: Any, result: Any, *sources: Any) -> list[Any]:
    """Return a result and the gradients of a weighted sum of it."""
    weights = t.arange(1.0, result.numel() + 1, dtype=result.dtype)
    (result.reshape(-1) * weights).sum().backward()
    return numbers(t, [result, *(x.grad for x in sources)])


# ---- scaled_dot_product_attention ----


def biases(t: Any) -> Any:
    return importlib.import_module(f"{t.__name__}.nn.attention.bias")


@pytest.mark.parametrize("corner", ["upper_left", "lower_right"])
@pytest.mark.parametrize("keys", [4, 6])
def test_causal_biases_by_their_sizes(corner: str, keys: int) -> None:
    def program(t: Any) -> Any:
        q, k, v = inputs(t, 2, 3)
        bias = getattr(biases(t), f"causal_{corner}")(4, keys)
        attend = t.nn.functional.scaled_dot_product_attention
        found = attend(q, k[:, :, :keys], v[:, :, :keys], attn_mask=bias, scale=0.5)
        facts = [repr(bias), int(bias.variant), bias.seq_len_q, bias.seq_len_kv]
        return facts, bias._materialize(), gradients(t, found, q, k, v)

    assert_same(program)


def test_causal_biases_refuse_what_pytorch_refuses() -> None:
    def program(t: Any) -> Any:
        bias, found = biases(t), list[Any]()
        for wrong in (
            lambda: bias.causal_upper_left(3),
            lambda: bias.causal_lower_right(3, 2, 1),
            lambda: bias.CausalBias(1, 2, 3),
            lambda: t.nn.functional.scaled_dot_product_attention(
                *inputs(t), bias.causal_upper_left(4, 6), is_causal=True
            ),
        ):
            try:
                wrong()
            except (AssertionError, ValueError) as error:
                found.append((type(error).__name__, str(error)))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            bias.causal_lower_right(3, 2)
        return found, [str(each.message) for each in caught]

    assert_same(program)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3), (2, 1, 3)], ids=str)
@pytest.mark.parametrize(
    "options",
    [
        lambda t: {},
        lambda t: {"is_causal": True},
        lambda t: {"scale": 0.3},
        lambda t: {"scale": -0.3},
        lambda t: {"attn_mask": t.arange(24).reshape(4, 6) % 5 != 0},
        lambda t: {"attn_mask": t.zeros(4, 6, dtype=t.bool)},
        lambda t: {"attn_mask": t.arange(24.0, dtype=t.float64).reshape(4, 6) / 9},
        lambda t: {"dropout_p": 0.5},
        lambda t: {"dropout_p": 0.5, "is_causal": True},
    ],
)
def test_scaled_dot_product(lead: tuple[int, ...], options: Any) -> None:
    def program(t: Any) -> Any:
        q, k, v = inputs(t, *lead)
        call = t.nn.functional.scaled_dot_product_attention
        return gradients(t, call(q, k, v, **options(t)), q, k, v)

    assert_same(program)


def test_composed_attention_has_pytorchs_nodes() -> None:
    def program(t: Any) -> Any:
        q, k, v = inputs(t)
        call = t.nn.functional.scaled_dot_product_attention
        mask = t.zeros(4, 6, dtype=t.float64, requires_grad=True)
        found, names = call(q, k, v, mask), []
        node = found.grad_fn
        while node is not None:
            names.append(node.name())
            node = node.next_functions[0][0]
        return [found, names, gradients(t, found, mask)]

    assert_same(program)


def test_heads_can_be_shared() -> None:
    def program(t: Any) -> Any:
        q, k, v = inputs(t, 2, 4)
        call = t.nn.functional.scaled_dot_product_attention
        result = call(q, k[:, :2], v[:, :2], enable_gqa=True)
        return gradients(t, result, q, k, v)

    assert_same(program)


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_attention_of_half_precision_is_rounded_once(kind: str) -> None:
    def program(t: Any) -> Any:
        q, k, v = ((5 * x.detach()).to(getattr(t, kind)) for x in inputs(t, 2))
        sources = [x.requires_grad_() for x in (q, k, v)]
        mask = t.ones(4, 6).tril().bool()
        found = t.nn.functional.scaled_dot_product_attention(*sources, attn_mask=mask)
        found.float().pow(2).sum().backward()
        return [x.float() for x in (found.detach(), *(x.grad for x in sources))]

    assert_same(program, rtol=1e-2)


def test_second_derivatives_of_attention() -> None:
    def program(t: Any) -> Any:
        q, k, v = inputs(t)
        found = t.nn.functional.scaled_dot_product_attention(q, k, v)
        (first,) = t.autograd.grad(found.pow(2).sum(), q, create_graph=True)
        return numbers(t, t.autograd.grad(first.pow(2).sum(), [q, k, v]))

    assert_same(program)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, t, q, k, v: f(q, k, v, t.ones(4, 6, dtype=t.int32)),
        lambda f, t, q, k, v: f(q, k, v.float()),
        lambda f, t, q, k, v: f(q[0, 0, 0], k, v),
        lambda f, t, q, k, v: f(q, k[:, :2], v),
        lambda f, t, q, k, v: f(q, k, v, t.zeros(3, 6, dtype=t.float64)),
        lambda f, t, q, k, v: f(q, k[:, :2], v[:, :2], enable_gqa=True),
        lambda f, t, q, k, v: f(q[0, 0], k[0, 0], v[0, 0], enable_gqa=True),
        lambda f, t, q, k, v: f(q, k, v, dropout_p=2),
        lambda f, t, q, k, v: f(
            q[0], k[0], v[0], t.ones(4, 6, dtype=t.bool), is_causal=True
        ),
        lambda f, t, q, k, v: f(q, k, v, t.ones(4, 6, dtype=t.bool), 0.5, True),
        lambda f, t, q, k, v: f(
            q, k, v[..., :2], t.ones(4, 6, dtype=t.bool), is_causal=True
        ),
    ],
)
def test_refused_attention(call: Any) -> None:
    def program(t: Any) -> Any:
        return call(t.nn.functional.scaled_dot_product_attention, t, *inputs(t, 2, 3))

    assert_same(program)


# ---- MultiheadAttention ----

LAYERS: list[dict[str, Any]] = [
    {},
    {"bias": False},
    {"add_bias_kv": True},
    {"add_zero_attn": True},
    {"kdim": 3, "vdim": 5},
    {"kdim": 3, "vdim": 5, "bias": False, "batch_first": True},
    {"batch_first": True},
    {"dropout": 0.5},
    {"add_bias_kv": True, "add_zero_attn": True, "batch_first": True},
]


@pytest.mark.parametrize("options", LAYERS, ids=str)
@pytest.mark.parametrize("need_weights", [True, False])
def test_multihead_attention(options: dict[str, Any], need_weights: bool) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(2)
        layer = t.nn.MultiheadAttention(4, 2, dtype=t.float64, **options)
        shape = (3, 2) if options.get("batch_first") else (2, 3)
        q = t.randn(*shape, 4, dtype=t.float64, requires_grad=True)
        k = t.randn(*shape, options.get("kdim", 4), dtype=t.float64)
        v = t.randn(*shape, options.get("vdim", 4), dtype=t.float64)
        result, weights = layer(q, k, v, need_weights=need_weights)
        found = gradients(t, result, q, *layer.parameters())
        names = {name: list(p.shape) for name, p in layer.state_dict().items()}
        return [found, numbers(t, weights), names, str(layer)]

    assert_same(program)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("average", [True, False])
def test_masks(need_weights: bool, average: bool) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(2)
        layer = t.nn.MultiheadAttention(4, 2)
        x = t.randn(3, 2, 4)
        hidden = t.tensor([[False, False, True], [False, False, False]])
        ahead = t.nn.Transformer.generate_square_subsequent_mask(3)
        floats = t.zeros(2, 3).masked_fill_(hidden, float("-inf"))
        how = {"need_weights": need_weights, "average_attn_weights": average}
        heads = ahead.expand(4, 3, 3).contiguous()
        found = [
            layer(x, x, x, key_padding_mask=hidden, **how),
            layer(x, x, x, attn_mask=ahead, **how),
            layer(x, x, x, attn_mask=ahead == 0, **how),
            layer(x, x, x, attn_mask=heads, key_padding_mask=floats, **how),
            layer(x, x, x, attn_mask=ahead, is_causal=True, **how),
            layer(x, x.clone(), x, attn_mask=ahead, key_padding_mask=hidden, **how),
            layer(x[:, 0], x[:, 0], x[:, 0], attn_mask=ahead, **how),
            layer(x[:, 0], x[:, 0], x[:, 0], key_padding_mask=hidden[0], **how),
        ]
        return numbers(t, found)

    assert_same(program, rtol=2e-4)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, m, x: t.nn.MultiheadAttention(0, 2),
        lambda t, m, x: t.nn.MultiheadAttention(5, 2),
        lambda t, m, x: m(x[0, 0], x, x),
        lambda t, m, x: m(x, x[0], x),
        lambda t, m, x: m(x[0], x, x),
        lambda t, m, x: m(x, x, x, key_padding_mask=t.ones(3)),
        lambda t, m, x: m(x, x, x, key_padding_mask=t.ones(3, 3)),
        lambda t, m, x: m(x, x, x, key_padding_mask=t.ones(2, 4)),
        lambda t, m, x: m(x, x, x, key_padding_mask=t.ones(2, 3, dtype=t.int64)),
        lambda t, m, x: m(x, x, x, attn_mask=t.ones(3)),
        lambda t, m, x: m(x, x, x, attn_mask=t.ones(3, 4)),
        lambda t, m, x: m(x, x, x, attn_mask=t.ones(3, 3, 3)),
        lambda t, m, x: m(x[0], x[0], x[0], attn_mask=t.ones(3, 3, 3)),
        lambda t, m, x: m(x, x, x, is_causal=True),
        lambda t, m, x: m(x[..., :2], x, x),
        lambda t, m, x: m(x, x[:2], x),
        lambda t, m, x: t.nn.MultiheadAttention(4, 2, kdim=3)(x, x, x),
    ],
)
def test_refused_layers(call: Any) -> None:
    def program(t: Any) -> Any:
        return call(t, t.nn.MultiheadAttention(4, 2), t.ones(3, 2, 4))

    assert_same(program)


# ---- transformers ----


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm_first": True, "activation": "gelu"},
        {"batch_first": True, "bias": False},
    ],
    ids=str,
)
def test_transformer(options: dict[str, Any]) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(7)
        how = {"dropout": 0.25, "dtype": t.float64, **options}
        model = t.nn.Transformer(4, 2, 2, 2, 6, **how)
        shape = (2, 3, 4) if options.get("batch_first") else (3, 2, 4)
        src = t.randn(*shape, dtype=t.float64, requires_grad=True)
        tgt = t.randn(*shape, dtype=t.float64)
        ahead = model.generate_square_subsequent_mask(3, dtype=t.float64)
        hidden = t.tensor([[False, False, True], [False, True, True]])
        result = model(
            src,
            tgt,
            tgt_mask=ahead,
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
        )
        trained = gradients(t, result, src, *model.parameters())
        model.eval()
        with t.no_grad():
            seen = model(src, tgt, tgt_is_causal=False, tgt_mask=ahead)
        return [trained, numbers(t, seen), str(model), list(model.state_dict())]

    assert_same(program, rtol=1e-4)


def test_encoder_evaluates_without_padding() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(7)
        layer = t.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        model = t.nn.TransformerEncoder(layer, 2, t.nn.LayerNorm(4)).eval()
        x = t.randn(2, 3, 4)
        aligned = t.tensor([[False, False, True], [False, True, True]])
        other = t.tensor([[False, True, False], [False, True, True]])
        ahead = t.nn.Transformer.generate_square_subsequent_mask(3)
        # PyTorch says there that its nested tensors are a prototype.
        warnings.filterwarnings("ignore", ".*nested tensors.*")
        with t.no_grad():
            found = [
                model(x),
                model(x, src_key_padding_mask=aligned),
                model(x, src_key_padding_mask=other),
                model(x, mask=ahead),
                model(x, mask=ahead, is_causal=True),
                layer.eval()(x, src_key_padding_mask=aligned),
            ]
        found.append(model(x, src_key_padding_mask=aligned))
        return numbers(t, found)

    assert_same(program, rtol=2e-4)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, n: n.TransformerEncoderLayer(4, 2, activation="tanh"),
        lambda t, n: n.Transformer(4, 2, 1, 1, 8)(t.ones(1, 2, 4), t.ones(1, 3, 4)),
        lambda t, n: n.Transformer(4, 2, 1, 1, 8)(t.ones(1, 2, 3), t.ones(1, 2, 4)),
        lambda t, n: str(n.TransformerEncoder(n.TransformerEncoderLayer(4, 1), 1)),
        lambda t, n: str(
            n.TransformerEncoder(
                n.TransformerEncoderLayer(3, 1, 2, batch_first=True), 1
            )
        ),
        lambda t, n: n.TransformerEncoder(n.Linear(1, 1), 1).use_nested_tensor,
        lambda t, n: n.TransformerDecoder(n.TransformerDecoderLayer(4, 2, 3), 2)(
            t.ones(2, 1, 4), t.ones(3, 2, 4)
        ),
    ],
)
def test_refused_transformers(call: Any) -> None:
    assert_same(lambda t: call(t, t.nn))


def test_a_transformer_trains_as_in_pytorch() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        layer = t.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
        model = t.nn.TransformerEncoder(layer, 1)
        optimizer = t.optim.SGD(model.parameters(), lr=0.05)
        data = t.randn(4, 5, 8)
        losses: list[float] = []
        for _ in range(10):
            optimizer.zero_grad()
            loss = (model(data) - data.flip(1)).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    assert_same(program, rtol=1e-4)
