"""Stack Overflow, "Adding hidden layers does not change the number of parameters"
Symptom: I pass n_hidden=4 but the training is as bad as with a linear model.
EXPECT: runs
TRUTH: The hidden layers are kept in a plain Python list, so they are not registered and
parameters() misses them: they stay random. Use nn.ModuleList."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self, n_in, n_hidden, width):
        super().__init__()
        sizes = [n_in] + [width] * n_hidden
        self.hidden = [nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])]  # CULPRIT
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        for layer in self.hidden:
            x = torch.tanh(layer(x))
        return self.out(x)


def target(x):
    return torch.sin(3 * x[:, :1]) * x[:, 1:2]


x = torch.rand(300, 2) * 4 - 2
y = target(x)
net = MLP(2, 4, 16)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
mse = nn.MSELoss()

for epoch in range(300):
    opt.zero_grad()
    loss = mse(net(x), y)
    loss.backward()
    opt.step()
    if epoch % 100 == 0:
        print(epoch, loss.item())
print("final", loss.item(), "variance", y.var().item())
