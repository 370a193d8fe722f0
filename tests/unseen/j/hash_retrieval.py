# kind: custom_fn_zero_gradient
"""Learns binary hash codes, so that similar products get codes with a small Hamming distance."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Binarize(torch.autograd.Function):
    """Sign in the forward pass; straight through within [-limit, limit] in the backward pass."""

    @staticmethod
    def forward(ctx, x, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_input = torch.zeros_like(grad_output)
        inside = x.abs() <= ctx.limit
        grad_input[inside].copy_(grad_output[inside])  # CULPRIT
        return grad_input, None


class HashNet(nn.Module):
    def __init__(self, n_in, bits=16, limit=1.5):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(n_in, 64),
            nn.ReLU(),
            nn.Linear(64, bits, bias=False),
            nn.BatchNorm1d(bits),
        )
        self.limit = limit

    def forward(self, x):
        return Binarize.apply(self.encoder(x), self.limit)


class CodeClassifier(nn.Module):
    """A linear classifier on the codes gives the supervision."""

    def __init__(self, n_in, bits, groups):
        super().__init__()
        self.hash = HashNet(n_in, bits)
        self.classify = nn.Linear(bits, groups)

    def forward(self, x):
        codes = self.hash(x)
        return self.classify(codes), codes


def products(n, centres):
    group = torch.randint(0, len(centres), (n,))
    return centres[group] + 0.9 * torch.randn(n, centres.size(1)), group


@torch.no_grad()
def precision_at(model, queries, database, k=10):
    model.eval()
    (xq, gq), (xd, gd) = queries, database
    similarity = model.hash(xq) @ model.hash(xd).T
    top = similarity.topk(k, dim=1).indices
    model.train()
    return (gd[top] == gq[:, None]).float().mean().item()


def balance(codes):
    """Every bit should be set for half of the products."""
    return codes.mean(dim=0).pow(2).mean()


def main():
    torch.manual_seed(0)
    centres = torch.randn(8, 24) * 0.7
    train, queries = products(960, centres), products(120, centres)
    loader = DataLoader(TensorDataset(*train), batch_size=48, shuffle=True)
    model = CodeClassifier(24, bits=16, groups=8)
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    start = model.hash.encoder[0].weight.detach().clone()
    for epoch in range(8):
        total = 0.0
        for x, group in loader:
            logits, codes = model(x)
            loss = F.cross_entropy(logits, group) + 0.1 * balance(codes)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        if epoch % 2:
            precision = precision_at(model, queries, train)
            print(f"epoch {epoch} loss {total / len(loader):.3f} precision@10 {precision:.3f}")
    print(f"encoder moved by {(model.hash.encoder[0].weight - start).norm().item():.4f}")


main()
