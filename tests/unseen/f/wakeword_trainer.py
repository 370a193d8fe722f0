"""What the user sees: I set a small batch and accumulate up to 128 samples per update, but the result is as noisy as if
there was no accumulation at all, the recall does not get where it should.

TRUTH: optimizer.zero_grad() runs at the beginning of every iteration, so the gradients of the earlier small batches are
thrown away and only the last one before step() counts. Fix: zero the gradients only after optimizer.step().
THREAD: https://github.com/dscripka/openWakeWord/issues/316 "Gradient Accumulation is wrong" (also bytetriper/RAE#67)
"""
import torch
from torch import nn


class FCNBlock(nn.Module):
    def __init__(self, layer_dim):
        super().__init__()
        self.fcn_layer = nn.Linear(layer_dim, layer_dim)
        self.relu = nn.ReLU()
        self.layer_norm = nn.LayerNorm(layer_dim)

    def forward(self, x):
        return self.relu(self.layer_norm(self.fcn_layer(x)))


class Net(nn.Module):
    def __init__(self, input_shape, layer_dim, n_blocks=1):
        super().__init__()
        self.flatten = nn.Flatten()
        self.layer1 = nn.Linear(input_shape[0] * input_shape[1], layer_dim)
        self.layernorm1 = nn.LayerNorm(layer_dim)
        self.blocks = nn.ModuleList([FCNBlock(layer_dim) for _ in range(n_blocks)])
        self.last_layer = nn.Linear(layer_dim, 1)

    def forward(self, x):
        x = torch.relu(self.layernorm1(self.layer1(self.flatten(x))))
        for block in self.blocks:
            x = block(x)
        return self.last_layer(x).squeeze(1)


class Trainer:
    def __init__(self, model, lr=0.1):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.loss = nn.BCEWithLogitsLoss(reduction='none')
        self.history = {'loss': [], 'grad': []}

    def train_model(self, X, max_steps, accumulate=128):
        accumulated_samples = 0
        updates = 0
        for step_ndx, data in zip(range(max_steps), X):
            self.optimizer.zero_grad()  # CULPRIT
            x, y = data
            predictions = self.model(x)
            w = torch.where(y == 1, 1.0, 0.5)
            loss = (self.loss(predictions, y) * w).sum() / accumulate
            loss.backward()
            accumulated_samples += len(y)
            self.history['loss'].append(loss.item() * accumulate / len(y))

            if accumulated_samples < accumulate:
                continue
            self.optimizer.step()
            accumulated_samples = 0
            updates += 1
            if updates % 20 == 0:
                recent = self.history['loss'][-160:]
                print(f'step {step_ndx:5d} updates {updates:4d} loss {sum(recent) / len(recent):.4f} '
                      f'recall {self.recall():.3f}')

    @torch.no_grad()
    def recall(self):
        x, y = clips(1000)
        return ((self.model(x) > 0) == (y == 1)).float().mean().item()


def clips(n):
    y = (torch.rand(n) < 0.5).float()
    x = torch.randn(n, 8, 12)
    x[:, 2:6] += (y * 2 - 1).view(-1, 1, 1) * torch.linspace(-.35, .35, 12)
    return x, y


def generator(batch):
    while True:
        yield clips(batch)


def main():
    torch.manual_seed(0)
    trainer = Trainer(Net((8, 12), 32))
    trainer.train_model(generator(8), max_steps=1920)


if __name__ == '__main__':
    main()
