"""What the user sees: meta training does nothing. The query loss after adaptation is the same in each epoch and the
parameters of self.model are equal to the initial ones.

TRUTH: inner_update writes through param.data on a deepcopy, so the query loss has no path to self.model's parameters;
their .grad stays None. Fix: compute fast weights out of place (w - lr * g) and run the model with them (functional_call).
THREAD: https://github.com/KanishJebaMathewM/Truxify/issues/13118 "MAML inner-loop param.data -= detaches the graph"
"""
import copy

import torch
import torch.nn as nn


class DemandNet(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                                    nn.Linear(hidden, 1))

    def forward(self, x):
        return self.layers(x)


class MetaLearner:
    def __init__(self, model, inner_lr=0.05, outer_lr=2e-3, inner_steps=3):
        self.model = model
        self.inner_lr = inner_lr
        self.inner_steps = inner_steps
        self.criterion = nn.MSELoss()
        self.meta_optimizer = torch.optim.Adam(self.model.parameters(), lr=outer_lr)

    def inner_update(self, model, support_x, support_y):
        adapted_model = copy.deepcopy(model)
        for _ in range(self.inner_steps):
            loss = self.criterion(adapted_model(support_x), support_y)
            grads = torch.autograd.grad(loss, adapted_model.parameters(), create_graph=True)
            for param, grad in zip(adapted_model.parameters(), grads):
                param.data -= self.inner_lr * grad  # CULPRIT
        return adapted_model

    def outer_update(self, meta_loss):
        self.meta_optimizer.zero_grad()
        meta_loss.backward()
        self.meta_optimizer.step()

    def meta_train_step(self, tasks):
        meta_loss = 0.
        for support_x, support_y, query_x, query_y in tasks:
            adapted_model = self.inner_update(self.model, support_x, support_y)
            pred = adapted_model(query_x)
            meta_loss = meta_loss + self.criterion(pred, query_y)
        meta_loss = meta_loss / len(tasks)
        self.outer_update(meta_loss)
        return meta_loss.item()


def sample_tasks(n, k=10):
    tasks = []
    for _ in range(n):
        amp, phase = 1 + 2 * torch.rand(()), torch.rand(()) * 1.5
        xs, xq = torch.rand(k, 1) * 6 - 3, torch.rand(k, 1) * 6 - 3
        tasks.append((xs, amp * torch.sin(xs + phase), xq, amp * torch.sin(xq + phase)))
    return tasks


def main():
    torch.manual_seed(0)
    learner = MetaLearner(DemandNet())
    start = copy.deepcopy(learner.model.state_dict())
    losses = []
    for it in range(1, 251):
        losses.append(learner.meta_train_step(sample_tasks(4)))
        if it % 50 == 0:
            moved = max((v - start[k]).abs().max().item() for k, v in learner.model.state_dict().items())
            print(f'meta iteration {it} query loss {sum(losses[-50:]) / 50:.4f} parameters moved {moved:.5f}')


if __name__ == '__main__':
    main()
