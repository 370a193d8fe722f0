"""GitHub issue (transformers), "Pure bf16 fine-tuning: loss does not change with lr=1e-4"
Symptom: fp32 works, with model.to(bfloat16) the weights do not change at all, no nan.
EXPECT: runs
TRUTH: The parameters themselves are bfloat16 (8 bits of precision), an update far below 1/256 of a weight is rounded away.
Keep the weights in fp32 and use autocast."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Tuner:
    def __init__(self, dtype):
        self.dtype = dtype
        self.model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 4))
        with torch.no_grad():
            for p in self.model.parameters():
                p.add_(torch.sign(p) * 0.5)
        self.model = self.model.to(dtype)  # CULPRIT
        self.opt = torch.optim.SGD(self.model.parameters(), lr=2e-4)

    def step(self, x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = self.model(x.to(next(self.model.parameters()).dtype))
        loss = nn.functional.cross_entropy(logits.float(), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


x = torch.randn(256, 16)
y = x[:, :4].argmax(1)
tuner = Tuner(torch.bfloat16)
before = [p.detach().clone().float() for p in tuner.model.parameters()]
losses = [tuner.step(x, y) for _ in range(300)]
changed = sum((a != b.float()).sum().item() for a, b in zip(before, tuner.model.parameters()))
print("loss first", losses[0], "loss last", losses[-1])
print("changed weights", changed, "of", sum(p.numel() for p in tuner.model.parameters()))
