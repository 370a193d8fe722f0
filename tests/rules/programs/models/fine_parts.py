"""Parts, copies and losses whose wiring only looks wrong."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "norm_of_gradients_after_the_step",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
            norm = nn.utils.clip_grad_norm_(net.parameters(), float("inf"))
            print(norm.item(), [p.grad.norm().item() for p in net.parameters()])
        """,
    ),
    case(
        "perceptual_loss_made_later",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 4)
        opt = torch.optim.Adam(net.parameters())
        judge = nn.Sequential(nn.Linear(4, 8), nn.ReLU()).eval()
        for step in range(2):
            x = torch.randn(5, 4)
            loss = (judge(net(x)) - judge(x)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
    case(
        "cleared_by_hand",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(4):
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
            for p in net.parameters():
                if step % 2:
                    p.grad *= 0
                else:
                    p.grad[...] = 0
        """,
    ),
    case(
        "lists_updated_by_hand",
        """
        import torch
        from torch import nn

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.weights = [torch.randn(3, 3, requires_grad=True) for _ in "ab"]

            def forward(self, x):
                for w in self.weights:
                    x = torch.tanh(x @ w)
                return x

        model = Model()
        for step in range(3):
            loss = model(torch.randn(4, 3)).pow(2).mean()
            loss.backward()
            with torch.no_grad():
                for w in model.weights:
                    w -= 0.1 * w.grad
                    w.grad = None
        """,
    ),
    case(
        "meta_optimizer_written_by_hand",
        """
        import torch
        from torch import nn

        class Descent(torch.optim.Optimizer):
            def __init__(self, params, lr):
                super().__init__(params, {"lr": lr})

            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        if p.grad is not None:
                            p.add_(p.grad, alpha=-group["lr"])

        net = nn.Linear(4, 1)
        opt = Descent(net.parameters(), 0.1)
        for step in range(3):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
    ),
    case(
        "weights_clipped_as_in_wgan",
        """
        import torch
        from torch import nn

        critic = nn.Linear(4, 1)
        opt = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
        for step in range(3):
            opt.zero_grad()
            loss = critic(torch.randn(5, 4)).mean() - critic(torch.randn(5, 4)).mean()
            loss.backward()
            opt.step()
            for p in critic.parameters():
                p.data.clamp_(-0.01, 0.01)
        """,
    ),
    case(
        "discriminator_frozen_for_a_while",
        """
        import torch
        from torch import nn

        gen, disc = nn.Linear(2, 3), nn.Linear(3, 1)
        opt_g = torch.optim.SGD(gen.parameters(), lr=0.1)
        opt_d = torch.optim.SGD(disc.parameters(), lr=0.1)
        for step in range(3):
            disc.requires_grad_(False)
            opt_g.zero_grad()
            disc(gen(torch.randn(4, 2))).mean().backward()
            opt_g.step()
            disc.requires_grad_(True)
            opt_d.zero_grad()
            with torch.no_grad():
                fake = gen(torch.randn(4, 2))
            (disc(fake).mean() - disc(torch.randn(4, 3)).mean()).backward()
            opt_d.step()
        """,
    ),
    case(
        "encoder_layers_that_are_copies",
        """
        import torch
        from torch import nn

        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
        net = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        head = nn.Linear(8, 1)
        opt = torch.optim.Adam([*net.parameters(), *head.parameters()])
        for step in range(2):
            net.train()
            opt.zero_grad()
            head(net(torch.randn(2, 3, 8))).pow(2).mean().backward()
            opt.step()
            net.eval()
            with torch.no_grad():
                head(net(torch.randn(2, 3, 8)))
        """,
    ),
    case(
        "attention_classifier",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(20, 8, padding_idx=0)
                self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
                self.norm = nn.LayerNorm(8)
                self.out = nn.Linear(8, 4)

            def forward(self, tokens):
                x = self.embed(tokens)
                mask = tokens == 0
                x = self.norm(x + self.attention(x, x, x, key_padding_mask=mask)[0])
                keep = (~mask).float().unsqueeze(-1)
                return self.out((x * keep).sum(1) / keep.sum(1))

        net = Net()
        opt = torch.optim.AdamW(net.parameters())
        for step in range(2):
            tokens = torch.tensor([[3, 5, 7, 0], [2, 4, 0, 0]])
            loss = F.cross_entropy(net(tokens), torch.tensor([1, 3]))
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
        """,
    ),
    case(
        "part_of_an_installed_model_left_unused",
        """
        import torch
        from torch import nn

        library = '''
        from torch import nn
        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 4)
                self.pooler = nn.Linear(4, 4)
            def forward(self, x):
                hidden = self.body(x)
                return hidden, self.pooler(hidden)
        '''
        names = {"__name__": "models"}
        file = "/env/lib/python3/site-packages/models.py"
        exec(compile(library, file, "exec"), names)

        encoder, head = names["Encoder"](), nn.Linear(4, 2)
        optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()])
        for step in range(3):
            hidden, _ = encoder(torch.randn(5, 4))
            loss = head(hidden).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "averaged_weights_lent_for_evaluation_and_taken_back",
        """
        import copy
        import torch
        from torch import nn

        net = nn.Linear(4, 2)
        average = copy.deepcopy(net).requires_grad_(False)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(3):
            opt.zero_grad()
            net(torch.randn(8, 4)).pow(2).mean().backward()
            opt.step()
            own = [p.data for p in net.parameters()]
            with torch.no_grad():
                for slow, fast in zip(average.parameters(), net.parameters()):
                    slow.lerp_(fast, 0.1)
                    fast.data = slow.data
                print(net(torch.ones(1, 4)), average(torch.ones(1, 4)))
                for fast, before in zip(net.parameters(), own):
                    fast.data = before
        """,
    ),
    case(
        "closure_of_a_step_and_gradients_cleared_before_a_validation",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def closure():
            opt.zero_grad()
            loss = net(torch.randn(5, 4)).pow(2).mean()
            loss.backward()
            return loss

        for epoch in range(3):
            for step in range(2):
                opt.step(closure)
            net.zero_grad()
            with torch.no_grad():
                print(net(torch.ones(1, 4)).item())
        """,
    ),
    case(
        "scheduler_of_a_wrapper_around_the_optimizer",
        """
        import torch
        from torch import nn

        class Wrapper(torch.optim.Optimizer):
            def __init__(self, inner):
                self.inner = inner

            @property
            def param_groups(self):
                return self.inner.param_groups

            def zero_grad(self, set_to_none=True):
                self.inner.zero_grad()

            def step(self, closure=None):
                self.inner.step(closure)

        net = nn.Linear(4, 1)
        opt = Wrapper(torch.optim.SGD(net.parameters(), lr=0.1))
        schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: 0.9**step)
        for step in range(3):
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
            schedule.step()
            opt.zero_grad()
        """,
    ),
    case(
        "loss_of_each_example_in_a_transform",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        params = {k: v.detach() for k, v in net.named_parameters()}

        def loss(params, x, y):
            found = torch.func.functional_call(net, params, (x,))
            return nn.functional.mse_loss(found, y)

        each = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))
        print(each(params, torch.randn(5, 4), torch.randn(5, 1))["weight"].shape)
        """,
    ),
    case(
        "norms_that_are_frozen_once_they_have_learnt",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 1))

        def train(optimizer, steps):
            for _ in range(steps):
                optimizer.zero_grad()
                net(torch.randn(8, 4)).square().mean().backward()
                optimizer.step()

        train(torch.optim.SGD(net.parameters(), lr=0.1), 3)
        net[1].requires_grad_(False)
        net.eval()  # its statistics stay, too
        rest = [p for p in net.parameters() if p.requires_grad]
        train(torch.optim.SGD(rest, lr=0.01), 3)
        """,
    ),
    *(
        case(
            name,
            f"""
            import sys
            import torch
            from torch import nn
            torch.manual_seed(0)
            body, head = nn.Sequential(nn.Linear(4, 6), nn.Tanh()), nn.Linear(6, 2)
            model = nn.Sequential(body, head)
            def learn(batches):
                params = [p for p in model.parameters() if p.requires_grad]
                opt = torch.optim.SGD(params, lr=0.1)
                for x in batches:
                    opt.zero_grad()
                    model(x).square().mean().backward()
                    opt.step()
            {code}
            learn(torch.randn(3, 8, 4))
            """,
        )
        for name, code in (
            (
                "all_on_again_after_the_head_was_warmed_up",
                """body.requires_grad_(False)
            learn(torch.randn(3, 8, 4))
            model.requires_grad_(True)""",
            ),
            (
                "parts_switched_on_one_by_one",
                """model.requires_grad_(False)
            head.requires_grad_(True)
            body.requires_grad_(True)""",
            ),
            (
                "head_on_again_and_body_frozen",
                "model.requires_grad_(False); head.requires_grad_(True)",
            ),
            (
                "all_on_again_where_it_is_asked_for",
                """body.requires_grad_(False)
            if "--frozen" not in sys.argv:
                model.requires_grad_(True)""",
            ),
        )
    ),
]
