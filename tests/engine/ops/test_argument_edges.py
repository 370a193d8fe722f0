"""Arguments at the edges of products, norms, histograms and einsum, a line each."""

from __future__ import annotations

import numpy as np
import pytest

import gradtape

from ..nn.lines import check_line

PRODUCTS = """
t.addr(m, a, b, beta=True)
t.addr(m, a, b, alpha=True)
t.addr(m.bool(), a.bool(), b.bool(), beta=True, alpha=True)
t.addr(m.int(), a.int(), b.int(), beta=1j)
t.addr(m, a, t.tensor(6.0))
t.addr(m, m, a)
t._int_mm(i, i.t())
t._int_mm(i.view(t.uint8), i.t())
t._int_mm(i, i.t().int())
t._int_mm(i.int(), i.t())
t._weight_int8pack_mm(t.ones(2, 3), t.arange(6).char().view(2, 3), t.tensor([0.5, 2]))
t._weight_int8pack_mm(t.ones(2, 3).half(), t.ones(1, 3).char(), t.ones(1).half())
t._weight_int8pack_mm(t.ones(2, 3).bfloat16(), t.ones(1, 3).char(), t.ones(1))
t._weight_int8pack_mm(t.ones(2, 3).double(), t.ones(1, 3).char(), t.ones(1).double())
t._weight_int8pack_mm(t.ones(3, 2).t(), t.ones(1, 3).char(), t.ones(1))
t._weight_int8pack_mm(t.ones(2, 3), t.ones(1, 3).byte(), t.ones(1))
t._weight_int8pack_mm(t.ones(2, 3), t.ones(3, 2).char().t(), t.ones(2))
t._weight_int8pack_mm(t.ones(2, 3), t.ones(1, 3).char(), t.ones(2))
t._int_mm(i, i)
t._int_mm(i[0], i)
t._int_mm(i, i.t(), out=t.empty(2, 2, dtype=t.int32))
t._int_mm(i, i.t(), out=t.empty(2, 2))
t._int_mm(i, i.t(), out=t.empty(1, 2, dtype=t.int32))
m @ 3
3 @ m
t.tensordot(x, x)
t.tensordot(x, x, t.tensor(1))
t.tensordot(x, x, t.tensor(-1))
t.tensordot(m, y, t.tensor([[0], [0]]))
t.tensordot(m, y, t.tensor([1, 1, 1]))
t.tensordot(m, y, ([0, 1], [0]))
t.tensordot(m, y, ([2], [0]))
t.tensordot(m, m, ([0, 0], [0, 0]))
t.tensordot(x[0], x[0], ([0], [0]))
t.tensordot(m, y, (0, 0))
t.tensordot(m, y, 0.5)
t.tensordot(m, m.int(), 1)
t.tensordot(y, y, 1)
"""

OTHER_KINDS = """
F.cross_entropy(n, x.long())
F.cross_entropy(m, [0, 1])
F.nll_loss(m, None)
F.kl_div(n, m)
F.kl_div(m, n)
F.layer_norm(n, (2,))
F.max_pool2d(n, 2)
F.avg_pool1d(n, 2)
F.dropout(n)
F.scaled_dot_product_attention(m, m, None)
t.equal(m, n)
t.outer(x, n)
t.inner(n, m)
t.chunk(n, 2)
t.multinomial(n, 1)
"""

REDUCTIONS = """
y.sum(0, keepdim=1)
y.mean(0, keepdim=2)
y.amax(0, keepdim=None)
y.max(0, keepdim=1)
y.prod(0, keepdim=1)
y.nansum(0, keepdim=1)
y.logsumexp(0, keepdims=1)
y.sum(0, keepdim=np.True_)
y.argmax(0, keepdim=1)
y.kthvalue(1, 0, keepdim=None)
y.mode(keepdim=t.tensor(True))
t.isclose(y, y, equal_nan=1)
t.isclose(t.tensor([2 + 4j]), t.tensor([1 + 8.8523607j]), 0.5, 0.5)
t.arange(step=2)
y.split([1, "a"], 1)
y.split(1.5)
t.split(y)
t.layer_norm(y, 3)
t.nn.functional.rms_norm(y, (3.0,))
y[None, :, :, None].squeeze(0, 3).shape
y[None, :, :, None].squeeze(0, 0)
y[None, :, :, None].squeeze(0, 4)
y[None, :, :, None].squeeze_(0, -1).shape
y[0, 0].to(t.uint8).index_add(0, t.tensor([0]), t.tensor(3, dtype=t.uint8), alpha=-1)
"""

