"""What processes that train one model together do differently: the manual's pages.

No log of one process shows these, so they are no rules: ``gradviz merge`` compares the
recordings of all ranks (see ``gradviz/flow/rank_findings.py``). They are explained here
as rules explain themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

from gradviz.diagnosis.rule import Severity


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause that a comparison of ranks names; ``text`` reads like a rule's file."""

    code: str  # "GV701"
    slug: str  # "weights-differ"
    severity: Severity
    text: str


WEIGHTS_DIFFER = Cause(
    "GV701",
    "weights-differ",
    "error",
    """The ranks hold different weights.

What it does
    Compares the norm of every parameter between ranks, step by step, and names those
    that differ, with the first step.

Why is this bad
    Averaged gradients keep equal weights equal and different ones different: the
    processes train different models, and only that of rank 0 is saved.

Example
    ::

        torch.manual_seed(rank)
        net = Net()  # other weights on every rank

Use instead
    ::

        torch.manual_seed(0)
        net = DistributedDataParallel(Net())  # also broadcasts those of rank 0

When it stays quiet
    Where every rank holds a part of the model of its own (sharded training), and where
    norms differ by less than one part in ten thousand.

References
    https://pytorch.org/docs/stable/notes/ddp.html
""",
)

GRADIENTS_DIFFER = Cause(
    "GV702",
    "gradients-differ",
    "error",
    """Averaged gradients differ between ranks.

What it does
    Compares the gradients that the optimizer applies between ranks, and names those
    that differ although the weights were still equal.

Why is this bad
    Every rank takes a step of its own: from then on the weights differ as well.

Example
    ::

        loss = criterion(ddp.module(x), y)  # past the wrapper: nothing is averaged

Use instead
    ::

        loss = criterion(ddp(x), y)

When it stays quiet
    For gradients before they are averaged, which differ as the batches do, and for
    sharded training.

References
    https://pytorch.org/docs/stable/notes/ddp.html#internal-design
""",
)

BAD_RANK = Cause(
    "GV703",
    "bad-rank",
    "error",
    """One rank computed NaN or Inf, and the average gives it to all.

What it does
    Finds gradients that were not finite on one rank, and finite on another, before
    they were averaged.

Why is this bad
    The average of NaN and anything is NaN: one bad batch on one rank ruins the weights
    on all of them, and afterwards they all look alike.

Example
    ::

        loss.backward()  # NaN on the rank that read the broken file
        optimizer.step()

Use instead
    ::

        assert torch.isfinite(x).all(), path
        loss = criterion(ddp(x), y)
        loss.backward()
        optimizer.step()

When it stays quiet
    Where all ranks compute NaN or Inf in the same step: then a rule about the numbers
    names the line.

References
    https://pytorch.org/docs/stable/notes/ddp.html
""",
)

UNEVEN_RANKS = Cause(
    "GV704",
    "uneven-ranks",
    "warning",
    """Gradients are far larger on one rank than on another.

What it does
    Finds gradients whose norms differ more than a hundred times between ranks before
    they are averaged.

Why is this bad
    The rank with the largest gradients decides every step, and the data of the others
    hardly counts.

Example
    ::

        loss = criterion(ddp(x), y).sum()  # ranks with longer batches weigh more

Use instead
    ::

        loss = criterion(ddp(x), y).mean()

When it stays quiet
    Where norms differ less than that, as those of random batches do, and where the
    gradients of a rank are all zeros.

References
    https://pytorch.org/docs/stable/notes/ddp.html
""",
)

WAITING_RANK = Cause(
    "GV705",
    "waiting-rank",
    "info",
    """A rank waits for a slower one in every step.

What it does
    Compares how long each rank waits until its gradients are averaged, and names the
    one that waits least: the others wait for it.

Why is this bad
    All ranks step together, so that the slowest sets the pace and the others idle.

Example
    ::

        shard = samples[rank::world]  # by chance all long sequences on one rank

Use instead
    ::

        samples.sort(key=len)
        shard = samples[rank::world]

When it stays quiet
    Below fifteen per cent of a step, which the transfer itself may take.

References
    https://pytorch.org/docs/stable/notes/ddp.html
""",
)

RANK_STOPPED = Cause(
    "GV706",
    "rank-stopped",
    "error",
    """A rank took fewer steps than the others, or raised an error.

What it does
    Compares how many steps each rank took, and names those that stopped early, with the
    error that ended them where the recording has one.

Why is this bad
    The others wait for a process that is gone until they time out, and the error that
    they raise then (a closed connection) is not the cause.

Example
    ::

        for batch in loader:  # of other length on every rank
            criterion(ddp(batch.x), batch.y).backward()
            optimizer.step()

Use instead
    ::

        sampler = DistributedSampler(data, drop_last=True)  # equally many for each
        for batch in DataLoader(data, sampler=sampler):
            criterion(ddp(batch.x), batch.y).backward()
            optimizer.step()

When it stays quiet
    Where a rank was cut off within the step that the others had just finished, and
    where so few steps were looked at that the numbers do not tell.

References
    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
""",
)

RANK_MISSING = Cause(
    "GV707",
    "rank-missing",
    "warning",
    """Of some ranks there is no file, or none that can be read.

What it does
    Compares the ranks of the files with how many processes trained together.

Why is this bad
    What the others do says nothing about a rank that left no recording; a process that
    was killed leaves none.

Example
    ::

        gradviz merge seen-rank0.json seen-rank1.json  # of three

Use instead
    ::

        gradviz merge seen-rank*.json

When it stays quiet
    Where the files of all ranks are there.

References
    https://docs.pytorch.org/docs/stable/elastic/run.html
""",
)

SHAPES_DIFFER = Cause(
    "GV708",
    "shapes-differ",
    "error",
    """A parameter has another size on one rank.

What it does
    Compares the size of every parameter between ranks.

Why is this bad
    Gradients of other sizes cannot be averaged: the processes hang, or average numbers
    that do not belong together.

Example
    ::

        vocabulary = sorted({word for line in my_lines for word in line})
        net = Net(len(vocabulary))  # of the lines of this rank alone

Use instead
    ::

        net = Net(len(vocabulary_of_all))

When it stays quiet
    Where every rank holds a part of the model of its own (sharded training).

References
    https://pytorch.org/docs/stable/notes/ddp.html
""",
)

PATHS_DIFFER = Cause(
    "GV709",
    "paths-differ",
    "info",
    """A rank computes something else than the others.

What it does
    Compares the recorded graphs of the last steps, operation by operation, and names
    the first line that differs.

Why is this bad
    The average then mixes gradients of two losses. A model may choose by its data, so
    that this is no error in itself.

Example
    ::

        loss = F.l1_loss(y, target) if rank == 3 else F.mse_loss(y, target)

Use instead
    ::

        loss = F.mse_loss(y, target)

When it stays quiet
    For recordings without a graph (of `gradviz.watch`), and for ranks that stopped.

References
    https://pytorch.org/docs/stable/notes/ddp.html
""",
)

CAUSES = (
    WEIGHTS_DIFFER,
    GRADIENTS_DIFFER,
    BAD_RANK,
    UNEVEN_RANKS,
    WAITING_RANK,
    RANK_STOPPED,
    RANK_MISSING,
    SHAPES_DIFFER,
    PATHS_DIFFER,
)
