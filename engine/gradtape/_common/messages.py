"""Sentences of the engine's errors: PyTorch's words, so that searches find answers."""

from __future__ import annotations

import re
from typing import Any, Final

from .type_name import type_name

BACKWARD_TWICE: Final = (
    "Trying to backward through the graph a second time (or directly access saved "
    "tensors after they have already been freed). Saved intermediate values of the "
    "graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if "
    "you need to access saved tensors after calling backward."
)

NO_GRAD_FN: Final = (
    "element {index} of tensors does not require grad and does not have a grad_fn"
)

NOT_SCALAR: Final = "grad can be implicitly created only for scalar outputs"

NOT_REAL_SCALAR: Final = (
    "grad can be implicitly created only for real scalar outputs but got {dtype}"
)

GRAD_SHAPE: Final = (
    "Mismatch in shape: grad_output[{index}] has a shape of {grad} and "
    "output[{index}] has a shape of {output}."
)

GRAD_VARIABLES: Final = "`grad_variables` is deprecated. Use `grad_tensors` instead."

GRAD_TENSORS_TWICE: Final = (
    "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
    "`backward()`. Please only use `grad_tensors`."
)

ONLY_INPUTS: Final = (
    "only_inputs argument is deprecated and is ignored now (defaults to True). To "
    "accumulate gradient for other parts of the graph, please use "
    "torch.autograd.backward."
)

MATERIALIZE_UNUSED: Final = (
    "Expected allow_unused to be True or not passed when materialize_grads=True, but "
    "got: allow_unused=False."
)

MATERIALIZE_EDGE: Final = (
    "materialize_grads cannot be used when the given input is a GradientEdge"
)

GRAD_COMPLEX: Final = (
    "For complex Tensors, both grad_output and output are required to have the same "
    "dtype. Mismatch in dtype: grad_output[{index}] has a dtype of {grad} and "
    "output[{index}] has a dtype of {output}."
)

BATCHED_SHAPE: Final = (
    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
    "as the batch dimension. The sizes of the remaining dimensions are expected to "
    "match the shape of corresponding output, but a mismatch was detected: "
    "grad_output[{index}] has a shape of {grad} and output[{index}] has a shape of "
    "{output}. If you only want some tensors in `grad_output` to be considered "
    "batched, consider using vmap."
)

GRADIENT_MISFIT: Final = (
    "{start}invalid gradient at index {index} - got {got} but expected shape "
    "compatible with {expected}"
)

MODIFIED: Final = (
    "one of the variables needed for gradient computation has been modified by an "
    "inplace operation: [{kind} {shape}]{producer} is at version {now}; expected "
    "version {saved} instead. Hint: {hint}"
)
MODIFIED_HINT: Final = (
    "enable anomaly detection to find the operation that failed to compute its "
    "gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
MODIFIED_HINT_ANOMALY: Final = (
    "the backtrace further above shows the operation that failed to compute its "
    "gradient. The variable in question was changed in there or anywhere later. Good "
    "luck!"
)

LEAF_INPLACE: Final = (
    "a leaf Variable that requires grad is being used in an in-place operation."
)

LEAF_MOVED: Final = "leaf variable has been moved into the graph interior"

LEAF_VIEW_INPLACE: Final = (
    "a view of a leaf Variable that requires grad is being used in an in-place "
    "operation."
)

VIEW_INPLACE: Final = "{output} and {what} modified inplace. "

UNRECORDED_VIEW_INPLACE: Final = {
    "no_grad": (
        "{which} was created in no_grad mode and {what} modified inplace with grad "
        "mode enabled. "
    ),
    "inference": (
        "{which} was created in inference mode and {what} modified inplace in normal "
        "mode. "
    ),
}
"""By how the view came about that no node recorded."""

WRITTEN_ITSELF: Final = "is being"

WRITTEN_ELSEWHERE: Final = "its base or another view of its base has been"

CUSTOM_VIEW_ADVICE: Final = (
    "This view was created inside a custom Function (or because an input was returned "
    "as-is) and the autograd logic to handle view+inplace would override the custom "
    "backward associated with the custom Function, leading to incorrect gradients. "
    "This behavior is forbidden. You can fix this by cloning the output of the custom "
    "Function."
)

MULTI_VIEW_ADVICE: Final = (
    "This view is the output of a function that returns multiple views. Such functions "
    "do not allow the output views to be modified inplace. You should replace the "
    "inplace operation by an out-of-place one."
)

UNRECORDED_VIEW_ADVICE: Final = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can "
    "clarify your code by moving both the view and the inplace either both inside the "
    "{block} block (if you don't want the inplace to be tracked) or both outside (if "
    "you want the inplace to be tracked)."
)

