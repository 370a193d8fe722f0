"""Numbers that come as tensors without dimensions, or as what is no number."""

from __future__ import annotations

import pytest

from ..nn.lines import check_line

SETUP = """
T = t.tensor
x = t.ones(4)
z = lambda: t.zeros(3)
F = t.nn.functional
images, rows = t.arange(16.0).view(1, 1, 4, 4), t.arange(4.0).view(1, 1, 4)
"""

LINES = """
z().uniform_(T(0.0), T(2))
z().uniform_(**{"from": T(0.0)})
z().uniform_(a=0.0)
z().uniform_("a", 3)
z().uniform_(None)
z().uniform_(T(0.0, requires_grad=True), 3)
z().uniform_(T([0.0]), 3)
z().uniform_(0, T(2j))
z().normal_(T(0.0), T(1.0))
z().normal_(T([0.0, 1.0]), T(1.0))
z().exponential_(T(2.0))
z().exponential_("x")
z().cauchy_(T(2.0), T(1))
z().cauchy_(1, "x")
z().log_normal_(T(2.0), T(1))
z().log_normal_(1, "x")
z().geometric_(T(0.5))
z().geometric_("x")
z().bernoulli_(T(0.5))
z().bernoulli_("x")
z().random_(T(2), T(9))
z().random_("x")
z().random_(1.5)
t.fft.fft(x, n=T(2)).shape
t.fft.fft(x, T(2.0))
t.fft.fft(x, 2.0)
t.fft.fft(x, True)
t.fft.rfft(x, 2, T(0)).shape
t.fft.irfft(x, T(3)).shape
F.dropout(x, T(0.5))
F.dropout(x, T(2.0))
F.dropout(x, T([0.5]))
F.dropout(x, T(0.5, requires_grad=True))
t.nn.Dropout(T(0.5))(x)
t.dropout(x, T(0.5), True)
t.dropout(x, "a", True)
t.dropout(x, 0, 1)
t.dropout_(x, T(0.5), True)
t.alpha_dropout(x, T(0.5), True)
t.feature_dropout(t.ones(3, 3), T(0.5), True)
t.feature_alpha_dropout(x, "a", True)
t.native_dropout(x, T(0.5), True)
t.mvlgamma(x * 3, T(2))
t.mvlgamma(x * 3, 1.5)
t.mvlgamma(x.bool(), 2)
x.mvlgamma_(True)
t.polygamma(1.5, x)
x.polygamma_(T(1))
x.polygamma_(1.5)
t.linspace(T(0.0), T(3.0), T(4))
t.logspace(T(0.0), T(3.0), T(4), T(2.0))
x.histc(T(2), T(0.0), T(3.0))
x.topk(T(2.0))
x.kthvalue(T(2.0))
F.layer_norm(t.arange(4.0), (T(4),), eps=T(0.5))
F.conv2d(images, t.ones(1, 1, 2, 2), stride=np.int64(2), padding=T(1))
F.conv_transpose1d(rows, t.ones(1, 1, 2), stride=np.int64(2), output_padding=T(1))
F.max_pool2d(images, np.int64(2))
F.avg_pool1d(rows, 2, stride=T(2), padding=np.int64(1))
F.adaptive_avg_pool1d(rows, np.int64(2))
F.adaptive_max_pool1d(rows, T(2))
F.unfold(images, np.int64(2)).shape
F.lp_pool1d(rows, np.float64(2.0), np.int64(2))
F.pad(x, (np.int64(1), 1), value=np.float32(2.0))
t.nn.LayerNorm(np.int64(4))(t.arange(4.0)).tolist()
x.norm(np.int64(1))
t.linalg.vector_norm(x, np.float32(3.0))
t.quantile(t.arange(3.0), np.float32(0.5))
x.tensor_split(np.int64(2))
x.hsplit(np.int64(2))
t.trapezoid(t.arange(3.0), x=t.arange(6.0).view(3, 2))
t.cumulative_trapezoid(t.arange(3), x=t.arange(6.0).view(3, 2))
t.logit(t.tensor([0.2, 0.4, 0.9]), 0.7)
t.Storage(np.int64(3)).size()
t.UntypedStorage(np.int64(3)).size()
t.set_num_threads(2**65)
x.unflatten("a", (2, 2))
t.LongTensor((6, 0), 1, 1, 0)
t.empty([0, 4, 2305843009213693952])
x.as_subclass(int)
x.as_subclass(3)
t.swapaxes(t.ones(2, 3), axis0=0, axis1=1)
t.ones(2, 3).swapaxes_(axis0=0, axis1=1)
t.empty_like(x.to_sparse(), memory_format=t.preserve_format)
t.ones(2, 2).mul_(t.eye(2).to_sparse())
t.ones(2, 2).mul_(t.eye(2).double().to_sparse())
t.eye(2).to_sparse().mul_(t.ones(2, 2)).to_dense()
"""


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_a_number_is_read_as_in_pytorch(line: str) -> None:
    check_line(line, SETUP)


