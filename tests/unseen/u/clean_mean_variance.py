"""Mean-variance portfolio: utility of returns under a factor signal."""
import torch
from torch import nn

torch.manual_seed(0)
signal = torch.randn(4096, 5)
returns = 2.0 * signal @ torch.randn(5, 8) * 0.3 + torch.randn(4096, 8)  # percent
net = nn.Linear(5, 8)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-2)
RISK = 0.02
for step in range(500):
    i = torch.randint(4096, (512,))
    weights = net(signal[i])
    pnl = (weights * returns[i]).sum(1)
    gain = pnl.mean()
    risk = 0.5 * RISK * pnl.var()
    loss = risk - gain
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, gain.item(), risk.item())
