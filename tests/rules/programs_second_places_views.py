"""Programs with a second line to mend: where a view was made, or a pass comes again."""

from __future__ import annotations

from tests.rules.harness import case

VIEWS = [
    case(
        "detached_activations_centred",
        """
        import torch
        h = torch.tanh(torch.ones(3, requires_grad=True))
        shown = h.detach()  # INSTEAD
        shown -= shown.mean()  # CULPRIT
        h.sum().backward()
        """,
        "detach-shares-storage",
    ),
    case(
        "query_of_three_chunks_scaled",
        """
        import torch
        qkv = torch.nn.Linear(2, 6)(torch.ones(1, 2))
        q, k, v = qkv.chunk(3, dim=-1)  # INSTEAD
        q *= 0.5  # CULPRIT
        """,
        "multi-view-inplace",
    ),
    case(
        "half_of_it_taken_without_gradients",
        """
        import torch
        h = torch.ones(4, requires_grad=True) * 2
        with torch.no_grad():
            half = h[:2]  # INSTEAD
        half.mul_(3)  # CULPRIT
        """,
        "no-grad-view-inplace",
    ),
    case(
        "counts_in_one_place",
        """
        import torch
        counts = torch.zeros(1).expand(3)  # INSTEAD
        counts += torch.arange(3.0)  # CULPRIT
        """,
        "expanded-inplace",
    ),
    case(
        "one_row_for_all",
        """
        import torch
        state = torch.zeros(1, 2).expand(3, 2)  # INSTEAD
        state[0] = 5.0  # CULPRIT
        print(state)
        """,
        "expanded-row-write",
    ),
    case(
        "windows_that_overlap",
        """
        import torch
        frames = torch.arange(8.0).unfold(0, 4, 2)  # INSTEAD
        frames.mul_(torch.hann_window(4))  # CULPRIT
        """,
        "as-strided-overlap-write",
    ),
    case(
        "columns_seen_as_one_row",
        """
        import torch
        table = torch.arange(6.0).view(2, 3).t()  # INSTEAD
        row = table.view(6)  # CULPRIT
        """,
        "view-noncontiguous",
    ),
    case(
        "border_of_a_copy",
        """
        import torch
        grid = torch.zeros(3, 4)
        columns = grid.t().reshape(12)  # CULPRIT
        columns[0:3] = 1.0  # INSTEAD
        print(grid)
        """,
        "reshape-silently-copies",
    ),
    case(
        "hook_of_the_old_value",
        """
        import torch
        h = torch.ones(1, requires_grad=True) * 2
        h.register_hook(lambda g: print(g))  # INSTEAD
        h.mul_(10)  # CULPRIT
        h.sum().backward()
        """,
        "hook-before-inplace",
    ),
    case(
        "two_passes_over_one_graph",
        """
        import torch
        loss = torch.ones(1, requires_grad=True).exp().sum()
        loss.backward()  # CULPRIT
        loss.backward()  # INSTEAD
        """,
        "backward-twice",
    ),
    case(
        "latent_that_was_scaled",
        """
        import torch
        latent = torch.zeros(2, requires_grad=True) + 1  # CULPRIT
        opt = torch.optim.SGD([latent], lr=0.1)  # INSTEAD
        """,
        "optimizer-given-nonleaf",
    ),
    case(
        "clipped_when_all_is_over",
        """
        import torch
        net = torch.nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.ones(2, 3)).pow(2).mean().backward()
            opt.step()  # INSTEAD
            torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)  # CULPRIT
        """,
        "clip-after-step",
    ),
]
