"""WRONG. The discharge fits a bit, but the melt factor f and the other physical parameters of the hydrological ODE stay at their first guess; their .grad is None.
TRUTH: the inputs of ET_net and Q_net are built with torch.tensor([...]) from the states, which copies the numbers and cuts the graph through S_snow and S_water; use torch.stack([...]).
THREAD: https://github.com/rtqichen/torchdiffeq/issues/226
"""
import torch
import torch.nn as nn


def step_fct(x):
    return (torch.tanh(5.0 * x) + 1.0) * 0.5


def Ps(p, temp, tmin):
    return step_fct(tmin - temp) * p


def Pr(p, temp, tmin):
    return step_fct(temp - tmin) * p


def M(s_snow, temp, f, tmax):
    return step_fct(temp - tmax) * step_fct(s_snow) * torch.minimum(s_snow, f * torch.relu(temp - tmax))


class Interp:
    def __init__(self, t, values):
        self.t, self.values = t, values

    def evaluate(self, t):
        i = min(int(t), len(self.values) - 2)
        w = float(t) - i
        return (1 - w) * self.values[i] + w * self.values[i + 1]


class M50_Func(nn.Module):
    def __init__(self, ET_net, Q_net, params, interps):
        super().__init__()
        self.f, self.Tmax, self.Tmin = [nn.Parameter(torch.tensor(p)) for p in params]
        self.ET_net = ET_net
        self.Q_net = Q_net
        self.precp_interp, self.temp_interp = interps

    def fluxes(self, t, S):
        S_snow, S_water = S[0], S[1]
        precp = self.precp_interp.evaluate(t)
        temp = self.temp_interp.evaluate(t)
        inputs = torch.tensor([S_snow, S_water, temp, precp])  # CULPRIT
        et = torch.exp(self.ET_net(inputs[:3]))[0] * 0.1 * step_fct(S_water)
        q = torch.exp(self.Q_net(inputs[1:]))[0]
        return precp, temp, et, q

    def forward(self, t, S):
        precp, temp, et, q = self.fluxes(t, S)
        melt = M(S[0], temp, self.f, self.Tmax)
        dS_snow = Ps(precp, temp, self.Tmin) - melt
        dS_water = Pr(precp, temp, self.Tmin) + melt - et - q
        return torch.stack([dS_snow, dS_water])


def odeint(func, y0, t, method="midpoint"):
    ys = [y0]
    for t0, t1 in zip(t[:-1], t[1:]):
        h, y = t1 - t0, ys[-1]
        k1 = func(t0, y)
        ys.append(y + h * func(t0 + 0.5 * h, y + 0.5 * h * k1))
    return torch.stack(ys)


class TrueQ(nn.Module):
    def forward(self, x):
        return torch.log(0.15 * torch.relu(x[..., :1]) + 0.02)


class TrueET(nn.Module):
    def forward(self, x):
        return torch.log(torch.relu(x[..., 1:2]) * 0.3 + 0.05)


def make_net(n_in):
    net = nn.Sequential(nn.Linear(n_in, 12), nn.Tanh(), nn.Linear(12, 1))
    nn.init.constant_(net[-1].bias, -1.0)
    return net


def simulate(func, y0, t):
    states = odeint(func, y0, t)
    return torch.stack([func.fluxes(ti, s)[3] for ti, s in zip(t, states)]), states


def main():
    torch.manual_seed(0)
    T = 16
    t = torch.arange(T, dtype=torch.float32)
    temp = 4.0 * torch.sin(t / T * 9.0 - 1.2)
    precp = torch.rand(T) * 2.0
    interps = (Interp(t, precp), Interp(t, temp))
    y0 = torch.tensor([3.0, 2.0])

    truth = M50_Func(TrueET(), TrueQ(), (1.2, 0.5, 0.0), interps)
    with torch.no_grad():
        q_obs, _ = simulate(truth, y0, t)

    func = M50_Func(make_net(3), make_net(3), (0.4, 0.2, -0.4), interps)
    physical = [func.f, func.Tmax, func.Tmin]
    optimizer = torch.optim.Adam([
        {"params": physical, "lr": 2e-2},
        {"params": list(func.ET_net.parameters()) + list(func.Q_net.parameters()), "lr": 1e-2},
    ])
    start = [p.item() for p in physical]
    for it in range(25):
        q_sim, _ = simulate(func, y0, t)
        loss = (q_sim - q_obs).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(func.parameters(), 5.0)
        optimizer.step()
        if it % 10 == 0:
            print(it, "loss", round(loss.item(), 5), "f grad", func.f.grad)
    nse = 1 - (q_sim - q_obs).pow(2).sum() / (q_obs - q_obs.mean()).pow(2).sum()
    print("NSE", round(nse.item(), 3))
    for name, s, p in zip(("f", "Tmax", "Tmin"), start, physical):
        print(name, "start", round(s, 4), "end", round(p.item(), 4))


if __name__ == "__main__":
    main()