UNUSED_INPUT: Final = (
    "The differentiated Tensor at index {index} appears to not have been used in the "
    "graph. Set allow_unused=True if this is the desired behavior."
)

INPUT_NO_GRAD: Final = "One of the differentiated Tensors does not require grad"

LEAF_FLAG: Final = "you can only change requires_grad flags of leaf variables."

FLAG_TYPE: Final = "requires_grad must be a bool"

LEAF_FLAG_ADVICE: Final = (
    " If you want to use a computed variable in a subgraph that doesn't require "
    "differentiation use var_no_grad = var.detach()."
)

GRAD_SIZE: Final = (
    "attempting to assign a gradient of size '{grad}' to a tensor of size '{own}'. "
    "Please ensure that the gradient and the tensor are the same size"
)

GRAD_DTYPE: Final = (
    "attempting to assign a gradient with dtype '{grad}' to a tensor with grad_dtype "
    "'{own}'. The gradient must match the tensor's grad_dtype (defaults to the "
    "tensor's dtype). You can set the tensor's grad_dtype attribute with a specific "
    "dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging the "
    "dtypes of a tensor and its gradient may break downstream systems that assume they "
    "match."
)

GRAD_DTYPE_TAKEN: Final = (
    "Cannot set grad_dtype to '{wanted}' because there is already a gradient with "
    "dtype '{grad}'. Please clear the gradient (.grad = None) before changing "
    "grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype."
)

GRAD_DEVICE: Final = (
    "attempting to assign a gradient with device type '{grad}' to a tensor with device "
    "type '{own}'. Please ensure that the gradient and the tensor are on the same "
    "device"
)

NO_FORWARD: Final = (
    "Trying to use forward AD with {name} that does not support it because it has not "
    "been implemented yet."
)

CREATE_GRAPH_CYCLE: Final = (
    "Using backward() with create_graph=True will create a reference cycle between the "
    "parameter and its gradient which can cause a memory leak. We recommend using "
    "autograd.grad when creating the graph to avoid this. If you have to use this "
    "function, make sure to reset the .grad fields of your parameters to None after "
    "use to break the cycle and avoid the leak."
)

LAYOUT_CONTRACT: Final = (
    "grad and param do not obey the gradient layout contract. This is not an error, "
    "but may impair performance.\n"
    "grad.sizes() = {grad_sizes}, strides() = {grad_strides}\n"
    "param.sizes() = {sizes}, strides() = {strides}"
)

NOT_DIFFERENTIABLE_DTYPE: Final = (
    "only Tensors of floating point dtype can require gradients"
)

FLAG_DTYPE: Final = (
    "only Tensors of floating point and complex dtype can require gradients"
)

NEW_LEAF_DTYPE: Final = (
    "Only Tensors of floating point and complex dtype can require gradients"
)

RETAIN_NO_GRAD: Final = "can't retain_grad on Tensor that has requires_grad=False"

HOOK_NO_GRAD: Final = "cannot register a hook on a tensor that doesn't require gradient"

NUMPY_NEEDS_DETACH: Final = (
    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
    "instead."
)

