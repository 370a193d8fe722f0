# kind: intermediate_grad_none
"""Adversarial training of a spam filter: small perturbations of the word embeddings."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class SpamNet(nn.Module):
    def __init__(self, vocab=80, dim=16, channels=24):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, channels, kernel_size=3, padding=1)
        self.fc = nn.Linear(channels, 1)

    def from_embeddings(self, emb):
        h = F.relu(self.conv(emb.transpose(1, 2)))
        return self.fc(h.amax(dim=2)).squeeze(1)

    def forward(self, ids):
        return self.from_embeddings(self.embedding(ids))


class EmbeddingAttack:
    """Some steps of projected ascent on a perturbation of the embeddings."""

    def __init__(self, eps=0.2, alpha=0.1, steps=2):
        self.eps, self.alpha, self.steps = eps, alpha, steps

    def start(self, like):
        noise = torch.rand(like.shape)
        return self.eps * (2 * noise.requires_grad_() - 1)  # CULPRIT

    def project(self, delta):
        return delta.detach().clamp(-self.eps, self.eps).requires_grad_()

    def perturb(self, model, emb, targets):
        emb = emb.detach()
        delta = self.start(emb)
        for _ in range(self.steps):
            logits = model.from_embeddings(emb + delta)
            F.binary_cross_entropy_with_logits(logits, targets).backward()
            ascent = delta.grad.sign()
            delta = self.project(delta.detach() + self.alpha * ascent)
        model.zero_grad()
        return delta.detach()


def make_mails(n, length=20, vocab=80):
    ids = torch.randint(0, vocab, (n, length))
    spam = torch.rand(n) < 0.5
    # spam mails hold a two-word phrase somewhere
    spots = torch.randint(0, length - 1, (n,))
    rows = torch.nonzero(spam).squeeze(1)
    ids[rows, spots[rows]] = 3
    ids[rows, spots[rows] + 1] = 17
    return ids, spam.float()


def run(epochs=6, batch_size=50):
    torch.manual_seed(5)
    ids, spam = make_mails(600)
    model, attack = SpamNet(), EmbeddingAttack()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for idx in torch.randperm(len(ids)).split(batch_size):
            x, y = ids[idx], spam[idx]
            delta = attack.perturb(model, model.embedding(x), y)
            opt.zero_grad()
            emb = model.embedding(x)
            clean = F.binary_cross_entropy_with_logits(model.from_embeddings(emb), y)
            hard = F.binary_cross_entropy_with_logits(model.from_embeddings(emb + delta), y)
            loss = 0.5 * (clean + hard)
            loss.backward()
            opt.step()
            running += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            acc = ((model(ids) > 0) == (spam > 0.5)).float().mean().item()
        print(f"epoch {epoch}: loss {running / len(ids):.3f} accuracy {acc:.3f}")


if __name__ == "__main__":
    run()
