"""What PyTorch has removed: the names remain, and say what to write instead."""

# ruff: noqa: N803 - the parameters have PyTorch's names

from __future__ import annotations

from typing import Any, NoReturn

from ..._dispatch.declare import FUNCTIONS, method, public

_GONE = "This function was deprecated since version 1.9 and is now removed. "

_SOLVE = """`torch.solve` is deprecated in favor of `torch.linalg.solve`. \
`torch.linalg.solve` has its arguments reversed and does not return the LU \
factorization.

To get the LU factorization see `torch.lu`, which can be used with `torch.lu_solve` or \
`torch.lu_unpack`.
X = torch.solve(B, A).solution should be replaced with:
X = torch.linalg.solve(A, B)"""

_LSTSQ = """`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.
`torch.linalg.lstsq` has reversed arguments and does not return the QR decomposition \
in the returned tuple (although it returns other information about the problem).

To get the QR decomposition consider using `torch.linalg.qr`.

The returned solution in `torch.lstsq` stored the residuals of the solution in the \
last m - n columns of the returned value whenever m > n. In torch.linalg.lstsq, the \
residuals are in the field 'residuals' of the returned named tuple.

The unpacking of the solution, as in
X, _ = torch.lstsq(B, A).solution[:A.size(1)]
should be replaced with:
X = torch.linalg.lstsq(A, B).solution"""

_SYMEIG = """The default behavior has changed from using the upper triangular portion \
of the matrix by default to using the lower triangular portion.

L, _ = torch.symeig(A, upper=upper) should be replaced with:
L = torch.linalg.eigvalsh(A, UPLO='U' if upper else 'L')

and

L, V = torch.symeig(A, eigenvectors=True) should be replaced with:
L, V = torch.linalg.eigh(A, UPLO='U' if upper else 'L')"""

_EIG = """`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` \
rather than real tensors mimicking complex tensors.

L, _ = torch.eig(A) should be replaced with:
L_complex = torch.linalg.eigvals(A)

and

L, V = torch.eig(A, eigenvectors=True) should be replaced with:
L_complex, V_complex = torch.linalg.eig(A)"""

_MATRIX_RANK = """Please use the `torch.linalg.matrix_rank` function instead. The \
parameter 'symmetric' was renamed in `torch.linalg.matrix_rank()` to 'hermitian'."""

_REINFORCE = """reinforce() was removed.
Use torch.distributions instead.
See https://pytorch.org/docs/main/distributions.html

Instead of:

probs = policy_network(state)
action = probs.multinomial()
next_state, reward = env.step(action)
action.reinforce(reward)
action.backward()

Use:

probs = policy_network(state)
# NOTE: categorical is equivalent to what used to be called multinomial
m = torch.distributions.Categorical(probs)
action = m.sample()
next_state, reward = env.step(action)
loss = -m.log_prob(action) * reward
loss.backward()
"""


@public
def matrix_rank(
    input: Any, tol: Any = None, symmetric: bool = False, *, out: Any = None
) -> NoReturn:
    """Raise RuntimeError: ``linalg.matrix_rank`` took its place."""
    raise RuntimeError(f"{_GONE.strip()}\n{_MATRIX_RANK}")


@public
def solve(input: Any, A: Any, *, out: Any = None) -> NoReturn:
    """Raise RuntimeError: ``linalg.solve`` took its place."""
    raise RuntimeError(_GONE + _SOLVE)


@public
def lstsq(input: Any, A: Any, *, out: Any = None) -> NoReturn:
    """Raise RuntimeError: ``linalg.lstsq`` took its place."""
    raise RuntimeError(_GONE + _LSTSQ)


def _symeig(
    input: Any, eigenvectors: bool = False, upper: bool = True, *, out: Any = None
) -> NoReturn:
    """Raise RuntimeError: ``linalg.eigh`` took its place."""
    raise RuntimeError(_GONE + _SYMEIG)


FUNCTIONS["symeig"] = _symeig


@public
def eig(
    self: Any, eigenvectors: bool = False, *, e: Any = None, v: Any = None
) -> NoReturn:
    """Raise RuntimeError: ``linalg.eig`` took its place."""
    raise RuntimeError(_GONE + _EIG)


@method("solve")
def _solve_method(self: Any, other: Any) -> NoReturn:
    solve(self, other)


@method("lstsq")
def _lstsq_method(self: Any, other: Any) -> NoReturn:
    lstsq(self, other)


@method("symeig")
def _symeig_method(self: Any, eigenvectors: bool = False) -> NoReturn:
    _symeig(self, eigenvectors)


@method("eig")
def _eig_method(self: Any, eigenvectors: bool = False) -> NoReturn:
    eig(self, eigenvectors)


@method()
def reinforce(self: Any, reward: Any) -> NoReturn:
    """Raise RuntimeError: ``distributions`` took its place."""
    raise RuntimeError(_REINFORCE)
