"""CheckpointError and its sentences: PyTorch's, and one about values."""

from __future__ import annotations

from typing import Final


class CheckpointError(RuntimeError):
    """Raised where a checkpointed function does not compute the same again."""


INTERNAL: Final = (
    "Something went unexpectedly wrong in activation checkpoint. Please report this "
    "bug by filing an issue to PyTorch."
)

DEBUG_TIP: Final = (
    "\nTip: To see a more detailed error message, either pass `debug=True` to\n"
    "`torch.utils.checkpoint.checkpoint(...)` or wrap the code block\n"
    "with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\n"
    "enable checkpoint\N{NON-BREAKING HYPHEN}debug mode globally.\n"
)

OTHER_NUMBER: Final = (
    "torch.utils.checkpoint: A different number of tensors was saved during the "
    "original forward and recomputation.\n"
    "Number of tensors saved during forward: {forward}\n"
    "Number of tensors saved during recomputation: {recomputed}.\n" + DEBUG_TIP
)

OTHER_KINDS: Final = (
    "torch.utils.checkpoint: Recomputed values for the following tensors have "
    "different metadata than during the forward pass.\n{tensors}.\n" + DEBUG_TIP
)

ONE_KIND: Final = (
    "tensor at position {at}:\nsaved metadata: {was}\nrecomputed metadata: {now}\n"
)

OTHER_VALUES: Final = (
    "torch.utils.checkpoint: Recomputed values for the following tensors are different "
    "from those of the forward pass, whose gradient is wanted.\n{tensors}"
    "The function must compute the same whenever it runs: it should not depend on "
    "state that changes, nor write to its arguments. Pass `determinism_check='none'` "
    "to go on without this check.\n" + DEBUG_TIP
)

TOO_MANY: Final = (
    "torch.utils.checkpoint: trying to save more tensors during recomputation than "
    "during the original forward pass.\n" + DEBUG_TIP
)

UNPACKED_TWICE: Final = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already "
    "unpacked once. {extra}If you are calling ctx.saved_tensors in backward, make sure "
    "to do so only once. Otherwise please open an issue with details on your use case."
)

OVERLAP: Final = (
    "Performing two backward calls that overlap (i.e. require the same saved "
    "activation in order to compute gradients) is not allowed while under the "
    "torch.utils.checkpoint.GraphExecGroup context. "
)

SAY_WHICH: Final = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
    "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
    "exception. use_reentrant=False is recommended, but if you need to preserve the "
    "current default behavior, you can pass use_reentrant=True. Refer to docs for more "
    "details on the differences between the two variants."
)

SAY_WHICH_OF_SEQUENCE: Final = (
    "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should "
    "be passed explicitly. In version 2.9 we will raise an exception if use_reentrant "
    "is not passed. use_reentrant=False is recommended, but if you need to preserve "
    "the current default behavior, you can pass use_reentrant=True. Refer to docs for "
    "more details on the differences between the two variants."
)

SUPPRESSED: Final = (
    "torch.utils.checkpoint: the forward context provided by context_fn suppressed an "
    "exception raised during the checkpointed forward. This is not supported because "
    "checkpoint cannot return a value for a failed forward."
)

NOT_ALL_LEAVES: Final = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
    "passing an `inputs` parameter to .backward(). To resolve this error, you can "
    "either set use_reentrant=False, or call .backward() without passing the `inputs` "
    "argument."
)

NO_GRADIENT: Final = (
    "none of output has requires_grad=True, this checkpoint() is not necessary"
)
