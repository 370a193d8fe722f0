"""discuss.pytorch.org, "GradScaler with gradient clipping: training is 1000 times slower"
Symptom: with AMP and clip_grad_norm_(1.0) the loss hardly moves, without clipping it does.
EXPECT: runs
TRUTH: The gradients are clipped while they are still multiplied by the scale (65536), so after unscaling they are tiny. Call
scaler.unscale_(opt) before clipping."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Amp:
    def __init__(self, model, lr=0.05, max_norm=1.0):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.scaler = torch.amp.GradScaler("cpu")
        self.max_norm = max_norm

    def forward(self, x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = self.model(x)
        return nn.functional.mse_loss(out.float(), y)

    def update(self, loss):
        self.opt.zero_grad()
        self.scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)  # CULPRIT
        self.scaler.step(self.opt)
        self.scaler.update()


x = torch.randn(256, 8)
y = x @ torch.randn(8, 2)
amp = Amp(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2)))
for it in range(200):
    loss = amp.forward(x, y)
    amp.update(loss)
    if it % 50 == 0:
        print(it, loss.item(), amp.scaler.get_scale())
print("loss", loss.item())