NORMS = """
t.linalg.norm(m, axis=0)
t.linalg.norm(m, dim=0, keepdims=True)
t.linalg.vector_norm(m, axis=0)
t.linalg.matrix_norm(m, axis=(0, 1))
t.linalg.cross(t.ones(3), t.arange(3.0), axis=0)
t.linalg.matrix_norm(m, ord=1 + 2j)
t.linalg.vector_norm(m, dim=(0.5,))
t.linalg.vector_norm(m, dim=("a",))
t.linalg.eig(m, out=(t.empty(0, dtype=t.complex128), t.empty(0)))
t.linalg.eig(m, out=(t.empty(0), t.empty(0)))
"""

EINSUM = """
t.einsum(". ..", x)
t.einsum("... .", x)
t.einsum("a..->a", x)
t.einsum("...a...", x)
t.einsum("1", x)
t.einsum("a->1", x)
t.einsum("a->..", x)
t.einsum("ab->1", x)
t.einsum("a->...->", x)
t.einsum("a,a,a", x, x)
t.einsum("a", x, x)
t.einsum("ii", y)
t.einsum("...,...->", x, y)
t.einsum("a b -> b a", y)
t.einsum("...", y)
t.einsum("a")
t.einsum("", [])
t.einsum("a,a", [])
t.einsum(x, [55])
t.einsum(y, [0, 1], [1])
"""

COUNTS = """
t.ones(2, 0, 4).kthvalue(1, 1)
t.ones(0).kthvalue(1)
t.histogram(y)
t.histogramdd(t.ones(3, 0), bins=[])
t.histogramdd(t.ones(0, 2), bins=[2, 3])
t.histc(t.tensor([1, 0]), 4, 5, 1)
t.histc(t.tensor([1, 0]), 4)
t.histc(t.tensor([True, False]), 4)
t.histogram(x, 2, out=(t.empty(2), t.empty(3, dtype=t.float64)))
t.mode(x, 0, out=(t.empty(0), t.empty(0, dtype=t.int8)))
t.mode(x, 0, out=(t.empty(0, dtype=t.int8), t.empty(0, dtype=t.int64)))
t._unique(t.tensor([3, 1, 3]), return_inverse=True)
t._unique2(t.tensor([3, 1, 3]), return_counts=True)
t._VF.unique_dim(t.tensor([3, 1, 3]), 0)
t._VF.relu(x - 1)
"""

OTHER_KINDS = """
t.argsort([3.0, 1.0])
t.kron([1.0], x)
t.kron(x, n)
t.vander([1.0])
t.combinations(n)
t.fliplr([[1.0]])
t.flipud(None)
t.ravel(2.0)
t.adjoint(n)
t.diagflat(2.0)
t.broadcast_to([1.0], (2,))
t.real(n)
t.imag(None)
t.conj(2.0)
t.numel([1])
t.is_floating_point(2.0)
t.is_complex(n)
t.isreal([1.0])
t.nanmean([1.0])
t.take_along_dim(y, [0])
t.is_same_size(x, 2)
t.is_nonzero([1])
t.where([True])
t.view_as_complex([1.0])
t.atleast_1d([1.0])
t.atleast_2d(x, None)
t.trapezoid([1.0])
F.prelu(None, x)
F.prelu(x, 0.25)
F.rrelu("a")
F.tanh(n)
t.nn.Tanh()(n)
t.nn.Sigmoid()(None)
F.rms_norm([1.0], (1,))
F.batch_norm(n, None, None)
F.adaptive_avg_pool1d(n, 1)
F.adaptive_max_pool1d(None, 1)
F.alpha_dropout(n)
F.feature_alpha_dropout([1.0])
F.unfold(None, 1)
F.fold([1.0], 2, 1)
F.pixel_shuffle(n, 2)
F.pixel_unshuffle(n, 2)
F.channel_shuffle(n, 1)
F.pad(None, (1, 1))
F.pad(x, 1)
F.pad(x, (1.5, 1))
F.pad(x, range(2))
F.grid_sample(n, y)
F.cosine_similarity(y, n)
F.pairwise_distance(2.0, y)
F.poisson_nll_loss(n, y)
F.hinge_embedding_loss(y, [1.0])
F.conv_transpose1d(n, y)
t.amax(x, "a")
t.amax(x, (0.0,))
t.logsumexp(x, n)
t.nansum(x, (0.5,))
t.median(x, 0.5)
t.nanmedian(x, True)
t.mode(x, 0.5)
t.optim.SGD([n])
x.__setattr__("grad", n)
x.__setattr__("data", n)
x.to(n)
y.topk(1, 0, 1)
y.topk(1, 0, True, 1)
t.multinomial(y, 1, 1)
t.multinomial(y, 2.0)
t.tril(y, 1.5)
t.triu(y, True)
t.triu(y, None)
t.tril_indices(2.0, 2)
t.triu_indices(2, 2.0)
t.rot90(y, 1.0)
t.svd(y, 1)
y.type(2.5)
y.type("nothing")
y.unflatten(0, 2)
y.unflatten(0, (2.0, 1))
y.index_put_(t.tensor([0]), x[:1])
y.index_put(0, x[:1])
y.index_put([t.tensor([0])], 1.0)
t.where(y > 1, y)
t.where(y > 1, 2)
t.where(y > 1, other=y)
y.type(int)
"""

