"""Programs with bad data, with half precision, and programs whose NaN is fine."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    # ---- data -----------------------------------------------------------------------
    case(
        "a_nan_in_an_array",
        """
        import numpy as np
        import torch
        import torch.nn as nn
        raw = np.ones((4, 2), dtype=np.float32)
        raw[2, 1] = np.nan
        x = torch.from_numpy(raw)  # CULPRIT
        net = nn.Linear(2, 1)
        opt = torch.optim.Adam(net.parameters())
        for _ in range(2):
            opt.zero_grad()
            net(x).mean().backward()
            opt.step()
        """,
        "nan-poisons-parameters",
        says=["index [2, 1]", "step 1 of 2"],
    ),
    case(
        "a_nan_in_a_list",
        """
        import torch
        x = torch.tensor([[1.0, float("nan")], [0.0, 1.0]])  # CULPRIT
        w = torch.ones(2, 1, requires_grad=True)
        for step in range(3):
            loss = (x @ w).mean()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
                w.grad = None
        """,
        "nan-poisons-parameters",
    ),
    case(
        "a_dataset_with_one_bad_row",
        """
        import torch
        import torch.nn as nn
        from torch.utils.data import DataLoader, TensorDataset
        x = torch.ones(6, 2)
        x[4] = float("inf")  # CULPRIT
        loader = DataLoader(TensorDataset(x, torch.zeros(6, 1)), batch_size=2)
        net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(2):
            for a, b in loader:
                opt.zero_grad()
                nn.functional.mse_loss(net(a), b).backward()
                opt.step()
        """,
        "nan-poisons-parameters",
    ),
    case(
        "a_nan_target",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 1)
        y = torch.zeros(3, 1)
        y[0] = torch.nan  # CULPRIT
        loss = nn.MSELoss()(net(torch.ones(3, 2)), y)
        loss.backward()
        """,
        "nan-poisons-parameters",
    ),
    # ---- half precision -------------------------------------------------------------
    case(
        "a_sum_of_squares_in_half",
        """
        import torch
        h = torch.full((8,), 300.0, dtype=torch.float16, requires_grad=True)
        loss = (h * h).sum()  # CULPRIT
        loss.backward()
        """,
        "half-precision-overflow",
    ),
    case(
        "scores_too_large_for_half",
        """
        import torch
        q = torch.full((2, 4), 200.0, dtype=torch.float16)
        k = torch.full((2, 4), 200.0, dtype=torch.float16, requires_grad=True)
        scores = q @ k.T  # CULPRIT
        torch.softmax(scores, -1)[:, 0].sum().backward()
        """,
        "half-precision-overflow",
    ),
    case(
        "a_small_factor_in_half",
        """
        import torch
        w = torch.ones(4, dtype=torch.float16, requires_grad=True)
        h = w * 1e-4  # CULPRIT
        loss = (h * 1e-4).sum()
        loss.backward()
        """,
        "half-precision-underflow",
    ),
    case(
        "a_small_loss_cast_back_to_half",
        """
        import torch
        w = torch.ones(4, dtype=torch.float16, requires_grad=True)
        h = (w * 2).float()  # CULPRIT
        loss = (h * 1e-9).sum()
        loss.backward()
        """,
        "half-precision-underflow",
    ),
    case(
        "a_small_difference_in_half_that_is_zero_in_places",
        """
        import torch
        w = torch.arange(8.0, requires_grad=True)
        gap = torch.relu(w.half() - 3)
        small = gap * 1e-6  # CULPRIT
        (small.abs().mean() * 0.1).backward()
        """,
        "half-precision-underflow",
    ),
    case(
        "weights_too_small_for_half_and_a_bias_of_zeros",
        """
        import torch
        net = torch.nn.Linear(4, 4).half()
        with torch.no_grad():
            net.weight.fill_(1e-5)
            net.bias.zero_()
        x = torch.ones(2, 4, dtype=torch.float16, requires_grad=True)
        y = net(x)  # CULPRIT
        (y * 1e-4).sum().backward()
        """,
        "half-precision-underflow",
    ),
    case(
        "flat_ends_in_half",
        """
        import torch
        w = torch.full((4,), 20.0, dtype=torch.float16, requires_grad=True)  # CULPRIT
        (torch.tanh(w) + w).sum().backward()
        """,
        "saturated-tanh",
    ),
    case(
        "rectified_scores_under_autocast",
        """
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
        with torch.autocast("cpu", dtype=torch.float16):
            scores = net(torch.randn(8, 4)).float()  # CULPRIT
        (scores.mean() * 1e-7).backward()
        """,
        "half-precision-underflow",
    ),
    case(
        "advantage_refused_by_the_sampler",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        policy = nn.Linear(4, 3)
        opt = torch.optim.Adam(policy.parameters(), lr=0.1)
        for step in range(3):
            p = torch.softmax(policy(torch.randn(5, 4)), -1)
            chosen = p.gather(1, torch.multinomial(p, 1)).squeeze(1)
            reward = torch.ones(5)
            gain = (reward - reward.mean()) / reward.std()  # CULPRIT
            opt.zero_grad()
            (-(chosen.log() * gain).mean()).backward()
            opt.step()
        """,
        "nan-zero-division",
    ),
    case(
        "log_of_zero_that_an_assert_met",
        """
        import torch
        rate = torch.tensor([0.0, 1.0], requires_grad=True)
        loss = -torch.log(rate).mean()  # CULPRIT
        assert torch.isfinite(loss), "the loss is bad"
        loss.backward()
        """,
        "nan-log-of-zero",
    ),
    case(
        "log_of_zero_that_a_test_raised_for",
        """
        import torch
        rate = torch.tensor([0.0, 1.0], requires_grad=True)
        loss = -torch.log(rate).mean()  # CULPRIT
        if not torch.isfinite(loss):
            raise RuntimeError("stop")
        loss.backward()
        """,
        "nan-log-of-zero",
    ),
]

FINE = [
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
]
