"""Says in sentences what a graph of PyTorch cannot show, and how to see it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gradviz._capture.adapters.pytorch.graph.columns import GraphColumns

NOT_RECORDED = (
    "The graph was built without gradviz.record(): gradients, forward values, inputs "
    "that need no gradient and the lines that made the nodes are not known, nor how "
    "results that no node kept lie in memory. Build it inside gradviz.record() or a "
    "%%gradviz cell to see them."
)

ANOMALY_MODE = (
    "The graph was built without gradviz.record(): the lines are those that anomaly "
    "mode kept; gradients, forward values and inputs that need no gradient are not "
    "known. Build it inside gradviz.record() or a %%gradviz cell to see them."
)

OTHER_THREADS = (
    "Nodes that other threads made have the same numbers as some of this thread, and "
    "are left out: only the thread that began the recording is seen. "
    "gradviz.capture(loss) shows the whole graph."
)

RAN_EAGERLY = (
    "Compiled functions ran eagerly while recorded, so that what they do is seen; "
    "`gradviz run --keep-compiled` and record(keep_compiled=True) leave them compiled."
)

STAYED_COMPILED = "it stayed compiled"
NEEDS_COMPILER = "PyTorch has to compile it"
SCRIPTED = "it is TorchScript"

RAN_UNSEEN = "so often before had it made no graph and written nowhere"

UNKNOWN_COMPILER = (
    "This version of PyTorch calls compiled functions in a way that the recording does "
    "not know: leave torch.compile out to record what is inside."
)

CUDA_GRAPH = (
    "A CUDA graph was replayed: what it computes, and what it writes into tensors, was "
    "not seen. Record a step that runs without it."
)


def unseen_inside(name: str, why: str) -> str:
    """Return the sentence about a call whose inside is hidden."""
    return f"What happens inside `{name}` was not seen: {why}."


_REGIONS = {
    "CompiledFunctionBackward": (
        "CompiledFunctionBackward is a region that torch.compile made one node of: "
        "what happens inside is not known. A recording runs such a region eagerly and "
        "shows its nodes, unless it is told to keep it compiled."
    ),
    "GraphedBackward": (
        "GraphedBackward is a region that torch.cuda.make_graphed_callables captured: "
        "what happens inside is not known."
    ),
    "CheckpointFunctionBackward": (
        "CheckpointFunctionBackward is a region of torch.utils.checkpoint: its nodes "
        "are made only in backward, and belong to a graph of their own. Pass "
        "use_reentrant=False to see them in this one."
    ),
}


def notes_of(seen: GraphColumns) -> list[str]:
    """Return what is to be said about a graph that nobody recorded."""
    names = {cls.name for cls in seen.classes}
    bare = sum(not facts[5] for facts in seen.tensors)
    return [
        ANOMALY_MODE if seen.stacks else NOT_RECORDED,
        *notes_on(names, seen.packed.values(), bare),
    ]


def notes_on(names: set[str], packed: Iterable[str], bare: int) -> list[str]:
    """Return what nodes of these names hide, and tensors that cannot be looked at.

    ``packed`` are the names of the hooks that packed saved tensors, one for each;
    ``bare`` counts tensors without memory.
    """
    found = [note for name, note in _REGIONS.items() if name in names]
    hooks = Counter(packed)
    again = sum(hooks.pop(name) for name in list(hooks) if "checkpoint" in name)
    if again:
        found.append(
            f"{_count(again, 'saved tensor')} inside torch.utils.checkpoint: computed "
            "again in backward, and not known here."
        )
    for name, count in hooks.items():
        found.append(
            f"{_count(count, 'saved tensor')} packed by a saved-tensor hook ({name}), "
            "which is not run to look at them."
        )
    if bare:
        found.append(
            f"{_count(bare, 'tensor')} without memory of their own, inside a transform "
            "of torch.func, sparse, or of a wrapper class: how they lie is not known."
        )
    return found


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing} is" if number == 1 else f"{number:,} {thing}s are"
