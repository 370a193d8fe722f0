"""WRONG. RuntimeError: Trying to backward through the graph a second time, in the second gradient descent iteration of a simple recurrent network.
TRUTH: The output vector is allocated once outside the loop and only its first element is reset, so it still holds the graph of the previous iteration; detach it (or make a new one) in every iteration.
THREAD: https://discuss.pytorch.org/t/runtimeerror-trying-to-backward-through-the-graph-a-second-time-but-the-buffers-have-already-been-freed-specify-retain-graph-true-when-calling-backward-the-first-time/6795
"""
import math

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class OneNode(nn.Module):
    """y[t] = tanh(a * y[t-1] + b * u[t-1] + c)"""

    def __init__(self):
        super(OneNode, self).__init__()
        self.a = nn.Parameter(torch.tensor(0.1))
        self.b = nn.Parameter(torch.tensor(0.1))
        self.c = nn.Parameter(torch.tensor(0.0))

    def forward(self, u_t, y_t):
        return torch.tanh(self.a * y_t + self.b * u_t + self.c)


def true_system(u, a=0.8, b=0.5, c=-0.1):
    y = torch.zeros(len(u))
    for t in range(1, len(u)):
        y[t] = math.tanh(a * y[t - 1].item() + b * u[t - 1].item() + c)
    return y


def input_signal(n):
    t = torch.arange(n).float()
    return torch.sin(t / 5) + 0.5 * torch.sign(torch.sin(t / 11))


class Trainer:
    def __init__(self, model, n_steps, lr=0.03):
        self.model = model
        self.n_steps = n_steps
        self.optimizer = optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.MSELoss()
        self.yhat = torch.zeros(n_steps)

    def reset(self, y0):
        self.yhat[0] = y0  # CULPRIT

    def unroll(self, u):
        for t in range(1, self.n_steps):
            self.yhat[t] = self.model(u[t - 1], self.yhat[t - 1].clone())
        return self.yhat

    def iterate(self, u, y):
        self.reset(y[0])
        estimate = self.unroll(u)
        loss = self.criterion(estimate, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    n_steps = 60
    u = input_signal(n_steps)
    y = true_system(u)
    model = OneNode()
    trainer = Trainer(model, n_steps)
    for i in range(200):
        loss = trainer.iterate(u, y)
        if i % 40 == 0 or i == 199:
            print('iter %d loss %.6f  a %.3f b %.3f c %.3f' % (
                i, loss, model.a.item(), model.b.item(), model.c.item()))


if __name__ == '__main__':
    main()
