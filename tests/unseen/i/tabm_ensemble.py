"""WRONG. Gradient clipping is switched on in the example, but single bad batches still throw the training far off.
TRUTH: clip_grad_norm_ is called before backward(), where the gradients are empty after zero_grad, so it does not do anything; it belongs between backward() and step().
THREAD: https://github.com/yandex-research/tabm/issues/20
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ScaleEnsemble(nn.Module):
    def __init__(self, k, d):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(k, d))
        with torch.no_grad():
            self.weight.bernoulli_(0.5).mul_(2).add_(-1)

    def forward(self, x):
        return x * self.weight


class TabM(nn.Module):
    def __init__(self, n_num_features, d_block=32, k=4):
        super().__init__()
        self.k = k
        self.minimal_ensemble_adapter = ScaleEnsemble(k, n_num_features)
        self.block1 = nn.Linear(n_num_features, d_block)
        self.block2 = nn.Linear(d_block, d_block)
        self.out_weight = nn.Parameter(torch.randn(k, d_block) * d_block ** -0.5)
        self.out_bias = nn.Parameter(torch.zeros(k))

    def forward(self, x_num):
        x = x_num.unsqueeze(1).expand(-1, self.k, -1)
        x = self.minimal_ensemble_adapter(x)
        x = F.relu(self.block2(F.relu(self.block1(x))))
        return (x * self.out_weight).sum(-1) + self.out_bias


def loss_fn(y_pred, y_true):
    # every one of the k predictions is trained separately
    k = y_pred.shape[1]
    return F.mse_loss(y_pred.flatten(0, 1), y_true.repeat_interleave(k))


def make_table(n, outliers=0.0):
    x = torch.randn(n, 8)
    y = x[:, 0] * x[:, 1] + torch.sin(2 * x[:, 2]) + 0.1 * torch.randn(n)
    bad = torch.rand(n) < outliers
    y[bad] += 3000 * torch.sign(torch.randn(int(bad.sum())))
    return x, y


gradient_clipping_norm = 1.0
x_train, y_train = make_table(4000, outliers=0.002)
x_val, y_val = make_table(1000)
model = TabM(8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)


@torch.inference_mode()
def evaluate():
    model.eval()
    y_pred = model(x_val).mean(1)
    return (y_pred - y_val).pow(2).mean().sqrt().item()


print('before training: rmse %.4f' % evaluate())
for epoch in range(10):
    batches = torch.randperm(len(x_train)).split(64)
    for batch_idx in batches:
        model.train()
        optimizer.zero_grad()
        loss = loss_fn(model(x_train[batch_idx]), y_train[batch_idx])
        if gradient_clipping_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), gradient_clipping_norm)  # CULPRIT
        loss.backward()
        optimizer.step()
    if epoch % 2 == 1:
        print('epoch %d val rmse %.4f' % (epoch, evaluate()))
