"""Route support tickets to teams with one optimizer per part of the model, made on first use.

TRUTH: the lambdas all look up the loop variable when they are called, so all three optimizers get the parameters of the last part: the head is stepped three times per batch, embedding and body never (their printed change is 0); bind the part as a default argument.
"""
import torch
import torch.nn.functional as F
from torch import nn


class TicketModel(nn.Module):
    def __init__(self, vocab=60, dim=16, teams=5):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, dim)
        self.body = nn.Sequential(nn.Linear(dim, 32), nn.ReLU())
        self.head = nn.Linear(32, teams)

    def forward(self, words):
        return self.head(self.body(self.embed(words)))


RATES = {"embed": 2e-2, "body": 5e-3, "head": 5e-3}


def optimizer_factories(model):
    factories = {}
    for name, part in model.named_children():
        rate = RATES[name]
        factories[name] = lambda part=part, lr=rate: torch.optim.Adam(part.parameters(), lr=lr)
    return factories


def tickets(n, gen, topics):
    team = torch.randint(0, len(topics), (n,), generator=gen)
    words = torch.multinomial(topics[team], 12, replacement=True, generator=gen)
    return words, team


def main(steps=150):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    topics = torch.rand(5, 60, generator=gen).pow(4)
    model = TicketModel()
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    optimizers = {name: make() for name, make in optimizer_factories(model).items()}
    for step in range(steps):
        words, team = tickets(64, gen, topics)
        loss = F.cross_entropy(model(words), team)
        for optimizer in optimizers.values():
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers.values():
            optimizer.step()
        if step % 30 == 0 or step == steps - 1:
            print(f"step {step:3d}  loss {loss.item():.3f}")
    for name, p in model.named_parameters():
        print(f"{name:14s} change {(p.detach() - start[name]).abs().mean().item():.4f}")


if __name__ == "__main__":
    main()
