"""LoRA on a frozen classifier; for every evaluation the adapters are merged into the base weights and unmerged afterwards.

TRUTH: correct: the base weights are changed in place only while evaluating (train(False) merges, train() unmerges), outside of any graph; the
frozen base gets no gradient and is not in the optimizer; lora_B starts at zero on purpose, so lora_A has a zero gradient in
the very first step only. The adapted model learns the shifted task and switching the adapters off gives back the base model.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class LoRALayer(nn.Linear):
    def __init__(self, in_features, out_features, r=0, alpha=1, merge_weights=True):
        super().__init__(in_features, out_features)
        self.r, self.merged, self.merge_weights = r, False, merge_weights
        if r > 0:
            self.lora_A = nn.Parameter(torch.zeros(r, in_features))
            self.lora_B = nn.Parameter(torch.zeros(out_features, r))
            self.scaling = alpha / r
            self.weight.requires_grad = False
            self.bias.requires_grad = False
            nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def delta(self):
        return (self.lora_B @ self.lora_A) * self.scaling

    def train(self, mode=True):
        super().train(mode)
        if self.r > 0 and self.merge_weights:
            if mode and self.merged:
                self.weight.data -= self.delta().data
                self.merged = False
            elif not mode and not self.merged:
                self.weight.data += self.delta().data
                self.merged = True
        return self

    def forward(self, x):
        out = F.linear(x, self.weight, self.bias)
        if self.r > 0 and not self.merged:
            out = out + (x @ self.lora_A.T) @ self.lora_B.T * self.scaling
        return out


class SequenceClassifier(nn.Module):
    def __init__(self, vocab=30, dim=24, classes=4, r=0):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.fc1 = LoRALayer(dim, 64, r=r, alpha=8)
        self.fc2 = LoRALayer(64, 64, r=r, alpha=8)
        self.out = nn.Linear(64, classes)
        if r > 0:
            self.emb.weight.requires_grad = False
            self.out.requires_grad_(False)

    def forward(self, tokens):
        x = self.emb(tokens).mean(1)
        return self.out(F.relu(self.fc2(F.relu(self.fc1(x)))))


def make_task(n, seed, perm=None):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    base = torch.randint(0, 30, (n, 10), generator=g)
    topical = (y.unsqueeze(1) * 7 + torch.randint(0, 7, (n, 10), generator=g))
    tokens = torch.where(torch.rand(n, 10, generator=g) < 0.5, topical, base)
    return tokens, y if perm is None else perm[y]


def fit(model, data, epochs, lr, bs=50, test=None):
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    x, y = data
    for epoch in range(1, epochs + 1):
        model.train()
        perm = torch.randperm(len(x))
        total = 0.0
        for i in range(0, len(x), bs):
            b = perm[i:i + bs]
            loss = F.cross_entropy(model(x[b]), y[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(b)
        if epoch % (epochs // 4) == 0:
            print(f"  epoch {epoch:2d} loss {total / len(x):.4f} test acc {accuracy(model, test):.3f}")


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    return (model(data[0]).argmax(1) == data[1]).float().mean().item()


def main():
    torch.manual_seed(0)
    base = SequenceClassifier()
    old_test = make_task(500, 11)
    print("base model")
    fit(base, make_task(1500, 10), 8, 3e-3, test=old_test)

    model = SequenceClassifier(r=4)
    missing, unexpected = model.load_state_dict(base.state_dict(), strict=False)
    assert not unexpected and all("lora_" in k for k in missing)
    perm = torch.tensor([2, 0, 3, 1])
    new_test = make_task(500, 21, perm)
    n = sum(p.numel() for p in model.parameters() if p.requires_grad)
    print(f"adapters ({n} trainable parameters), acc before {accuracy(model, new_test):.3f}")
    fit(model, make_task(800, 20, perm), 16, 5e-3, test=new_test)

    model.train()
    drift = max((a - b).abs().max().item() for a, b in zip((model.fc1.weight, model.fc2.weight), (base.fc1.weight, base.fc2.weight)))
    print(f"after unmerging: base weights differ by {drift:.1e}")


if __name__ == "__main__":
    main()
