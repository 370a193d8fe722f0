"""Programs that take one model, optimizer or dimension for another, or do not."""

from __future__ import annotations

from tests.rules.harness import case

MODELS = [
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
        "a_second_optimizer_of_the_head_alone",
        """
        import torch
        from torch import nn
        body, head = nn.Linear(3, 4), nn.Linear(4, 1)
        everything = [*body.parameters(), *head.parameters()]
        warm = torch.optim.SGD(head.parameters(), lr=0.1)
        full = torch.optim.SGD(everything, lr=0.01)
        for optimizer in (warm, warm, full, full):
            optimizer.zero_grad()
            head(torch.relu(body(torch.randn(8, 3)))).square().mean().backward()
            optimizer.step()
        """,
    ),
    case(
        "teacher_is_the_student",
        """
        import torch
        from torch import nn
        student = nn.Linear(3, 2)
        teacher = student  # CULPRIT
        for p in teacher.parameters():
            p.requires_grad_(False)
        x = torch.randn(4, 3)
        (student(x) - teacher(x + 0.1)).square().mean().backward()
        """,
        "forgotten-unfreeze",
        says=["`teacher` is `student` itself since line 4", "copy.deepcopy(student)"],
    ),
    case(
        "target_network_with_its_graph",
        """
        import copy
        import torch
        from torch import nn
        online = nn.Linear(3, 2)
        target = copy.deepcopy(online)
        optimizer = torch.optim.SGD(online.parameters(), lr=0.1)
        for step in range(3):
            x = torch.randn(4, 3)
            best = target(x + 1).max(dim=1).values  # CULPRIT
            loss = (online(x)[:, 0] - best).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            target.load_state_dict(online.state_dict())
        """,
        "gradient-into-a-copy",
        says=["`target` is a copy", "3 backward passes"],
    ),
    case(
        "copy_of_a_model_that_learns_itself",
        """
        import copy
        import torch
        from torch import nn
        slow = nn.Linear(3, 2)
        fast = copy.deepcopy(slow)
        optimizer = torch.optim.SGD(fast.parameters(), lr=0.1)
        for task in range(3):
            fast.load_state_dict(slow.state_dict())
            for step in range(2):
                optimizer.zero_grad()
                fast(torch.randn(4, 3)).square().mean().backward()
                optimizer.step()
            with torch.no_grad():
                for a, b in zip(slow.parameters(), fast.parameters()):
                    a.add_(b - a, alpha=0.5)
        """,
    ),
    case(
        "functions_made_in_a_loop_call_the_last_head",
        """
        import torch
        from torch import nn
        body = nn.Linear(3, 4)
        heads = nn.ModuleList([nn.Linear(4, 1) for _ in range(3)])
        calls = []
        for head in heads:
            calls.append(lambda h: head(h))  # CULPRIT
        parameters = [*body.parameters(), *heads.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        for step in range(3):
            h = torch.relu(body(torch.randn(8, 3)))
            loss = sum(call(h).square().mean() for call in calls)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "unused-submodule",
        says=["the function of line 7", "head=head"],
    ),
    case(
        "a_loss_is_printed_and_left_out",
        """
        import torch
        from torch import nn
        body, main, aux = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 1)
        parameters = [*body.parameters(), *main.parameters(), *aux.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        for step in range(3):
            h = torch.relu(body(torch.randn(8, 3)))
            first, second = main(h).square().mean(), aux(h).abs().mean()
            loss = 2 * first  # CULPRIT
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(loss.item(), second.item())
        """,
        "unused-submodule",
        says=["`second.item()`", "Add `second` to the loss here"],
    ),
    case(
        "a_buffer_frozen_in_evaluation_mode",
        """
        import torch
        from torch import nn
        stem = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        head = nn.Linear(4, 1)
        stem.requires_grad_(False)
        stem.eval()
        with torch.no_grad():
            features = stem(torch.randn(8, 3))
        stem[0].requires_grad_(True)
        parameters = [*stem[0].parameters(), *head.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        for step in range(2):
            optimizer.zero_grad()
            head(stem(torch.randn(8, 3))).square().mean().backward()
            optimizer.step()
        """,
    ),
    case(
        "a_generator_is_left_in_evaluation_mode",
        """
        import torch
        from torch import nn
        gen = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5))
        disc = nn.Linear(4, 1)
        gen_optimizer = torch.optim.SGD(gen.parameters(), lr=0.1)
        disc_optimizer = torch.optim.SGD(disc.parameters(), lr=0.1)
        for epoch in range(2):
            fake = gen(torch.randn(8, 3))
            disc_optimizer.zero_grad()
            disc(fake.detach()).mean().backward()
            disc_optimizer.step()
            gen_optimizer.zero_grad()
            disc(fake).mean().neg().backward()
            gen_optimizer.step()
            gen.eval()  # CULPRIT
            with torch.no_grad():
                gen(torch.randn(2, 3))
        """,
        "eval-mode-left-on",
    ),
]

OPTIMIZERS = [
    case(
        "optimizer_in_the_step",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        def step(x):
            optimizer = torch.optim.Adam(net.parameters())  # CULPRIT
            optimizer.zero_grad()
            net(x).square().mean().backward()
            optimizer.step()
        for _ in range(4):
            step(torch.randn(4, 3))
        """,
        "optimizer-made-anew",
        says=["made 4 optimizers"],
    ),
    case(
        "optimizer_of_each_task",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        for task in range(4):
            optimizer = torch.optim.Adam(net.parameters())
            for _ in range(3):
                optimizer.zero_grad()
                net(torch.randn(4, 3)).square().mean().backward()
                optimizer.step()
        """,
    ),
    case(
        "optimizer_of_each_sample_for_weights_set_back",
        """
        import copy
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        start = copy.deepcopy(net.state_dict())
        for sample in range(4):
            net.load_state_dict(start)
            optimizer = torch.optim.Adam(net.parameters())
            optimizer.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            optimizer.step()
        """,
    ),
    case(
        "head_in_two_groups",
        """
        import torch
        from torch import nn
        net = nn.Sequential()
        net.body, net.head = nn.Linear(3, 4), nn.Linear(4, 1)
        optimizer = torch.optim.Adam([
            {"params": net.parameters()},  # CULPRIT
            {"params": net.head.parameters(), "lr": 1e-2},
        ])
        """,
        "parameter-in-two-groups",
        says=["`net` (line 6) has the parameters of `net.head`"],
    ),
    case(
        "parameter_made_in_forward",
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.out = nn.Linear(3, 1)
            def forward(self, x):
                shift = nn.Parameter(torch.randn(3) * 0.1)  # CULPRIT
                return self.out(x + shift)
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            optimizer.step()
        """,
        "parameter-made-in-forward",
        says=["3 so far"],
    ),
]