CAST_REFUSED: Final = (
    "result type {result} can't be cast to the desired output type {output}"
)

BROADCAST_OUTPUT: Final = (
    "output with shape {output} doesn't match the broadcast shape {broadcast}"
)

BROADCAST: Final = (
    "The size of tensor a ({a}) must match the size of tensor b ({b}) at "
    "non-singleton dimension {dim}"
)

OVERLAPPING_WRITE: Final = (
    "unsupported operation: more than one element of the written-to tensor refers to "
    "a single memory location. Please clone() the tensor before performing the "
    "operation."
)

EXPANDED_WRITE: Final = (
    "Use of {name}_ on expanded tensors is deprecated. Please clone() the tensor "
    "before performing this operation. This also applies to advanced indexing e.g. "
    "{example}"
)

SHARED_CELLS: Final = (
    "several elements of the written-to tensor refer to a single memory location, "
    "which was read and written once for each of them; the result depends on their "
    "order. "
    "Please clone() the tensor before performing the operation."
)

PARTIAL_OVERLAP: Final = (
    "unsupported operation: some elements of the input tensor and the written-to "
    "tensor refer to a single memory location. Please clone() the tensor before "
    "performing the operation."
)

INFERENCE_SAVED: Final = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created "
    "in inference mode in computation tracked by autograd. To work around this, you "
    "can make a clone to get a normal tensor and use it in autograd, or use "
    "`torch.no_grad()` instead of `torch.inference_mode()`."
)

INFERENCE_WRITTEN: Final = (
    "Inplace update to inference tensor outside InferenceMode is not allowed."
    "You can make a clone to get a normal tensor before doing inplace update."
    "See https://github.com/pytorch/rfcs/pull/17 for more details."
)

INFERENCE_UNCOUNTED: Final = "Inference tensors do not track version counter."

INFERENCE_REQUIRES_GRAD: Final = (
    "Setting requires_grad=True on inference tensor outside InferenceMode is not "
    "allowed."
)

NON_LEAF_GRAD: Final = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
    ".grad attribute won't be populated during autograd.backward(). If you indeed want "
    "the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
    "non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you "
    "access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for "
    "more information."
)

BOOL_AMBIGUOUS: Final = "Boolean value of Tensor with {what} is ambiguous"

STRIDED_OUT_OF_BOUNDS: Final = (
    "setStorage: sizes {size}, strides {stride}, storage offset {offset}, and itemsize "
    "{item} requiring a storage size of {needed} are out of bounds for storage of size "
    "{nbytes}"
)


def shape_text(shape: tuple[int, ...]) -> str:
    """Write a shape as PyTorch's messages do: ``[2, 3]``."""
    return "[" + ", ".join(str(n) for n in shape) + "]"


def not_bool(given: object, function: str, argument: str, place: int = 1) -> TypeError:
    """Return the error for a switch that is neither True nor False."""
    expected = f"{function}(): argument '{argument}' (position {place}) must be bool"
    return TypeError(f"{expected}, not {type_name(given)}")


def scalar_type(dtype: Any) -> str:
    """Name a dtype as PyTorch's messages do: ``Float`` for ``torch.float32``."""
    return str(dtype.cpp_name)


def legacy_type_name(dtype: Any, sparse: bool = False) -> str:
    """Return the name that messages and ``Tensor.type()`` use: torch.FloatTensor."""
    return f"torch.{'sparse.' * sparse}{dtype.cpp_name}Tensor"


def type_in_graph(dtype: Any) -> str:
    """Return the name that errors of saved tensors use for a tensor's type."""
    if dtype.is_complex or dtype.cpp_name == "BFloat16":
        return f"CPU{dtype.cpp_name}Type"
    return legacy_type_name(dtype)


def op_of_node(name: str) -> str:
    """Strip what node names end in: ``Split`` for ``SplitBackward0``, ``Sum1``."""
    return re.sub(r"Backward(0|(?=[1-9]))?(\d*)$", r"\2", name)
