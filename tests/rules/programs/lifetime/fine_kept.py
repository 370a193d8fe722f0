"""Right: graphs that are kept for a while and walked, or let go."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "rollouts_with_graphs_until_the_end_of_the_episode",
        """
        import torch
        from torch import nn
        def main():
            policy, value = nn.Linear(2, 3), nn.Linear(2, 1)
            one = torch.optim.SGD(policy.parameters(), 0.1)
            other = torch.optim.SGD(value.parameters(), 0.1)
            for episode in range(3):
                scores = []
                for step in range(7):
                    x = torch.randn(2)
                    v = value(x)
                    scores.append(policy(x).log_softmax(0)[0] * v.detach())
                    other.zero_grad()
                    (v - 1).pow(2).sum().backward()
                    other.step()
                one.zero_grad()
                (-torch.cat([each.view(1) for each in scores]).mean()).backward()
                one.step()
        main()
        """,
    ),
    case(
        "rows_of_a_hessian_in_a_list",
        """
        import torch
        def hessian(f, x):
            (g,) = torch.autograd.grad(f(x), x, create_graph=True)
            rows = []
            for i in range(len(x)):
                rows.append(torch.autograd.grad(g[i], x, create_graph=True)[0])
            return torch.stack(rows)
        x = torch.randn(9, requires_grad=True)
        h = hessian(lambda v: (v.sin() * v).sum() ** 2, x)
        print(h.diagonal().sum().item())
        """,
    ),
    case(
        "a_few_words_written_in_eval_mode",
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn, self.head = nn.GRU(4, 4, batch_first=True), nn.Linear(4, 4)
            def forward(self, x, h=None):
                out, h = self.rnn(x, h)
                return self.head(out), h
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for step in range(3):
            out, _ = net(torch.randn(3, 5, 4))
            optimizer.zero_grad()
            out.pow(2).mean().backward()
            optimizer.step()
        def write(net, count):
            net.eval()
            x, h, words = torch.zeros(1, 1, 4), None, []
            for _ in range(count):
                out, h = net(x, h)
                words.append(int(out.argmax()))
                x = nn.functional.one_hot(out.argmax(-1), 4).float()
            return words
        print(write(net, 5))
        """,
    ),
    case(
        "chunks_whose_pass_comes_after_many_turns",
        """
        import torch
        from torch import nn
        net, head = nn.GRUCell(2, 4), nn.Linear(4, 1)
        both = [*net.parameters(), *head.parameters()]
        optimizer = torch.optim.SGD(both, 0.1)
        h = torch.zeros(3, 4)
        for chunk in range(3):
            h, loss = h.detach(), 0.0
            for turn in range(12):
                h = net(torch.randn(3, 2), h)
                loss = loss + head(h).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "distance_of_two_models_printed_at_the_end",
        """
        import copy
        import torch
        from torch import nn
        net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        old = copy.deepcopy(net)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def distance(a, b):
            both = zip(a.parameters(), b.parameters())
            return sum((p - q).pow(2).sum() for p, q in both).sqrt().item()

        for step in range(4):
            opt.zero_grad()
            (net(torch.randn(8, 3)) - 1).square().mean().backward()
            opt.step()
        print(distance(net, old))
        """,
    ),
    case(
        "scores_of_a_replay_memory_without_graphs",
        """
        import random
        import torch
        from torch import nn

        def train(steps):
            critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
            optimizer = torch.optim.SGD(critic.parameters(), 0.01)
            memory = []
            for _ in range(steps):
                state = torch.randn(3)
                memory.append((state, critic(state).detach()))
                old, before = random.choice(memory)
                loss = (critic(old) - 0.9 * before - 1).pow(2).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            return len(memory)

        train(12)
        """,
    ),
    case(
        "values_of_a_rollout_that_only_one_update_reads",
        """
        import torch
        from torch import nn

        def train(rollouts):
            critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
            optimizer = torch.optim.SGD(critic.parameters(), 0.01)
            for _ in range(rollouts):
                rows = []
                for _ in range(4):
                    state = torch.randn(3)
                    rows.append((state, critic(state)))
                for _ in range(3):
                    losses = [
                        (critic(state) - 0.9 * before.detach() - 1).pow(2).sum()
                        for state, before in rows
                    ]
                    optimizer.zero_grad()
                    sum(losses).backward()
                    optimizer.step()

        train(5)
        """,
    ),
]
