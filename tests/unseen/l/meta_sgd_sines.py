"""WRONG. Meta training with learned per-parameter learning rates runs and the loss goes down a bit, but the learning rates are the same at the end as at the start.
TRUTH: the inner update writes through params[name].data, so the adapted weights are no function of task_lr (nor of the inner gradient) for autograd; build new tensors: params[name] = params[name] - self.task_lr[name] * g.
THREAD: https://github.com/KanishJebaMathewM/Truxify/issues/13118
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

CONFIG = {
    "inner_steps": 2,
    "task_lr": 0.02,
    "meta_lr": 5e-3,
    "meta_batch": 4,
    "k_support": 10,
    "k_query": 15,
    "iterations": 60,
}


class SineNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.l1 = nn.Linear(1, hidden)
        self.l2 = nn.Linear(hidden, hidden)
        self.l3 = nn.Linear(hidden, 1)

    def functional(self, x, params):
        x = F.relu(F.linear(x, params["l1.weight"], params["l1.bias"]))
        x = F.relu(F.linear(x, params["l2.weight"], params["l2.bias"]))
        return F.linear(x, params["l3.weight"], params["l3.bias"])


class MetaLearner(nn.Module):
    def __init__(self, model, config):
        super().__init__()
        self.model = model
        self.inner_steps = config["inner_steps"]
        self.names = [n for n, _ in model.named_parameters()]
        self.lrs = nn.ParameterList([nn.Parameter(torch.full_like(p, config["task_lr"])) for p in model.parameters()])
        self.criterion = nn.MSELoss()

    @property
    def task_lr(self):
        return dict(zip(self.names, self.lrs))

    def cloned_params(self):
        return {n: p.clone() for n, p in self.model.named_parameters()}

    def inner_update(self, support_x, support_y):
        params = self.cloned_params()
        task_lr = self.task_lr
        for _ in range(self.inner_steps):
            loss = self.criterion(self.model.functional(support_x, params), support_y)
            grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
            for name, g in zip(self.names, grads):
                params[name].data -= task_lr[name] * g  # CULPRIT
        return params

    def forward(self, tasks):
        meta_loss = 0.0
        for support_x, support_y, query_x, query_y in tasks:
            adapted = self.inner_update(support_x, support_y)
            pred = self.model.functional(query_x, adapted)
            meta_loss = meta_loss + self.criterion(pred, query_y)
        return meta_loss / len(tasks)


class SineTasks:
    def __init__(self, k_support, k_query):
        self.k_support, self.k_query = k_support, k_query

    def sample_task(self):
        amplitude = 0.5 + 3.0 * torch.rand(1)
        phase = 3.1416 * torch.rand(1)
        x = 10 * torch.rand(self.k_support + self.k_query, 1) - 5
        y = amplitude * torch.sin(x + phase)
        k = self.k_support
        return x[:k], y[:k], x[k:], y[k:]

    def sample_batch(self, n):
        return [self.sample_task() for _ in range(n)]


def evaluate(learner, tasks):
    losses = []
    for support_x, support_y, query_x, query_y in tasks:
        adapted = learner.inner_update(support_x, support_y)
        with torch.no_grad():
            pred = learner.model.functional(query_x, adapted)
            losses.append(F.mse_loss(pred, query_y).item())
    return sum(losses) / len(losses)


def main():
    torch.manual_seed(0)
    sampler = SineTasks(CONFIG["k_support"], CONFIG["k_query"])
    learner = MetaLearner(SineNet(), CONFIG)
    optimizer = torch.optim.Adam(learner.parameters(), lr=CONFIG["meta_lr"])
    eval_tasks = sampler.sample_batch(20)
    for it in range(CONFIG["iterations"]):
        meta_loss = learner(sampler.sample_batch(CONFIG["meta_batch"]))
        optimizer.zero_grad()
        meta_loss.backward()
        nn.utils.clip_grad_norm_(learner.parameters(), 10.0)
        optimizer.step()
        if it % 20 == 0:
            print(it, "meta loss", round(meta_loss.item(), 3))
    print("eval loss", round(evaluate(learner, eval_tasks), 3))
    for name, lr in learner.task_lr.items():
        print(name, "lr min %.5f max %.5f" % (lr.min().item(), lr.max().item()))


if __name__ == "__main__":
    main()
