"""uvm-neurobotics-lab/ANML#3, "FIrst order gradients are used for outer loop optimization"
Symptom: the outer loop only gets first order gradients; meta-training is slower and the loss after adaptation is worse than in the paper.
EXPECT: runs
TRUTH: torch.autograd.grad in the inner loop is called without create_graph=True, so the meta-gradient does not go through the inner update.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(25)
torch.set_num_threads(1)


class SineTasks:
    def sample(self, n_tasks, k):
        amp = 1.0 + torch.rand(n_tasks, 1, 1)
        phase = 6.28 * torch.rand(n_tasks, 1, 1)
        x = 6 * torch.rand(n_tasks, 2 * k, 1) - 3
        y = amp * torch.sin(x + phase)
        return x[:, :k], y[:, :k], x[:, k:], y[:, k:]


class Learner(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.vars = nn.ParameterList()
        for n_out, n_in in ((hidden, 1), (hidden, hidden), (1, hidden)):
            w = torch.empty(n_out, n_in)
            nn.init.xavier_uniform_(w)
            self.vars.append(nn.Parameter(w))
            self.vars.append(nn.Parameter(torch.zeros(n_out)))

    def forward(self, x, vars=None):
        vars = list(self.vars) if vars is None else vars
        x = torch.tanh(F.linear(x, vars[0], vars[1]))
        x = torch.tanh(F.linear(x, vars[2], vars[3]))
        return F.linear(x, vars[4], vars[5])


class MetaLearner(nn.Module):
    def __init__(self, update_lr=0.1, meta_lr=5e-3, update_step=1):
        super().__init__()
        self.net = Learner()
        self.update_step = update_step
        self.update_lr = update_lr
        self.optimizer = torch.optim.Adam(self.parameters(), lr=meta_lr)

    def inner_update(self, x, fast_weights, y):
        loss = F.mse_loss(self.net(x, fast_weights), y)
        grad = torch.autograd.grad(loss, fast_weights, allow_unused=False)  # CULPRIT
        return [w - self.update_lr * g for w, g in zip(fast_weights, grad)]

    def forward(self, x_spt, y_spt, x_qry, y_qry):
        losses = []
        for i in range(x_spt.size(0)):
            fast_weights = list(self.net.vars)
            for _ in range(self.update_step):
                fast_weights = self.inner_update(x_spt[i], fast_weights, y_spt[i])
            losses.append(F.mse_loss(self.net(x_qry[i], fast_weights), y_qry[i]))
        return torch.stack(losses).mean()

    def meta_step(self, batch):
        loss = self.forward(*batch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    tasks = SineTasks()
    maml = MetaLearner()
    running = 0.0
    for it in range(1, 501):
        running += maml.meta_step(tasks.sample(8, 10))
        if it % 100 == 0:
            print("iter %d query loss %.4f" % (it, running / 100))
            running = 0.0
    test = maml(*tasks.sample(100, 10)).item()
    print("test loss after one step: %.4f" % test)


if __name__ == "__main__":
    main()