DIMENSIONS = [
    case(
        "classes_left_in_the_last_dimension",
        """
        import torch
        from torch import nn
        out = nn.Linear(4, 6)
        logits = out(torch.randn(2, 6, 4))
        target = torch.randint(0, 6, (2, 6))
        loss = nn.functional.cross_entropy(logits, target)  # CULPRIT
        loss.backward()
        """,
        "classes-in-another-dimension",
        says=["`logits` has shape (2, 6, 6)", "`logits.transpose(1, 2)`"],
    ),
    case(
        "classes_moved_to_the_second_dimension",
        """
        import torch
        from torch import nn
        out = nn.Linear(4, 6)
        logits = out(torch.randn(2, 6, 4)).transpose(1, 2)
        loss = nn.functional.cross_entropy(logits, torch.randint(0, 6, (2, 6)))
        loss.backward()
        """,
    ),
    case(
        "attention_weights_over_the_batch",
        """
        import torch
        from torch import nn
        score = nn.Linear(3, 1)
        frames = torch.randn(4, 5, 3)
        weights = torch.softmax(score(frames), dim=0)  # CULPRIT
        pooled = (weights * frames).sum(dim=1)
        pooled.square().mean().backward()
        """,
        "weights-over-the-batch",
        says=["dimension 0 of (4, 5, 1)", "`dim=1`"],
    ),
    case(
        "slots_compete_for_what_is_summed",
        """
        import torch
        from torch import nn
        score = nn.Linear(3, 4)
        points = torch.randn(5, 3)
        weights = torch.softmax(score(points), dim=1).t()
        sums = (weights.unsqueeze(-1) * points.unsqueeze(0)).sum(dim=1)
        first = (torch.softmax(score(points), dim=0).sum(dim=1) * points[:, 0]).sum()
        (sums.square().mean() + first).backward()
        """,
    ),
    case(
        "noise_levels_along_the_columns",
        """
        import torch
        from torch import nn
        levels, net = torch.linspace(0.1, 1, 9), nn.Conv2d(1, 1, 1)
        steps = torch.randint(0, 9, (4,))
        images = torch.randn(4, 1, 4, 4)
        level = levels[steps]
        noisy = images * level.sqrt()  # CULPRIT
        net(noisy).square().mean().backward()
        """,
        "samples-meet-columns",
        says=["looked up in line 6", "`.view(-1, 1, 1, 1)`"],
    ),
    case(
        "scales_of_columns_and_shaped_levels",
        """
        import torch
        from torch import nn
        levels, net = torch.linspace(0.1, 1, 9), nn.Conv2d(1, 1, 1)
        scale = levels[:4]
        level = levels[torch.randint(0, 9, (4,))].view(-1, 1, 1, 1)
        noisy = torch.randn(4, 1, 4, 4) * level * scale
        net(noisy).square().mean().backward()
        """,
    ),
    case(
        "last_of_the_batch_for_the_last_step",
        """
        import torch
        from torch import nn
        rnn, out = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 2)
        states, _ = rnn(torch.randn(5, 7, 3))
        last = states[-1]  # CULPRIT
        loss = nn.functional.cross_entropy(out(last), torch.randint(0, 2, (5,)))
        loss.backward()
        """,
        "shape-mismatch",
        says=["The 5 samples get lost in `states[-1]` (line 5)"],
    ),
]

PROGRAMS = MODELS + OPTIMIZERS + DIMENSIONS
