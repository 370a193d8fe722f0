"""CORRECT. EMA of parameters with buffers copied; for evaluation the EMA tensors are swapped into the live model and the stored
weights are put back before the training goes on. Integer buffers are copied, not averaged.
THREAD: https://github.com/huggingface/diffusers/issues/2321 (store/copy_to/restore) and lucidrains/ema-pytorch#8
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class EMAModel:
    def __init__(self, model, decay=0.99):
        self.decay = decay
        self.step = 0
        self.shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}
        self.backup = None

    def get_decay(self):
        return min(self.decay, (1 + self.step) / (10 + self.step))

    @torch.no_grad()
    def update(self, model):
        self.step += 1
        d = self.get_decay()
        params = dict(model.named_parameters())
        for k, v in model.state_dict().items():
            if k in params:
                self.shadow[k].lerp_(v, 1 - d)
            else:
                self.shadow[k].copy_(v)

    def copy_to(self, model):
        self.backup = {k: v.detach().clone() for k, v in model.state_dict().items()}
        model.load_state_dict(self.shadow)

    def restore(self, model):
        model.load_state_dict(self.backup)
        self.backup = None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64), nn.BatchNorm1d(64),
                                 nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def sample(n):
    x = torch.randn(n, 10) * 2 + 1
    return x, torch.sin(x[:, 0]) + 0.5 * x[:, 1] * torch.tanh(x[:, 2])


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    mse = F.mse_loss(model(x), y).item()
    model.train()
    return mse


def main():
    torch.manual_seed(0)
    model = Net()
    ema = EMAModel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    xv, yv = sample(1000)
    losses = []
    for it in range(1, 501):
        x, y = sample(64)
        y = y + 0.5 * torch.randn_like(y)
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
        losses.append(loss.item())
        if it % 100 == 0:
            live = evaluate(model, xv, yv)
            ema.copy_to(model)
            averaged = evaluate(model, xv, yv)
            ema.restore(model)
            print(f'iter {it} loss {sum(losses[-100:]) / 100:.4f} val live {live:.4f} val ema {averaged:.4f}')


main()
