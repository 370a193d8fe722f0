"""Truncated BPTT over long streams; the last, short window is not trained on."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
STEPS, WINDOW = 620, 40
stream = torch.sin(torch.arange(STEPS + 1)[:, None] * torch.tensor([0.1, 0.17, 0.05, 0.3])) + 0.05 * torch.randn(STEPS + 1, 4)


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(1, 24)
        self.head = nn.Linear(24, 1)
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x, h):
        if self.training:
            with torch.no_grad():
                self.scale.lerp_(x.std(), 0.01)
        h = self.cell(x / self.scale, h)
        return self.head(h), h


net = Cell()
ema = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(3):
    h = torch.zeros(4, 24)
    loss, running, windows = 0.0, 0.0, 0
    for t in range(STEPS):
        out, h = net(stream[t][:, None], h)
        loss = loss + F.mse_loss(out, stream[t + 1][:, None])
        if (t + 1) % WINDOW == 0:
            loss = loss / WINDOW
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            ema.update_parameters(net)
            running += loss.item()
            windows += 1
            h, loss = h.detach(), 0.0
    print(epoch, running / windows)
