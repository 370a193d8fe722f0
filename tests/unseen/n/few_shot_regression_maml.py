"""WRONG. The author wants MAML with an ordinary nn.Module; autograd.grad in the inner loop stops with "The differentiated Tensor at index 0 appears to not have been used in the graph".
TRUTH: "model_param = meta_param" only rebinds the loop variable, the module keeps its own parameters, so the fast weights are never used; run the module with torch.func.functional_call on the fast weights.
THREAD: https://discuss.pytorch.org/t/another-way-to-implement-maml-model-agnostic-meta-learning/164439
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

args = {
    "update_lr": 0.05,
    "meta_lr": 5e-3,
    "update_step": 2,
    "task_num": 4,
    "k_spt": 10,
    "k_qry": 15,
    "meta_iters": 25,
}


class SineTasks:
    def __init__(self, k_spt, k_qry):
        self.k_spt, self.k_qry = k_spt, k_qry

    def sample(self):
        amplitude = 0.5 + 2.0 * torch.rand(1)
        phase = math.pi * torch.rand(1)
        x = torch.rand(self.k_spt + self.k_qry, 1) * 6 - 3
        y = amplitude * torch.sin(x + phase)
        return x[:self.k_spt], y[:self.k_spt], x[self.k_spt:], y[self.k_spt:]


class Backbone(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.features = nn.Sequential(
            nn.Linear(1, hidden), nn.Tanh(),
            nn.Linear(hidden, hidden), nn.Tanh(),
        )
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.head(self.features(x))


class Meta(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.update_lr = args["update_lr"]
        self.update_step = args["update_step"]
        self.model = Backbone()
        self.names = [n for n, _ in self.model.named_parameters()]
        self.meta_params = nn.ParameterList(
            [nn.Parameter(p.detach().clone()) for p in self.model.parameters()])
        self.meta_optim = torch.optim.Adam(self.meta_params, lr=args["meta_lr"])
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.meta_optim, step_size=20, gamma=0.5)

    def run(self, fast_params, x):
        # load parameters
        for meta_param, model_param in zip(fast_params, self.model.parameters()):
            # shallow copy here
            model_param = meta_param  # CULPRIT
        return self.model(x)

    def adapt(self, x_spt, y_spt):
        fast_params = list(self.meta_params)
        for _ in range(self.update_step):
            loss = F.mse_loss(self.run(fast_params, x_spt), y_spt)
            grad = torch.autograd.grad(loss, fast_params, create_graph=True)
            fast_params = list(map(lambda p: p[1] - self.update_lr * p[0], zip(grad, fast_params)))
        return fast_params

    def forward(self, tasks):
        losses_q, before = [], 0.0
        for x_spt, y_spt, x_qry, y_qry in tasks:
            fast_params = self.adapt(x_spt, y_spt)
            losses_q.append(F.mse_loss(self.run(fast_params, x_qry), y_qry))
            with torch.no_grad():
                before += F.mse_loss(self.run(list(self.meta_params), x_qry), y_qry).item()
        loss_q = torch.stack(losses_q).mean()
        self.meta_optim.zero_grad()
        loss_q.backward()
        nn.utils.clip_grad_norm_(self.meta_params, 5.0)
        self.meta_optim.step()
        self.scheduler.step()
        return before / len(tasks), loss_q.item()


def main():
    tasks = SineTasks(args["k_spt"], args["k_qry"])
    maml = Meta(args)
    for it in range(args["meta_iters"]):
        before, after = maml([tasks.sample() for _ in range(args["task_num"])])
        if it % 6 == 0:
            print(f"iter {it:3d} query loss before adaptation {before:.3f} after {after:.3f}")


if __name__ == "__main__":
    main()
