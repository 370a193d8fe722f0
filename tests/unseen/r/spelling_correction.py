"""Corrects misspelled words letter by letter, with its own learning rate for the embedding and no decay on norms.

TRUTH: the group for undecayed parameters also matches the norm inside the embedding block, which is in the embedding's group already, so the optimizer raises "some parameters appear in more than one parameter group"; leave the embedding block out of it.
"""
import torch
from torch import nn

ALPHABET = "abcdefghijklmnop"


class LetterEmbedding(nn.Module):
    def __init__(self, letters, dim):
        super().__init__()
        self.table = nn.Embedding(letters, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, word):
        return self.norm(self.table(word))


class Corrector(nn.Module):
    def __init__(self, letters=len(ALPHABET), dim=24):
        super().__init__()
        self.embedding = LetterEmbedding(letters, dim)
        self.context = nn.Conv1d(dim, dim, 3, padding=1)
        self.norm = nn.LayerNorm(dim)
        self.output = nn.Linear(dim, letters)

    def forward(self, word):
        x = self.embedding(word)
        x = x + self.context(x.transpose(1, 2)).transpose(1, 2)
        return self.output(torch.relu(self.norm(x)))


def parameter_groups(model, lr, decay):
    named = dict(model.named_parameters())
    embedding = [n for n in named if n.startswith("embedding.")]
    plain = [n for n in named if "norm" in n or n.endswith("bias")]  # CULPRIT
    rest = [n for n in named if n not in embedding and n not in plain]
    return [
        {"params": [named[n] for n in embedding], "lr": 2 * lr, "weight_decay": 0.0},
        {"params": [named[n] for n in plain], "lr": lr, "weight_decay": 0.0},
        {"params": [named[n] for n in rest], "lr": lr, "weight_decay": decay},
    ]


def words(n, length=8):
    start = torch.randint(0, len(ALPHABET), (n, 1))
    right = (start + 3 * torch.arange(length)) % len(ALPHABET)
    typo = torch.rand(n, length) < 0.15
    return torch.where(typo, torch.randint_like(right, len(ALPHABET)), right), right


def main():
    torch.manual_seed(71)
    model = Corrector()
    opt = torch.optim.AdamW(parameter_groups(model, lr=5e-3, decay=0.01))
    for step in range(150):
        written, right = words(64)
        logits = model(written)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), right.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0 or step == 149:
            share = (logits.argmax(-1) == right).float().mean().item()
            print(f"step {step:3d} loss {loss.item():.3f} letters right {share:.3f}")


if __name__ == "__main__":
    main()
