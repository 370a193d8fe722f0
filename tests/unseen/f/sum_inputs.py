"""What the user sees: I want to train the model to sum the three inputs, so it is as simple as possible. It gives a
bad error estimate (approx. 0.5) and can't learn this simple formula.

TRUTH: the model output has shape [N, 1], the target [N]; MSELoss broadcasts them to [N, N], so the best the model can do
is the mean. Fix: y.unsqueeze(1) (or out.squeeze(1)).
THREAD: https://discuss.pytorch.org/t/output-of-the-model-depends-on-the-shape-of-the-weights-tensor/148155
"""
import torch
from torch.nn import Linear as Lin
from torch.nn import Sequential as Seq
from torch.optim.lr_scheduler import ReduceLROnPlateau


class Summer(torch.nn.Module):
    def __init__(self, n_inputs):
        super().__init__()
        self.m = Seq(Lin(n_inputs, 1, bias=False))

    def forward(self, x):
        return self.m(x)


def dataset(n):
    X = torch.rand((n, 3))
    y = (X[:, 0] + X[:, 1] + X[:, 2])
    return X, y


def run(model, X, y, epochs=500):
    optim = torch.optim.SGD(model.parameters(), lr=10e-2)
    scheduler = ReduceLROnPlateau(optim, 'min', factor=0.5, patience=20)
    mse = torch.nn.MSELoss()
    for epoch in range(epochs):
        optim.zero_grad()
        out = model(X)
        loss = mse(out, y)  # CULPRIT
        loss.backward()
        optim.step()
        scheduler.step(loss)
        if epoch % 50 == 0:
            print('epoch', epoch, 'loss', loss.item(), 'lr', optim.param_groups[0]['lr'])


def main():
    torch.manual_seed(0)
    X, y = dataset(1024)
    model = Summer(3)
    run(model, X, y)
    print('weights', model.m[0].weight.data)
    test = torch.tensor([[0.1, 0.2, 0.3], [0.9, 0.8, 0.7]])
    print('0.6 ->', model(test)[0].item(), '  2.4 ->', model(test)[1].item())


if __name__ == '__main__':
    main()
