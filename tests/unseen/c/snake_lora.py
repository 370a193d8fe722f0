"""GitHub issue (peft-like repo), "LoRA adapters stay zero, loss is constant"
Symptom: lora parameters require grad and are in the optimizer, gradients are 0 (not None).
EXPECT: runs
TRUTH: Both A and B are initialised with zeros, so each one's gradient is multiplied by the other and is 0 for ever. Initialise A randomly (kaiming), only B with zeros."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.A = nn.Parameter(torch.empty(r, base.in_features))
        self.B = nn.Parameter(torch.empty(base.out_features, r))
        self.scale = alpha / r
        self.reset()

    def reset(self):
        nn.init.zeros_(self.A)  # CULPRIT
        nn.init.zeros_(self.B)  # CULPRIT

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.A.t() @ self.B.t())


def inject(model):
    for name, child in model.named_children():
        if isinstance(child, nn.Linear):
            setattr(model, name, LoRALinear(child))
        else:
            inject(child)
    return model


model = inject(nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)))
opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
x = torch.randn(200, 8)
y = x[:, :1] - 2 * x[:, 1:2]
for it in range(150):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(it, loss.item())
print("loss", loss.item())
