"""Half precision that holds, and NaN that is fine."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "losses_scaled_up_in_half",
        """
        import torch
        w = torch.ones(4, dtype=torch.float16, requires_grad=True)
        loss = (w * 1e-3).sum() * 1e-3
        (loss * 1024).backward()
        grad = w.grad.float() / 1024
        """,
    ),
    case(
        "zeros_of_a_mask_in_half",
        """
        import torch
        w = torch.ones(4, dtype=torch.float16, requires_grad=True)
        (w * torch.zeros(4, dtype=torch.float16)).sum().backward()
        """,
    ),
    case(
        "masked_attention_that_keeps_a_key",
        """
        import torch
        scores = torch.randn(3, 3, requires_grad=True)
        causal = torch.full((3, 3), float("-inf")).triu(1)
        p = torch.softmax(scores + causal, -1)
        p[:, 0].sum().backward()
        """,
    ),
    case(
        "top_k_filter",
        """
        import torch
        logits = torch.randn(1, 6, requires_grad=True)
        kept = logits.topk(2).values[:, -1:]
        filtered = logits.masked_fill(logits < kept, float("-inf"))
        loss = -torch.log_softmax(filtered, -1).max()
        loss.backward()
        """,
    ),
    case(
        "log_of_a_mask",
        """
        import torch
        s = torch.zeros(2, 3, requires_grad=True)
        mask = torch.tensor([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
        p = torch.softmax(s + mask.log(), dim=1)
        p[:, 0].sum().backward()
        """,
    ),
    case(
        "infinity_as_first_minimum",
        """
        import torch
        best = torch.tensor(float("inf"))
        w = torch.ones(2, requires_grad=True)
        for k in range(3):
            loss = (w * k).sum()
            loss.backward()
            best = torch.minimum(best, loss.detach())
        print(best)
        """,
    ),
    case(
        "missing_values_replaced",
        """
        import torch
        x = torch.tensor([1.0, float("nan"), 3.0])
        x = torch.nan_to_num(x)
        w = torch.ones(3, requires_grad=True)
        (x * w).sum().backward()
        """,
    ),
    case(
        "missing_values_selected_away",
        """
        import torch
        x = torch.tensor([1.0, float("nan"), 3.0])
        w = torch.ones(3, requires_grad=True)
        ok = ~torch.isnan(x)
        (x[ok] * w[ok]).sum().backward()
        print(x.nanmean())
        """,
    ),
    case(
        "bad_batches_skipped",
        """
        import torch
        w = torch.ones(2, requires_grad=True)
        for x in (torch.ones(2), torch.full((2,), float("nan"))):
            loss = (w * x).sum()
            if not torch.isfinite(loss):
                continue
            loss.backward()
        """,
    ),
    case(
        "metrics_of_an_empty_class",
        """
        import torch
        hits, seen = torch.tensor([3.0, 0.0]), torch.tensor([4.0, 0.0])
        print((hits / seen).nanmean())
        print(hits / seen)
        """,
    ),
    case(
        "uninitialised_memory_filled_later",
        """
        import torch
        x = torch.empty(64)
        x.fill_(1.0)
        w = torch.ones(64, requires_grad=True)
        (x * w).sum().backward()
        """,
    ),
    case(
        "cross_entropy_of_wild_logits",
        """
        import torch
        logits = torch.tensor([[1e4, -1e4]], requires_grad=True)
        torch.nn.functional.cross_entropy(logits, torch.tensor([1])).backward()
        """,
    ),
    case(
        "log_sum_exp_of_paths",
        """
        import torch
        alpha = torch.full((3,), float("-inf"))
        alpha[0] = 0.0
        step = torch.zeros(3, 3, requires_grad=True)
        for _ in range(2):
            alpha = torch.logsumexp(alpha[:, None] + step, 0)
        alpha.sum().backward()
        """,
    ),
    case(
        "infinity_clamped",
        """
        import torch
        p = torch.tensor([0.0, 0.5], requires_grad=True)
        loss = -(p + 1e-8).log().clamp(min=-10).sum()
        loss.backward()
        """,
    ),
    case(
        "exponential_underflow",
        """
        import torch
        d = torch.tensor([1e5, 1.0], requires_grad=True)
        torch.exp(-d).sum().backward()
        """,
    ),
    case(
        "log_of_zero_that_a_test_skipped",
        """
        import torch
        for rate in torch.tensor([0.0, 1.0]):
            rate = rate.clone().requires_grad_()
            loss = -torch.log(rate)
            if not torch.isfinite(loss):
                continue
            loss.backward()
            if rate.grad is None:
                raise RuntimeError("no gradient")
        """,
    ),
    case(
        "a_term_in_half_that_is_switched_off",
        """
        import torch
        w = torch.ones(4, dtype=torch.float16, requires_grad=True)
        ((w * 2).mean() + (w * 0.0).mean()).backward()
        """,
    ),
    case(
        "half_of_a_mask_in_half",
        """
        import torch
        w = torch.ones(4, dtype=torch.float16, requires_grad=True)
        keep = torch.tensor([1, 0, 0, 0], dtype=torch.float16)
        (w * keep).sum().backward()
        """,
    ),
    case(
        "new_memory_filled_row_by_row",
        """
        import torch
        torch.use_deterministic_algorithms(True)  # new memory is full of NaN
        try:
            layer = torch.nn.Linear(3, 2)
            x, out = torch.randn(4, 3), torch.empty(4, 2)
            for rows in [[0, 2], [1, 3]]:
                out[rows] = layer(x[rows])
            out.pow(2).mean().backward()
        finally:
            torch.use_deterministic_algorithms(False)
        """,
        engines=("torch",),
    ),
    case(
        "broken_batch_whose_step_is_left_out_and_cleared",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(4):
            x = torch.randn(5, 3)
            if step == 1:
                x[0, 0] = float("nan")
            net(x).square().mean().backward()
            norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            if not torch.isfinite(norm):
                opt.zero_grad()
                continue
            opt.step()
            opt.zero_grad()
        """,
    ),
]
