"""Physics-informed network for a damped oscillator with an unknown coefficient: Adam first, then L-BFGS with a closure."""
import torch
import torch.nn as nn


class Oscillator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
        self.mu = nn.Parameter(torch.tensor(0.1))

    def forward(self, t):
        return self.net(t)


def exact(t, mu=0.8, k=9.0):
    w = (k - mu ** 2 / 4) ** 0.5
    return torch.exp(-mu * t / 2) * torch.cos(w * t)


def residual(model, t, k=9.0):
    t = t.detach().requires_grad_(True)
    u = model(t)
    du = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    d2u = torch.autograd.grad(du.sum(), t, create_graph=True)[0]
    return d2u + model.mu * du + k * u


def total_loss(model, t_obs, u_obs, t_col):
    data = (model(t_obs) - u_obs).pow(2).mean()
    phys = residual(model, t_col).pow(2).mean()
    return data + 0.01 * phys, data, phys


def main():
    torch.manual_seed(2)
    torch.set_num_threads(1)
    t_obs = torch.linspace(0, 2, 25).view(-1, 1)
    u_obs = exact(t_obs) + 0.01 * torch.randn_like(t_obs)
    t_col = torch.linspace(0, 2, 60).view(-1, 1)
    model = Oscillator()
    adam = torch.optim.Adam(model.parameters(), lr=5e-3)
    for it in range(400):
        adam.zero_grad()
        loss, data, phys = total_loss(model, t_obs, u_obs, t_col)
        loss.backward()
        adam.step()
        if it % 100 == 0:
            print("adam %d data %.5f physics %.4f mu %.3f" % (it, data.item(), phys.item(), model.mu.item()))

    lbfgs = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=60, line_search_fn="strong_wolfe")
    evals = {"n": 0}

    def closure():
        lbfgs.zero_grad()
        loss, _, _ = total_loss(model, t_obs, u_obs, t_col)
        loss.backward()
        evals["n"] += 1
        return loss

    for outer in range(4):
        loss = lbfgs.step(closure)
        print("lbfgs %d loss %.6f mu %.3f evaluations %d" % (outer, loss.item(), model.mu.item(), evals["n"]))
    t = torch.linspace(0, 2, 200).view(-1, 1)
    with torch.no_grad():
        print("max error %.4f, damping %.3f (true 0.8)" % ((model(t) - exact(t)).abs().max().item(), model.mu.item()))


if __name__ == "__main__":
    main()
