"""WRONG. The gradients of the first module cannot be viewed: AttributeError 'NoneType' object has no attribute 'data'.
TRUTH: The output of the first module goes through an argmax (torch.max(...)[1]) before it enters the second one, which is not differentiable and cuts the graph; pass on the soft (straight-through) distribution instead.
THREAD: https://github.com/pytorch/pytorch/issues/1339
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

n_symbols, n_in, n_out = 6, 10, 3


class FirstModel(nn.Module):
    """reads the sensor vector and names a symbol"""

    def __init__(self):
        super(FirstModel, self).__init__()
        self.fc1 = nn.Linear(n_in, 32)
        self.fc2 = nn.Linear(32, n_symbols)

    def forward(self, x):
        return F.softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


class SecondModel(nn.Module):
    """maps the symbol to an output class"""

    def __init__(self):
        super(SecondModel, self).__init__()
        self.embed = nn.Linear(n_symbols, 16)
        self.out = nn.Linear(16, n_out)

    def forward(self, y):
        return self.out(torch.tanh(self.embed(y)))


def to_onehot(index):
    return F.one_hot(index, n_symbols).float()


centers = 2 * torch.randn(n_symbols, n_in)
symbol_class = torch.arange(n_symbols) % n_out


def make_batch(n):
    s = torch.randint(0, n_symbols, (n,))
    return centers[s] + 0.5 * torch.randn(n, n_in), symbol_class[s]


def grad_report(name, model):
    for n, param in model.named_parameters():
        print('  %s.%s data %.4f grad %.6f' % (
            name, n, param.data.norm().item(), param.grad.data.norm().item()))


def forward(first_model, second_model, x):
    y_p = first_model(x)
    y_p = to_onehot(torch.max(y_p, 1)[1])  # CULPRIT
    return second_model(y_p)


def main():
    first_model = FirstModel()
    second_model = SecondModel()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(
        list(first_model.parameters()) + list(second_model.parameters()), lr=5e-3)

    for step in range(1, 301):
        x, target = make_batch(64)
        first_model.zero_grad()
        second_model.zero_grad()
        scores = forward(first_model, second_model, x)
        loss = criterion(scores, target)
        loss.backward()

        if step == 1:
            grad_report('second_model', second_model)
            grad_report('first_model', first_model)

        optimizer.step()
        if step % 100 == 0:
            acc = (scores.argmax(1) == target).float().mean().item()
            print('step %d loss %.3f acc %.3f' % (step, loss.item(), acc))


if __name__ == '__main__':
    main()
