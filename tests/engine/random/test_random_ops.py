"""Random tensors: PyTorch's numbers for PyTorch's seeds."""

from __future__ import annotations

import pytest

import gradtape

from ..nn.lines import check_line

SETUP = """
x = t.arange(12.0).view(3, 4).clone().requires_grad_()
z = t.zeros(2, dtype=t.complex64, requires_grad=True)
i3 = t.arange(6).reshape(2, 3)
"""

SETUP_2 = """
x = t.arange(60.0).view(3, 4, 5).clone().requires_grad_()
m = t.ones(3, 4).bool()
m[0, 1] = False
i = t.tensor([0, 2])
z = t.tensor(1.0, requires_grad=True)
v = t.arange(3.0)
"""

SETUP_3 = """
x = t.arange(12.0).view(3, 4).clone().requires_grad_()
v = t.arange(3.0)
i = t.tensor([0, 2])
"""

NEW = """
t.randn_like(i3.float().t()).stride()
t.rand_like(i3)
t.randn_like(i3)
t.randint(5,2)
t.randint(5,5,(2,))
t.randint(high=3,size=(2,)).shape
t.randint(0,3,(2,),dtype=t.float32).dtype
t.rand(2,dtype=t.int64)
t.randn(2,3,4,generator=t.Generator().manual_seed(1)).shape
t.randperm(0)
t.normal(0.,1.,(2,)).shape
t.normal(t.zeros(2),t.ones(2)).shape
t.normal(t.zeros(2)).shape
t.normal(t.zeros(2),-1.)
t.bernoulli(t.tensor([0.5])).shape
t.bernoulli(t.tensor([2.]))
"""

FILLS = """
y=x.clone(); y.uniform_(); y
y=x.clone(); y.normal_(); y
y=x.clone(); y.random_(); y
y=x.clone(); y.random_(3); y
y=x.clone(); y.random_(3,7); y
y=x.clone(); y.exponential_(); y
y=x.clone(); y.bernoulli_(0.3); y
y=x.clone(); y.geometric_(0.3); y
y=x.clone(); y.cauchy_(); y
y=x.clone(); y.log_normal_(); y
x.uniform_()
y=v.uniform_(2,1); y
t.bernoulli(x/60)
t.multinomial(t.tensor([1.,2.,3.]),2)
t.multinomial(t.tensor([1.,2.,3.]),5,replacement=True)
t.multinomial(t.tensor([1.,2.,3.]),5)
t.normal(t.zeros(5),t.ones(5))
t.normal(t.zeros(5,1),t.ones(20))
t.normal(0.,t.ones(20))
t.normal(t.zeros(20),2.)
t.normal(0.,1.,size=(2,2))
t.randint_like(x,5)
t.randint_like(x,2,5)
t.rand_like(x)
t.randn_like(x.transpose(0,2))
t.rand(2,generator=t.Generator().manual_seed(3))
g=t.Generator(); g.manual_seed(7); t.randperm(5,generator=g)
t.get_rng_state().shape
s=t.get_rng_state(); a=t.rand(2); t.set_rng_state(s); b=t.rand(2); (a,b)
t.initial_seed()
"""

SEEDS = """
t.randn(3,generator=t.Generator().manual_seed(5))
t.manual_seed(3); t.randn(20)
t.rand(2,3,dtype=t.float64)
"""


@pytest.mark.parametrize("line", NEW.strip().splitlines())
def test_new_random_tensors(line: str) -> None:
    check_line(line, SETUP)


@pytest.mark.parametrize("line", FILLS.strip().splitlines())
def test_random_fills_and_samples(line: str) -> None:
    check_line(line, SETUP_2)


@pytest.mark.parametrize("line", SEEDS.strip().splitlines())
def test_seeds(line: str) -> None:
    check_line(line, SETUP_3)


LAYOUTS = {
    "transposed": "x.mT",
    "channels_last": "x[None].contiguous(memory_format=t.channels_last)",
    "with gaps": "x[..., ::2]",
    "repeated": "x[:, :1].expand(2, 3, 4)",
}
DRAWS = """
t.bernoulli(y)
t.bernoulli(y, 0.3)
y.bernoulli()
t.nn.functional.alpha_dropout(y, 0.5, True)
t.nn.functional.feature_alpha_dropout(y, 0.5, True)
t.nn.functional.dropout(y)
t.nn.functional.gumbel_softmax(y)
t.nn.functional.gumbel_softmax(y, hard=True)
t.nn.functional.rrelu(y - 0.5, training=True)
t.nn.functional.rrelu(y - 0.5)
t.distributions.Bernoulli(y).sample()
"""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("line", DRAWS.strip().splitlines())
def test_draws_for_tensors_that_do_not_lie_in_rows(line: str, layout: str) -> None:
    check_line(line, f"x = t.arange(24.0).view(2, 3, 4) / 24\ny = {LAYOUTS[layout]}")


@pytest.mark.parametrize("name", ["rand", "randn"])
@pytest.mark.parametrize("shape", [(3,), (17,), (4, 5), (0,), (1000,)])
def test_same_seed_same_bits(name: str, shape: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")
    gradtape.manual_seed(7)
    torch.manual_seed(7)
    ours, theirs = getattr(gradtape, name)(shape), getattr(torch, name)(shape)
    assert ours.numpy().tobytes() == theirs.numpy().tobytes()


def test_a_state_is_exchanged_with_pytorch() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(5)
    torch.rand(3)
    gradtape.set_rng_state(gradtape.from_numpy(torch.get_rng_state().numpy()))
    assert gradtape.rand(4).tolist() == torch.rand(4).tolist()
