"""What the user sees: everything worked, but after I moved the sequences to the device/dtype of my model the gradient
of x is empty: ".grad attribute of a Tensor that is not a leaf Tensor is being accessed" and then
TypeError: unsupported operand type(s) for *: 'float' and 'NoneType'.

TRUTH: requires_grad=True is set on the tensor that was created before .to(...); the result of .to is a non-leaf, so its
.grad stays None. Fix: create it on the device with the dtype (or call requires_grad_() after .to).
THREAD: https://github.com/Maghoumi/pytorch-softdtw-cuda/issues/25 "Gradients are gone when moving the code to CUDA"
"""
import torch
import torch.nn as nn


class SoftDTW(nn.Module):
    def __init__(self, gamma=1.0, normalize=False):
        super().__init__()
        self.gamma = gamma
        self.normalize = normalize

    def _softmin(self, a, b, c):
        stacked = torch.stack([a, b, c], dim=-1)
        return -self.gamma * torch.logsumexp(-stacked / self.gamma, dim=-1)

    def _dtw(self, X, Y):
        D = ((X.unsqueeze(2) - Y.unsqueeze(1)) ** 2).sum(3)
        B, N, M = D.shape
        inf = torch.full((B,), 1e5, dtype=D.dtype, device=D.device)
        R = {(0, 0): torch.zeros(B, dtype=D.dtype, device=D.device)}
        for i in range(1, N + 1):
            R[i, 0] = inf
        for j in range(1, M + 1):
            R[0, j] = inf
        for i in range(1, N + 1):
            for j in range(1, M + 1):
                R[i, j] = D[:, i - 1, j - 1] + self._softmin(R[i - 1, j - 1], R[i - 1, j], R[i, j - 1])
        return R[N, M]

    def forward(self, X, Y):
        if self.normalize:
            return self._dtw(X, Y) - 0.5 * (self._dtw(X, X) + self._dtw(Y, Y))
        return self._dtw(X, Y)


def fit(x, y, sdtw, lr=0.05, steps=40):
    for step in range(steps):
        loss = sdtw(x, y).mean()
        loss.backward()
        if step % 10 == 0:
            print('step', step, 'loss', loss.item(), 'x.grad is None:', x.grad is None)
        with torch.no_grad():
            x -= lr * x.grad
            x.grad.zero_()
    return x


def main():
    torch.manual_seed(0)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    dtype = torch.float64

    batch_size, len_x, len_y, dims = 8, 7, 6, 3
    x = torch.rand((batch_size, len_x, dims), requires_grad=True)  # CULPRIT
    y = torch.rand((batch_size, len_y, dims)) * 2 - 1

    x = x.to(device, dtype)  # CULPRIT
    y = y.to(device, dtype)

    sdtw = SoftDTW(gamma=0.1, normalize=True)
    x = fit(x, y, sdtw)
    print('final alignment cost', sdtw(x, y).mean().item())


if __name__ == '__main__':
    main()