COMPUTED = """
F.kl_div(x, i, reduction="sum")
F.kl_div(x, x > 0, reduction="sum")
F.alpha_dropout(i, 0.5, True)
F.alpha_dropout(i, 1.0, True)
F.soft_margin_loss(y, (y > 2).byte() + 1)
F.soft_margin_loss(y, y > 2)
F.adaptive_avg_pool2d(y, 1)
F.adaptive_avg_pool2d(x, (1, 1))
F.adaptive_avg_pool2d(y, (1, 2))
F.adaptive_avg_pool3d(y, 1)
F.adaptive_avg_pool3d(t.ones(2, 3, 4), (1, 1, 1))
x.mH
x[0].mH
x[0].H
t.adjoint(x[0])
F.group_norm(y, 1, t.ones(2), t.ones(3))
F.group_norm(y, 1, t.ones(3), t.ones(2))
F.group_norm(y, 1, None, t.ones(1))
F.group_norm(y, -1)
F.grid_sample(y[None, None], y[None, :, :2])
t.histogram(t.tensor([float("nan")]), 2)
t.histc(x, 2, float("nan"), 1)
t.histc(t.full((9,), float("nan")), 2)
"""

SETUP = """
x = t.arange(2.0)
y = t.arange(6.0).view(2, 3)
F, n = t.nn.functional, np.ones((2, 2), dtype=np.float32)
m, a, b = t.ones(2, 2), t.arange(2.0), t.ones(2)
i = t.tensor([[1, 100, 3], [5, 6, 127]], dtype=t.int8)
"""


@pytest.mark.parametrize(
    "line",
    f"{PRODUCTS}{REDUCTIONS}{NORMS}{EINSUM}{COUNTS}{OTHER_KINDS}{COMPUTED}".replace(
        "\n\n", "\n"
    )
    .strip()
    .split("\n"),
)
def test_arguments_at_the_edges(line: str) -> None:
    check_line(line, SETUP)


MISFITS = """
x.prod(0.5)
x.max(0.5)
x.sum((0.5,))
x.mean([0.5])
x.std((0.5,))
t.conv1d(n, y)
t.histogramdd(n, 2)
y.std(0, 1)
y.var(0, unbiased=1)
y.sort(True)
y.sort(0, 1)
y.sort(stable=1)
y.argsort(True)
y.argsort(0, 1)
y.unique(1)
y.unique(return_counts=1)
y.unique(return_inverse=1)
y.unique_consecutive(1)
t.nonzero(y, as_tuple=1)
t.searchsorted(x, x, right=1)
t.bucketize(y, x, out_int32=1)
y.unique_consecutive(return_counts=1)
"""


@pytest.mark.parametrize("line", MISFITS.strip().split("\n"))
def test_what_fits_no_form_is_refused(line: str) -> None:
    scope = {"t": gradtape, "np": np}
    exec(SETUP, scope)
    with pytest.raises(TypeError):
        eval(line, scope)


def test_every_name_in_dir_can_be_read() -> None:
    x = gradtape.ones(2, 2)
    assert [n for n in dir(x) if n != "imag" and not hasattr(x, n)] == []


def test_names_that_are_no_op_are_refused() -> None:
    with pytest.raises(AttributeError, match=r"module 'torch._VF' has no attribute"):
        gradtape._VF.nonsense  # noqa: B018 - the look-up is what is tested
