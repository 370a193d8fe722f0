"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any, ClassVar

from .._modes.grad_mode import no_grad
from .._tensor.tensor import Tensor
from . import constraints
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint
from .distribution import SCALAR, Distribution
from .utils import F, forwarded


class MixtureSameFamily(Distribution):
    """Samples of one component, drawn for each by a categorical distribution.

    The components are the last batch dimension of ``component_distribution``.
    Raises ValueError where the two do not fit together.

    >>> import gradtape as torch
    >>> from gradtape.distributions import Categorical, MixtureSameFamily, Normal
    >>> weights = Categorical(torch.tensor([1.0, 3.0]))
    >>> MixtureSameFamily(weights, Normal(torch.tensor([-1.0, 1.0]), 1.0)).mean
    tensor(0.5000)
    """

    arg_constraints: ClassVar = {}
    has_rsample = False
    _expanded = ("_mixture_distribution", "_component_distribution")
    _kept = ("_num_component", "_event_ndims")
    _mixture_distribution: Categorical
    _component_distribution: Distribution

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        _check_fit(mixture_distribution, component_distribution)
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = mixture_distribution.logits.shape[-1]
        event = component_distribution.event_shape
        self._event_ndims = len(event)
        batch = component_distribution.batch_shape[:-1]
        super().__init__(batch, event, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:  # type: ignore[override]
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    mixture_distribution = forwarded(
        "_mixture_distribution", "What draws the component."
    )
    component_distribution = forwarded(
        "_component_distribution", "The components, along the last batch dimension."
    )

    def _mixed(self, values: Tensor) -> Tensor:
        """Average over components, with their probabilities as weights."""
        weights = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return F.sum(weights * values, dim=-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._mixed(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        gaps = self.component_distribution.mean - self._pad(self.mean)
        return self._mixed(self.component_distribution.variance) + self._mixed(
            gaps.pow(2.0)
        )

    def cdf(self, x: Tensor) -> Tensor:  # type: ignore[override]
        found = self.component_distribution.cdf(self._pad(x))
        return F.sum(found * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x: Tensor) -> Tensor:  # type: ignore[override]
        self._checked(x)
        found = self.component_distribution.log_prob(self._pad(x))
        weights = F.log_softmax(self.mixture_distribution.logits, dim=-1)
        return F.logsumexp(found + weights, dim=-1)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        with no_grad():
            at = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            event = self.event_shape
            chosen = chosen.reshape((*chosen.shape, 1, *(1,) * len(event)))
            chosen = chosen.repeat((*(1,) * at, 1, *event))
            return F.gather(drawn, at, chosen).squeeze(at)

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        more = len(self.batch_shape) - len(self.mixture_distribution.batch_shape)
        shape = x.shape
        return x.reshape(
            (*shape[:-1], *(1,) * more, shape[-1], *(1,) * self._event_ndims)
        )

    def __repr__(self) -> str:
        inner = f"{self.mixture_distribution},\n  {self.component_distribution}"
        return f"MixtureSameFamily(\n  {inner})"


def _check_fit(mixture: Any, component: Any) -> None:
    if not isinstance(mixture, Categorical):
        raise ValueError(
            " The Mixture distribution needs to be an "
            " instance of torch.distributions.Categorical"
        )
    if not isinstance(component, Distribution):
        raise ValueError(
            "The Component distribution needs to be an instance of "
            "torch.distributions.Distribution"
        )
    batch, wanted = mixture.batch_shape, component.batch_shape[:-1]
    for i, j in zip(reversed(batch), reversed(wanted), strict=False):
        if 1 not in (i, j) and i != j:
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({batch}) is not compatible with "
                f"`component_distribution.batch_shape`({wanted})"
            )
    count, given = mixture.logits.shape[-1], component.batch_shape[-1]
    if count != given:
        raise ValueError(
            f"`mixture_distribution component` ({count}) does not equal "
            f"`component_distribution.batch_shape[-1]` ({given})"
        )
