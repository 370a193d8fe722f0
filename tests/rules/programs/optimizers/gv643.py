"""GV643: optimizer-given-twice."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "one_model_in_both_optimizers",
        """
        import torch
        from torch import nn
        actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
        critic_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
        actor_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)  # CULPRIT
        for step in range(2):
            x = torch.randn(4, 3)
            critic_optimizer.zero_grad()
            critic(x).square().mean().backward()
            critic_optimizer.step()
            actor_optimizer.zero_grad()
            (actor(x).sum(1) * critic(x)[:, 0]).mean().backward()
            actor_optimizer.step()
        """,
        "optimizer-given-twice",
        says=["`critic_optimizer` (line 4)", "`actor.bias` and `actor.weight`"],
    ),
    case(
        "generator_optimizer_with_the_critic",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Gan(nn.Module):
            def __init__(self):
                super().__init__()
                self.generator = nn.Sequential(
                    nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3)
                )
                self.critic = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))

        torch.manual_seed(0)
        gan = Gan()
        critic_optimizer = torch.optim.Adam(gan.critic.parameters(), lr=1e-3)
        optimizer = torch.optim.Adam(gan.parameters(), lr=1e-3)  # CULPRIT

        def train_critic(real):
            fake = gan.generator(torch.randn(len(real), 2)).detach()
            yes, no = gan.critic(real), gan.critic(fake)
            loss = F.binary_cross_entropy_with_logits(yes, torch.ones_like(yes))
            loss = loss + F.binary_cross_entropy_with_logits(no, torch.zeros_like(no))
            critic_optimizer.zero_grad()
            loss.backward()
            critic_optimizer.step()
            return loss.item()

        def train_generator(count):
            score = gan.critic(gan.generator(torch.randn(count, 2)))
            loss = F.binary_cross_entropy_with_logits(score, torch.ones_like(score))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.item()

        for step in range(4):
            real = torch.randn(10, 3) + 1
            print(step, train_critic(real), train_generator(10))
        """,
        "optimizer-given-twice",
        says=["opposite signs"],
    ),
    case(
        "one_of_two_listed_twice",
        """
        import torch
        import torch.nn as nn
        import warnings
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        first, second = nn.Linear(4, 1), nn.Linear(4, 1)
        params = list(first.parameters()) + list(first.parameters())  # CULPRIT
        opt = torch.optim.SGD(params, lr=0.1)
        for step in range(3):
            x = torch.randn(6, 4)
            loss = first(x).pow(2).mean() + (second(x) - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "optimizer-given-twice",
        says=["`second.weight`", "twice"],
    ),
    case(
        "a_helper_handed_the_same_model_twice",
        """
        import torch
        from torch import nn
        def adam(model, lr=0.1):
            return torch.optim.Adam(model.parameters(), lr=lr)
        actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
        critic_optimizer = adam(critic)
        actor_optimizer = adam(critic)  # CULPRIT
        for step in range(2):
            x = torch.randn(4, 3)
            critic_optimizer.zero_grad()
            critic(x).square().mean().backward()
            critic_optimizer.step()
            actor_optimizer.zero_grad()
            (actor(x).sum(1) * critic(x)[:, 0]).mean().backward()
            actor_optimizer.step()
        """,
        "optimizer-given-twice",
    ),
    case(
        "one_key_in_a_loop_over_models",
        """
        import torch
        from torch import nn
        nets = nn.ModuleDict({"critic": nn.Linear(3, 1), "actor": nn.Linear(3, 2)})
        optimizers = {}
        for name in nets:
            params = nets["critic"].parameters()  # CULPRIT
            optimizers[name] = torch.optim.SGD(params, lr=0.1)
        for step in range(2):
            for name in nets:
                x = torch.randn(4, 3)
                value = nets["actor"](x).sum(1) * nets["critic"](x)[:, 0]
                nets.zero_grad()
                value.mean().backward()
                optimizers[name].step()
        """,
        "optimizer-given-twice",
    ),
    case(
        "one_of_its_own_networks_twice",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class Duel:
            def __init__(self):
                self.maker, self.judge = nn.Linear(3, 2), nn.Linear(2, 1)
                self.first = torch.optim.SGD(self.maker.parameters(), lr=0.1)
                self.other = torch.optim.SGD(self.maker.parameters(), lr=0.1)  # CULPRIT

            def step(self, x, real):
                made = self.maker(x)
                both = torch.cat([self.judge(real), -self.judge(made.detach())])
                self.judge.zero_grad()
                F.softplus(-both).mean().backward()
                self.other.step()
                self.maker.zero_grad()
                F.softplus(-self.judge(made)).mean().backward()
                self.first.step()

        duel = Duel()
        for step in range(3):
            duel.step(torch.randn(4, 3), torch.randn(4, 2))
        """,
        "optimizer-given-twice",
    ),
    case(
        "one_entry_of_a_list_names_the_other_model",
        """
        import torch
        from torch import nn

        nets = {"critic": nn.Linear(3, 1), "actor": nn.Linear(3, 2)}
        plans = [
            {"of": "critic", "lr": 0.1},
            {"of": "critic", "lr": 0.01},  # CULPRIT
        ]
        optimizers = [
            torch.optim.SGD(nets[plan["of"]].parameters(), lr=plan["lr"])
            for plan in plans
        ]
        for step in range(3):
            x = torch.randn(4, 3)
            value = nets["actor"](x).sum(1) * nets["critic"](x)[:, 0]
            for each in nets.values():
                each.zero_grad()
            value.mean().backward()
            for each in optimizers:
                each.step()
        """,
        "optimizer-given-twice",
        says=["chose it"],
    ),
    case(
        "each_entry_of_a_list_names_its_model",
        """
        import torch
        from torch import nn

        nets = {"critic": nn.Linear(3, 1), "actor": nn.Linear(3, 2)}
        plans = [{"of": "critic", "lr": 0.1}, {"of": "actor", "lr": 0.01}]
        optimizers = [
            torch.optim.SGD(nets[plan["of"]].parameters(), lr=plan["lr"])
            for plan in plans
        ]
        for step in range(3):
            x = torch.randn(4, 3)
            value = nets["actor"](x).sum(1) * nets["critic"](x)[:, 0]
            for each in nets.values():
                each.zero_grad()
            value.mean().backward()
            for each in optimizers:
                each.step()
        """,
    ),
]
