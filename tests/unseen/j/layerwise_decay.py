# kind: loop_variable_bound_late
"""Fine-tuning of a text encoder with gradients that shrink toward the lower layers."""
import torch
import torch.nn.functional as F
from torch import nn


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mix = nn.Conv1d(dim, dim, 3, padding=1)

    def forward(self, x):
        h = self.mix(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return x + F.gelu(h)


class TextEncoder(nn.Module):
    def __init__(self, vocab=40, dim=24, depth=4, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Layer(dim) for _ in range(depth))
        self.head = nn.Linear(dim, classes)

    def groups(self):
        """From the input to the output."""
        return [self.embed, *self.layers, self.head]

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(dim=1))


def shrink_gradients(model, decay):
    """The head keeps its gradient, each group below gets `decay` times less."""
    handles = []
    groups = model.groups()
    for depth, group in enumerate(reversed(groups)):
        factor = decay**depth
        for p in group.parameters():
            handles.append(p.register_hook(lambda grad: grad * factor))  # CULPRIT
    return handles


def documents(n, vocab=40, length=12):
    """The class decides which third of the vocabulary is more frequent."""
    label = torch.randint(3, (n,))
    topical = torch.rand(n, length) < 0.35
    topic_word = 13 * label.unsqueeze(1) + torch.randint(13, (n, length))
    return torch.where(topical, topic_word, torch.randint(vocab, (n, length))), label


def gradient_norms(model):
    return [sum(p.grad.norm().item() ** 2 for p in g.parameters()) ** 0.5 for g in model.groups()]


def main():
    torch.manual_seed(0)
    model = TextEncoder()
    handles = shrink_gradients(model, decay=0.6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(150):
        ids, label = documents(64)
        loss = F.cross_entropy(model(ids), label)
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            print("gradient norms", [f"{v:.4f}" for v in gradient_norms(model)])
        optimizer.step()
        if step % 30 == 0 or step == 149:
            print(f"step {step:3d}  loss {loss.item():.4f}")
    for handle in handles:
        handle.remove()


if __name__ == "__main__":
    main()
