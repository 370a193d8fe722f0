"""Accounts of losses: their terms, whom they reach, and by how much."""

from __future__ import annotations

from typing import Any

import pytest

import gradviz
from gradviz.dependence.dropped import dropped
from gradviz.dependence.terms import Account, Accounts, Term
from gradviz.program import History
from gradviz.running.engine_alias import alias
from tests.rules.harness import ENGINES, case, executed, nullcontext

SUM = """
import torch
from torch import nn
torch.manual_seed(0)
left, right = nn.Linear(3, 2), nn.Linear(3, 2)
optimizer = torch.optim.SGD([*left.parameters(), *right.parameters()], lr=0.1)
x = torch.randn(4, 3)
for step in range(2):
    a = left(x).pow(2).mean()
    b = right(x).abs().sum()
    c = (left.weight - right.weight).pow(2).sum()
    shown = a.detach() * 3
    extra = torch.zeros(2)
    extra[0] = a
    loss = 2 * a - b / 4 + shown
    loss += torch.stack([b, c]).mean() + extra.sum()
    loss = loss + 0.5
    unused = b.exp()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

LOOP = """
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([1.0], requires_grad=True)
total = 0
for i in range(5):
    total = total + w[0] * i
total += v.sum() - v.sum()
(total - 0 * w.sum()).backward()
"""


def history_of(source: str, engine: Any) -> History:
    program = case("terms", source)
    session = gradviz.record(engine=engine, detail="full")
    instead = alias("torch", "gradtape") if engine == "gradtape" else nullcontext()
    with instead, executed(program, session):
        pass
    (part,) = session._parts  # pyright: ignore[reportPrivateUsage]
    assert part.log is not None
    return History(part.log.program)


def named(account: Account) -> dict[str, Term]:
    history = account.history
    return {
        history.name(each.value, history.text(each.site)).strip("`")
        if each.value is not None
        else str(each.number): each
        for each in account.terms
    }


@pytest.fixture(params=ENGINES)
def sums(request: pytest.FixtureRequest) -> Account:
    return next(iter(Accounts(history_of(SUM, request.param))))


def test_a_sum_is_taken_apart_with_its_weights(sums: Account) -> None:
    weights = {name: term.weight for name, term in named(sums).items()}
    assert weights == {"a": 3.0, "b": 0.25, "c": 0.5, "shown": 1.0, "0.5": 1.0}


def test_a_constant_stands_among_the_terms_and_reaches_nothing(sums: Account) -> None:
    shown = named(sums)["shown"]
    assert not shown.has_graph
    assert sums.leaves(shown) == set()
    assert sums.gives(shown) is False


def test_a_term_reaches_its_own_leaves(sums: Account) -> None:
    reached = {
        name: {sums.history.name(leaf) for leaf in sums.leaves(term)}
        for name, term in named(sums).items()
    }
    assert reached["a"] == {"`left.weight`", "`left.bias`"}
    assert reached["c"] == {"`left.weight`", "`right.weight`"}


def test_shares_of_a_leaf_add_up(sums: Account) -> None:
    terms = named(sums)
    (weight,) = sums.leaves(terms["a"]) & sums.leaves(terms["c"])
    shares = [sums.share(terms[name], weight) for name in ("a", "c")]
    assert None not in shares
    assert sum(each or 0 for each in shares) == pytest.approx(1)
    (bias,) = sums.leaves(terms["a"]) - {weight}
    assert sums.share(terms["a"], bias) == 1
    assert sums.share(terms["b"], bias) == 0


TRUNK = """
import torch
from torch import nn

encoder = nn.Linear(3, 2)
z = encoder(torch.randn(4, 3))
far = (3 * z).sum()
near = z.sin().asin().sum()
loss = far + 0.5 * near
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_terms_that_share_a_trunk_have_their_shares_where_they_meet(
    engine: Any,
) -> None:
    (account,) = Accounts(history_of(TRUNK, engine))
    near = named(account)["near"]
    for leaf in account.leaves(near):
        met = account.meeting(leaf)
        assert met is not None
        assert account.history.name(met) == "`z`"
        assert account.share(near, leaf) == pytest.approx(0.5 / 3.5, rel=1e-3)


def test_what_came_to_a_term_is_its_weight(sums: Account) -> None:
    assert sums.arrived(named(sums)["c"]) == pytest.approx(0.5)


def test_what_nothing_takes_is_dropped(sums: Account) -> None:
    assert {each.op for each in dropped(sums.history)} == {"exp"}


@pytest.mark.parametrize("engine", ENGINES)
def test_turns_of_a_loop_are_one_line_and_a_weight_of_zero_moves_nothing(
    engine: Any,
) -> None:
    (account,) = Accounts(history_of(LOOP, engine))
    turns = [each for each in account.terms if each.has_graph]
    products = [each for each in turns if "w[0] * i" in account.history.text(each.site)]
    assert len({each.line for each in products}) <= 2  # the first is added to a number
    zero = next(each for each in turns if each.weight == 0)
    assert account.moved(zero) == set()
    assert account.leaves(zero) != set()
