"""WRONG. RuntimeError: a leaf Variable that requires grad is being used in an in-place operation, at the hand-written update of s_batch.
TRUTH: s_batch is a leaf that requires grad and is changed in place while autograd records; make the step under torch.no_grad() (or out of place: s_batch = s_batch - lr * s_batch.grad).
THREAD: https://github.com/BaiTheBest/SparseLLM/issues/13
"""
import torch
import torch.nn as nn

torch.manual_seed(7)


class FFN(nn.Module):
    def __init__(self, d_model=24, d_ff=64):
        super().__init__()
        self.fc1 = nn.Linear(d_model, d_ff)
        self.fc2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(x)))


def calibration(n=256, d=24):
    mix = torch.randn(d, d) / d ** 0.5
    return torch.randn(n, d) @ mix


def magnitude_prune(weight, sparsity):
    k = int(weight.numel() * sparsity)
    thresh = weight.abs().flatten().kthvalue(k).values
    return torch.where(weight.abs() > thresh, weight, torch.zeros_like(weight))


class GlobalPruner:
    """Alternates over the weights, the pre-activations z and the activations p of a feed-forward layer."""

    def __init__(self, layer, sparsity=0.5, alpha=5.0, beta=5.0, gamma=5.0):
        self.layer, self.sparsity = layer, sparsity
        self.alpha, self.beta, self.gamma = alpha, beta, gamma

    @torch.no_grad()
    def init_states(self, x):
        z = self.layer.fc1(x)
        p = torch.relu(z)
        out = self.layer.fc2(p)
        return z.t().contiguous(), p.t().contiguous(), out.t().contiguous()

    @torch.no_grad()
    def ridge_weight(self, inputs, targets, bias, lam=1e-2):
        gram = inputs @ inputs.t() + lam * torch.eye(inputs.shape[0])
        w = (targets - bias[:, None]) @ inputs.t() @ torch.linalg.inv(gram)
        return magnitude_prune(w, self.sparsity)

    def update_s(self, s, x_t, out, s_learning_rate=0.02, chunk_size=64):
        w1, b1 = self.layer.fc1.weight.detach(), self.layer.fc1.bias.detach()
        w2, b2 = self.layer.fc2.weight.detach(), self.layer.fc2.bias.detach()
        total = 0.0
        for start in range(0, s.shape[1], chunk_size):
            chunk = slice(start, start + chunk_size)
            s_batch = s[:, chunk].clone().requires_grad_(True)
            z_hat = w1 @ x_t[:, chunk] + b1[:, None]
            loss_s = self.beta * torch.nn.functional.mse_loss(s_batch, z_hat)
            loss_s = loss_s + self.gamma * torch.nn.functional.mse_loss(w2 @ torch.relu(s_batch) + b2[:, None], out[:, chunk])
            loss_s.backward()
            s_batch -= s_learning_rate * s_batch.grad  # CULPRIT
            s_batch.grad.zero_()
            s[:, chunk] = s_batch.detach()
            total += loss_s.item()
        return total

    def run(self, x, opt_epochs=10):
        z, p, out = self.init_states(x)
        x_t = x.t().contiguous()
        s = z.clone()
        for epoch in range(opt_epochs):
            with torch.no_grad():
                self.layer.fc1.weight.copy_(self.ridge_weight(x_t, s, self.layer.fc1.bias))
                p = torch.relu(s)
                self.layer.fc2.weight.copy_(self.ridge_weight(p, out, self.layer.fc2.bias))
            loss = self.update_s(s, x_t, out)
            with torch.no_grad():
                err = (self.layer.fc2(torch.relu(self.layer.fc1(x))) - out.t()).pow(2).mean().item()
            print('epoch %d  loss %.4f  output error %.5f' % (epoch, loss, err))


def main():
    layers = nn.ModuleList([FFN() for _ in range(2)])
    inps = calibration()
    for i, layer in enumerate(layers):
        print('layer', i)
        pruner = GlobalPruner(layer)
        pruner.run(inps)
        with torch.no_grad():
            inps = layer(inps)
        zeros = float((layer.fc1.weight == 0).float().mean())
        print('  fc1 sparsity %.2f' % zeros)


if __name__ == '__main__':
    main()
