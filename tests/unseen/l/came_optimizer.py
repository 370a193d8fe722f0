"""WRONG. With this CAME optimizer biases and other vectors hardly move and the first moment of vectors looks far too small in the logs, matrices are fine.
TRUTH: for vectors update is exp_avg itself, and update.mul_(lr) then scales the momentum buffer in the state at every step; take update = exp_avg.clone().
THREAD: https://github.com/yangluo7/CAME/issues/2
"""
import torch
import torch.nn as nn
import torch.optim


class CAME(torch.optim.Optimizer):
    def __init__(self, params, lr=None, eps=(1e-30, 1e-16), clip_threshold=1.0, betas=(0.9, 0.999, 0.9999),
                 weight_decay=0.0):
        defaults = dict(lr=lr, eps=eps, clip_threshold=clip_threshold, betas=betas, weight_decay=weight_decay)
        super().__init__(params, defaults)

    def _get_options(self, param_shape):
        return len(param_shape) >= 2

    def _rms(self, tensor):
        return tensor.norm(2) / (tensor.numel() ** 0.5)

    def _approx_sq_grad(self, exp_avg_sq_row, exp_avg_sq_col):
        r_factor = (exp_avg_sq_row / exp_avg_sq_row.mean(dim=-1, keepdim=True)).rsqrt_().unsqueeze(-1)
        c_factor = exp_avg_sq_col.unsqueeze(-2).rsqrt()
        return torch.mul(r_factor, c_factor)

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            b1, b2, b3 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad
                state = self.state[p]
                factored = self._get_options(grad.shape)
                if len(state) == 0:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(grad)
                    if factored:
                        for key in ("exp_avg_sq", "exp_avg_res"):
                            state[key + "_row"] = torch.zeros(grad.shape[:-1])
                            state[key + "_col"] = torch.zeros(grad.shape[:-2] + grad.shape[-1:])
                    else:
                        state["exp_avg_sq"] = torch.zeros_like(grad)
                state["step"] += 1

                update = grad ** 2 + group["eps"][0]
                if factored:
                    row, col = state["exp_avg_sq_row"], state["exp_avg_sq_col"]
                    row.mul_(b2).add_(update.mean(dim=-1), alpha=1.0 - b2)
                    col.mul_(b2).add_(update.mean(dim=-2), alpha=1.0 - b2)
                    update = self._approx_sq_grad(row, col).mul_(grad)
                else:
                    exp_avg_sq = state["exp_avg_sq"]
                    exp_avg_sq.mul_(b2).add_(update, alpha=1.0 - b2)
                    update = exp_avg_sq.rsqrt().mul_(grad)
                update.div_((self._rms(update) / group["clip_threshold"]).clamp_(min=1.0))

                exp_avg = state["exp_avg"]
                exp_avg.mul_(b1).add_(update, alpha=1 - b1)
                if factored:
                    res = (update - exp_avg) ** 2 + group["eps"][1]
                    row, col = state["exp_avg_res_row"], state["exp_avg_res_col"]
                    row.mul_(b3).add_(res.mean(dim=-1), alpha=1.0 - b3)
                    col.mul_(b3).add_(res.mean(dim=-2), alpha=1.0 - b3)
                    res_approx = self._approx_sq_grad(row, col)
                    update = res_approx.mul_(exp_avg)
                    update.div_((self._rms(update) / group["clip_threshold"]).clamp_(min=1.0))
                else:
                    update = exp_avg  # CULPRIT
                if group["weight_decay"] != 0:
                    p.add_(p, alpha=-group["weight_decay"] * group["lr"])
                update.mul_(group["lr"])
                p.add_(-update)
        return None


class Shifted(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.lin = nn.Linear(n_in, n_out)
        self.gain = nn.Parameter(torch.ones(n_out))

    def forward(self, x):
        return self.lin(x) * self.gain


def main():
    torch.manual_seed(0)
    x = torch.randn(256, 5)
    y = x @ torch.randn(5, 3) + torch.tensor([1.5, -1.0, 2.0])
    model = Shifted(5, 3)
    opt = CAME(model.parameters(), lr=0.05)
    for it in range(150):
        idx = torch.randint(0, 256, (64,))
        loss = (model(x[idx]) - y[idx]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 30 == 0:
            m = {n: round(opt.state[p]["exp_avg"].abs().mean().item(), 5) for n, p in model.named_parameters()}
            print(it, "loss", round(loss.item(), 4), "first moment", m)
    with torch.no_grad():
        final = (model(x) - y).pow(2).mean().item()
    print("final loss", round(final, 4), "bias", [round(v, 3) for v in model.lin.bias.tolist()])


if __name__ == "__main__":
    main()
