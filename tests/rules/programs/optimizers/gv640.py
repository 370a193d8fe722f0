"""GV640: optimizer-never-steps."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "critic_never_steps",
        """
        import torch
        import torch.nn as nn

        torch.manual_seed(0)
        actor = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
        critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
        actor_opt = torch.optim.Adam(actor.parameters(), 1e-3)
        critic_opt = torch.optim.Adam(critic.parameters(), 1e-3)  # CULPRIT

        for step in range(4):
            state = torch.randn(32, 3)
            action = torch.randn(32, 1)
            reward = -state.pow(2).sum(1, keepdim=True)
            q = critic(torch.cat([state, action], 1))
            critic_loss = (q - reward).pow(2).mean()
            critic_opt.zero_grad()
            critic_loss.backward()
            actor_loss = -critic(torch.cat([state, actor(state)], 1)).mean()
            actor_opt.zero_grad()
            actor_loss.backward()
            actor_opt.step()
        """,
        "optimizer-never-steps",
    ),
    case(
        "decoder_left_out_of_the_step",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        enc, dec = nn.Linear(4, 3), nn.Linear(3, 4)
        enc_opt = torch.optim.Adam(enc.parameters())
        dec_opt = torch.optim.Adam(dec.parameters())  # CULPRIT
        for _ in range(4):
            x = torch.randn(6, 4)
            loss = (dec(enc(x)) - x).pow(2).mean()
            enc_opt.zero_grad()
            dec_opt.zero_grad()
            loss.backward()
            enc_opt.step()
        """,
        "optimizer-never-steps",
    ),
    case(
        "one_of_a_dict_steps",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        nets = {"a": nn.Linear(4, 3), "b": nn.Linear(3, 4)}
        sgd = torch.optim.SGD
        opts = {k: sgd(m.parameters(), 0.1) for k, m in nets.items()}  # CULPRIT
        for _ in range(4):
            x = torch.randn(6, 4)
            loss = (nets["b"](nets["a"](x)) - x).pow(2).mean()
            for o in opts.values():
                o.zero_grad()
            loss.backward()
            opts["a"].step()
        """,
        "optimizer-never-steps",
    ),
    case(
        "second_step_uncalled",
        """
        import torch
        from torch import nn
        a, b = nn.Linear(3, 2), nn.Linear(2, 3)
        oa, ob = (torch.optim.SGD(each.parameters(), 0.1) for each in (a, b))
        for _ in range(3):
            x = torch.randn(4, 3)
            loss = (b(a(x)) - x).pow(2).mean()
            oa.zero_grad()
            ob.zero_grad()
            loss.backward()
            oa.step()
            ob.step  # CULPRIT
        """,
        "optimizer-never-steps",
    ),
    case(
        "discriminator_steps_for_the_generator",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        gen, disc = nn.Linear(2, 3), nn.Linear(3, 1)
        opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3)
        opt_d = torch.optim.Adam(disc.parameters(), lr=1e-3)
        yes, no = torch.ones(8, 1), torch.zeros(8, 1)
        for turn in range(4):
            fake = gen(torch.randn(8, 2))
            real = F.binary_cross_entropy_with_logits(disc(torch.randn(8, 3)), yes)
            made = F.binary_cross_entropy_with_logits(disc(fake.detach()), no)
            opt_d.zero_grad()
            (real + made).backward()
            opt_d.step()
            opt_g.zero_grad()
            F.binary_cross_entropy_with_logits(disc(fake), yes).backward()
            opt_d.step()  # CULPRIT
        """,
        "optimizer-never-steps",
        says=["which has a step of its own elsewhere"],
    ),
    case(
        "loop_steps_some_by_name",
        """
        import torch
        from torch import nn
        class Bundle:
            def __init__(self, **members):
                self.members = members
            def zero_grad(self):
                for each in self.members.values():
                    each.zero_grad()
            def step(self):
                for name in ("last",):  # CULPRIT
                    self.members[name].step()
        first, last = nn.Linear(3, 4), nn.Linear(4, 1)
        both = Bundle(
            first=torch.optim.SGD(first.parameters(), lr=0.1),
            last=torch.optim.Adam(last.parameters()),
        )
        for _ in range(3):
            loss = last(first(torch.randn(5, 3))).square().mean()
            both.zero_grad()
            loss.backward()
            both.step()
        """,
        "optimizer-never-steps",
    ),
    case(
        "loop_steps_some_on_a_condition",
        """
        import torch
        from torch import nn
        class Bundle:
            def __init__(self, **members):
                self.members = members
            def zero_grad(self):
                for each in self.members.values():
                    each.zero_grad()
            def step(self):
                for name, each in self.members.items():
                    if name.startswith("l"):  # CULPRIT
                        each.step()
        first, last = nn.Linear(3, 4), nn.Linear(4, 1)
        both = Bundle(
            first=torch.optim.SGD(first.parameters(), lr=0.1),
            last=torch.optim.Adam(last.parameters()),
        )
        for _ in range(3):
            loss = last(first(torch.randn(5, 3))).square().mean()
            both.zero_grad()
            loss.backward()
            both.step()
        """,
        "optimizer-never-steps",
    ),
]
