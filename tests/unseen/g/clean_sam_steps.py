"""CORRECT. Sharpness-aware minimisation with explicit first_step and second_step: the weights are moved in place between two forward-backward passes and moved back, step() with a closure is not used.
THREAD: https://github.com/romilbert/samformer/issues/14
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SAM(torch.optim.Optimizer):
    """ SAM: Sharpness-Aware Minimization """

    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        assert rho >= 0.0, f"Invalid rho, should be non-negative: {rho}"
        defaults = dict(rho=rho, adaptive=adaptive, **kwargs)
        super(SAM, self).__init__(params, defaults)
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        grad_norm = self._grad_norm()
        for group in self.param_groups:
            scale = group["rho"] / (grad_norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                e_w = (torch.pow(p, 2) if group["adaptive"] else 1.0) * p.grad * scale.to(p)
                p.add_(e_w)  # climb to the local maximum "w + e(w)"
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]  # get back to "w" from "w + e(w)"
        self.base_optimizer.step()  # do the actual "sharpness-aware" update
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def step(self, closure=None):
        assert closure is not None, "Sharpness Aware Minimization requires closure, but it was not provided"
        closure = torch.enable_grad()(closure)
        self.first_step(zero_grad=True)
        closure()
        self.second_step()

    def _grad_norm(self):
        norm = torch.norm(torch.stack([
            ((torch.abs(p) if group["adaptive"] else 1.0) * p.grad).norm(p=2)
            for group in self.param_groups for p in group["params"] if p.grad is not None]), p=2)
        return norm


class RevIN(nn.Module):
    """Reversible instance normalisation."""

    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.affine_weight = nn.Parameter(torch.ones(num_features))
        self.affine_bias = nn.Parameter(torch.zeros(num_features))

    def forward(self, x, mode):
        if mode == 'norm':
            self.mean = x.mean(1, keepdim=True).detach()
            self.stdev = torch.sqrt(x.var(1, keepdim=True, unbiased=False) + self.eps).detach()
            return (x - self.mean) / self.stdev * self.affine_weight + self.affine_bias
        x = (x - self.affine_bias) / (self.affine_weight + self.eps * self.eps)
        return x * self.stdev + self.mean


class SAMFormerArchitecture(nn.Module):
    def __init__(self, num_channels, seq_len, hid_dim, pred_horizon):
        super().__init__()
        self.revin = RevIN(num_channels)
        self.compute_keys = nn.Linear(seq_len, hid_dim)
        self.compute_queries = nn.Linear(seq_len, hid_dim)
        self.compute_values = nn.Linear(seq_len, seq_len)
        self.linear_forecaster = nn.Linear(seq_len, pred_horizon)

    def forward(self, x):
        x_norm = self.revin(x.transpose(1, 2), mode='norm').transpose(1, 2)  # (n, D, L)
        queries = self.compute_queries(x_norm)
        keys = self.compute_keys(x_norm)
        values = self.compute_values(x_norm)
        att_score = F.scaled_dot_product_attention(queries, keys, values)
        out = self.linear_forecaster(x_norm + att_score)
        return self.revin(out.transpose(1, 2), mode='denorm').transpose(1, 2)


class SAMFormer:
    def __init__(self, hid_dim=12, learning_rate=3e-3, batch_size=64, num_epochs=10, rho=0.3, random_state=0):
        self.hid_dim, self.learning_rate, self.batch_size = hid_dim, learning_rate, batch_size
        self.num_epochs, self.rho = num_epochs, rho
        self.criterion = nn.MSELoss()
        torch.manual_seed(random_state)

    def fit(self, x, y):
        self.network = SAMFormerArchitecture(x.shape[1], x.shape[2], self.hid_dim, y.shape[2])
        self.network.train()
        optimizer = SAM(self.network.parameters(), base_optimizer=torch.optim.Adam, rho=self.rho,
                        lr=self.learning_rate, weight_decay=1e-5)
        for epoch in range(self.num_epochs):
            losses = []
            for idx in torch.randperm(len(x)).split(self.batch_size):
                out_batch = self.network(x[idx])
                loss = self.criterion(out_batch, y[idx])
                loss.backward()
                optimizer.first_step(zero_grad=True)

                out_batch = self.network(x[idx])
                self.criterion(out_batch, y[idx]).backward()
                optimizer.second_step(zero_grad=True)
                losses.append(loss.item())
            if epoch % 3 == 0:
                print('epoch %d train mse %.4f' % (epoch, np.mean(losses)))

    @torch.no_grad()
    def predict(self, x):
        self.network.eval()
        return self.network(x)


def series(n=1400, channels=3, seed=0):
    rng, t = np.random.default_rng(seed), np.arange(n)
    rows = [np.sin(2 * np.pi * t / p) + 0.002 * c * t + 0.15 * rng.normal(size=n) for c, p in enumerate((24, 31, 12))]
    return torch.tensor(np.stack(rows[:channels]), dtype=torch.float32)


if __name__ == '__main__':
    data, L, H = series(), 36, 12
    starts = range(0, data.shape[1] - L - H)
    X, Y = torch.stack([data[:, s:s + L] for s in starts]), torch.stack([data[:, s + L:s + L + H] for s in starts])
    model = SAMFormer()
    model.fit(X[:900], Y[:900])
    print('test mse %.4f' % F.mse_loss(model.predict(X[1000:]), Y[1000:]).item())
