"""Count what common layers leave in the graph: nodes, and bytes kept for backward.

    python -m tests.benchmarks.bench_graph

Bytes are the memory that saved tensors hold beyond inputs and parameters, each memory
counted once. The counts are exact, so they show at once where a layer keeps more than
PyTorch's does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

BATCH, WIDTH, SIDE = 32, 64, 16


CASES: dict[str, tuple[tuple[int, ...], Callable[[Any], Callable[[Any], Any]]]] = {
    "x * x": ((BATCH, WIDTH), lambda t: lambda x: x * x),
    "x / (1 + x * x)": ((BATCH, WIDTH), lambda t: lambda x: x / (1 + x * x)),
    "exp": ((BATCH, WIDTH), lambda t: lambda x: x.exp()),
    "ReLU": ((BATCH, WIDTH), lambda t: t.nn.ReLU()),
    "GELU": ((BATCH, WIDTH), lambda t: t.nn.GELU()),
    "SiLU": ((BATCH, WIDTH), lambda t: t.nn.SiLU()),
    "Dropout": ((BATCH, WIDTH), lambda t: t.nn.Dropout(0.5)),
    "softmax": ((BATCH, WIDTH), lambda t: lambda x: x.softmax(-1)),
    "log_softmax": ((BATCH, WIDTH), lambda t: lambda x: x.log_softmax(-1)),
    "Linear": ((BATCH, WIDTH), lambda t: t.nn.Linear(WIDTH, WIDTH)),
    "LayerNorm": ((BATCH, WIDTH), lambda t: t.nn.LayerNorm(WIDTH)),
    "Conv2d": ((BATCH, 8, SIDE, SIDE), lambda t: t.nn.Conv2d(8, 8, 3, padding=1)),
    "BatchNorm2d": ((BATCH, 8, SIDE, SIDE), lambda t: t.nn.BatchNorm2d(8)),
    "MaxPool2d": ((BATCH, 8, SIDE, SIDE), lambda t: t.nn.MaxPool2d(2)),
    "attention": (
        (BATCH, SIDE, WIDTH),
        lambda t: lambda x: (x @ x.transpose(-1, -2)).softmax(-1) @ x,
    ),
    "mean of a norm": ((BATCH, WIDTH), lambda t: lambda x: x.norm(dim=1).mean()),
    "a written slice": ((BATCH, WIDTH), lambda t: lambda x: _written(x)),
}


def _written(x: Any) -> Any:
    y = x * 2
    y[0] = y[1] * y[2]
    return y


def count(t: Any, case: str) -> tuple[int, int]:
    """Return the nodes of the graph and the bytes it keeps, in one library."""
    shape, build = CASES[case]
    t.manual_seed(0)
    module: Any = build(t)
    x = t.randn(shape, requires_grad=True)
    mine = {x.untyped_storage().data_ptr()}
    if isinstance(module, t.nn.Module):
        mine |= {p.untyped_storage().data_ptr() for p in module.parameters()}
    kept: dict[int, Any] = {}

    def pack(tensor: Any) -> Any:
        memory = tensor.untyped_storage()
        if memory.data_ptr() not in mine:
            kept[memory.data_ptr()] = tensor
        return tensor

    with t.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = module(x)
    sizes = [each.untyped_storage().nbytes() for each in kept.values()]
    return _nodes(output.grad_fn), sum(sizes)


def _nodes(root: Any) -> int:
    seen, found = {root}, [root]
    for node in found:
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                found.append(following)
    return len(found)


def main() -> None:
    import torch

    import gradtape

    print(f"{'':18}{'nodes':>8}{'PyTorch':>9}{'bytes kept':>13}{'PyTorch':>10}")
    for case in CASES:
        (nodes, size), (their_nodes, their_size) = (
            count(gradtape, case),
            count(torch, case),
        )
        print(f"{case:18}{nodes:8}{their_nodes:9}{size:13,}{their_size:10,}")


if __name__ == "__main__":
    main()