RANGES = """
x.masked_fill(m, t.finfo(t.float32).min)
x.masked_fill(m, -1e50)
t.full((2,), -3.4028234663852886e38)
T([-3.4028234663852886e38, 3.4028235e38, 1e50])
T(3.4028235e38)
T(1e5, dtype=t.float16)
t.full((2,), 1e50)
t.full((2,), 1e5, dtype=t.float16)
t.full((2,), 3.39e38, dtype=t.bfloat16)
t.full((2,), t.inf, dtype=t.float16)
t.full((2,), 1e50j)
t.full((2,), 1e50, dtype=t.complex64)
t.full((2,), 300, dtype=t.uint8)
t.full((2,), 2**40, dtype=t.int32)
t.full((2,), 1j, dtype=t.int64)
t.full((2,), 1j, dtype=t.bfloat16)
h.masked_fill_(m, -1e9)
h.masked_fill(m, T(1e5))
h.fill_(1e5)
h.new_full((2,), 1e5)
h.index_fill(0, T([0]), T(1e5))
h.index_fill(0, T([0]), 1e5)
h.scatter(0, T([0]), 1e5)
h[0] = 1e5; h
x[0] = 1e50; x
t.ones(2, 2).fill_diagonal_(1e50)
t.nn.init.constant_(h, 1e5)
t.scalar_tensor(1e50, dtype=t.float32)
t.scalar_tensor(1e5, dtype=t.float16)
t.where(m, i, 2**40)
t.where(m, h, 1e5)
t.where(m, 1e50, x)
t.where(m, x.byte(), 300)
t.where(m, x.byte(), -1)
i.clamp(0, 2**40)
i.clamp(0, 1e18)
i.clamp_min(-(2**40))
i.clamp_max_(2**40)
h.clamp(max=1e5)
x.clamp(-1e50)
x.byte().clamp(-5)
i ** 2**40
h ** 1e5
(2 * x) ** 1e50
x.add(x, alpha=1e50)
i.add(i, alpha=2**40)
x.byte().sub(x.byte(), alpha=-1)
h.sub_(h, alpha=1e5)
t.rsub(x.byte(), 1, alpha=300)
x.lerp(x, 1j)
h.lerp(h, 1e5)
x.addcmul(x, x, value=1j)
i.addcmul(i, i, value=2**40)
h.addcdiv(h, h, value=1e5)
x.addcdiv(x, x, value=1e50)
t.addmm(w, w, w, alpha=1j)
t.addmm(w, w, w, beta=1e50)
t.addmm(w.int(), w.int(), w.int(), alpha=2**40)
t.addmm(w.half(), w.half(), w.half(), alpha=1e5)
t.addmv(x, w, x, beta=1j)
t.addmv(h, w.half(), h, alpha=1e5)
F.pad(x.byte(), (1, 1), value=300)
F.pad(h, (1, 1), value=1e5)
F.hardtanh(x.to(t.int8), -300, 300)
F.hardshrink(x, 1e50)
F.threshold(x.byte(), 300, 1)
t.linspace(0, 300, 3, dtype=t.uint8)
t.linspace(0, 1e5, 3, dtype=t.float16)
t._foreach_add([x], [x], alpha=1e50)
"""


@pytest.mark.parametrize("line", RANGES.strip().splitlines())
def test_a_number_beyond_the_range_of_a_dtype_is_refused(line: str) -> None:
    check_line(
        line,
        "T, F, m, w = t.tensor, t.nn.functional, t.tensor([True, False]), t.eye(2)\n"
        "x, h, i = t.ones(2), t.ones(2).half(), t.ones(2).int()",
    )


OUT_LINES = """
t.kron(e, e, out=t.ones(4, 4, dtype=t.int32))
t.kron(e, e, out=t.ones(4, 4, dtype=t.float64))
t.outer(e[0], e[0], out=t.ones(2, 2, dtype=t.int32))
t.cholesky_inverse(e, out=t.ones(2, 2, dtype=t.int32))
t.cholesky_solve(e, e, out=t.ones(2, 2, dtype=t.int32))
t.cholesky_solve(e, e, out=t.ones(2, 2, dtype=t.float64))
t.triu(e, out=t.ones(2, 2, dtype=t.int32))
t.tril(e, out=t.ones(2, 2, dtype=t.float64))
t.cat([e, e], out=t.ones(4, 2, dtype=t.int32))
t.cat([e, e], out=t.ones(4, 2, dtype=t.float64))
t.cumsum(e * 0.6, 0, out=t.ones(2, 2, dtype=t.int32))
t.cumprod(e + 0.6, 0, out=t.ones(2, 2, dtype=t.float64))
t.cumsum(e, 0, dtype=t.float64, out=t.ones(2, 2))
"""


@pytest.mark.parametrize("line", OUT_LINES.strip().splitlines())
def test_out_of_another_dtype(line: str) -> None:
    check_line(line, "e = t.eye(2)")
