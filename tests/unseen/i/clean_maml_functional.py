"""CORRECT. Second order MAML with fast weights in an OrderedDict: meta_batch_loss.backward() differentiates through the inner updates back to the model's own parameters (asked whether the model parameters are missed; they are reached by the double backward).
THREAD: https://github.com/oscarknagg/few-shot/issues/9
"""
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class FewShotRegressor(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.l1 = nn.Linear(1, width)
        self.l2 = nn.Linear(width, width)
        self.logits = nn.Linear(width, 1)

    def forward(self, x):
        return self.functional_forward(x, OrderedDict(self.named_parameters()))

    def functional_forward(self, x, weights):
        x = torch.tanh(F.linear(x, weights['l1.weight'], weights['l1.bias']))
        x = torch.tanh(F.linear(x, weights['l2.weight'], weights['l2.bias']))
        return F.linear(x, weights['logits.weight'], weights['logits.bias'])


def meta_gradient_step(model, optimiser, loss_fn, tasks, inner_train_steps, inner_lr, train, order=2):
    create_graph = order == 2 and train
    task_losses = []
    for x_task_train, y, x_task_val, y_val in tasks:
        fast_weights = OrderedDict(model.named_parameters())
        for inner_batch in range(inner_train_steps):
            logits = model.functional_forward(x_task_train, fast_weights)
            loss = loss_fn(logits, y)
            gradients = torch.autograd.grad(loss, fast_weights.values(), create_graph=create_graph)
            fast_weights = OrderedDict(
                (name, param - inner_lr * grad)
                for ((name, param), grad) in zip(fast_weights.items(), gradients))
        logits = model.functional_forward(x_task_val, fast_weights)
        task_losses.append(loss_fn(logits, y_val))

    meta_batch_loss = torch.stack(task_losses).mean()
    if train:
        model.train()
        optimiser.zero_grad()
        meta_batch_loss.backward()
        optimiser.step()
    return meta_batch_loss.item()


def sine_task(k=10):
    amp = torch.rand(1) * 3 + 0.5
    phase = torch.rand(1) * 3.14
    x = torch.rand(2 * k, 1) * 10 - 5
    y = amp * torch.sin(x + phase)
    return x[:k], y[:k], x[k:], y[k:]


meta_model = FewShotRegressor()
meta_optimiser = torch.optim.Adam(meta_model.parameters(), lr=4e-3)
log = []
for episode in range(500):
    tasks = [sine_task() for _ in range(5)]
    log.append(meta_gradient_step(meta_model, meta_optimiser, nn.MSELoss(), tasks, 1, 0.05, train=True))
    if episode % 125 == 124:
        print('episode %d meta loss %.4f' % (episode + 1, sum(log[-50:]) / 50))
test_tasks = [sine_task() for _ in range(100)]
for steps in (0, 1, 3):
    print('%d inner steps: %.4f' % (steps, meta_gradient_step(
        meta_model, None, nn.MSELoss(), test_tasks, steps, 0.05, train=False)))
