"""RIGHT. Truncated backpropagation through time with a state kept in the module; some streams restart in the middle, the state is detached per window and reset in place.
TRUTH: the state is detached at the start of every window, so no graph crosses a backward; the in-place reset of the restarted streams happens on the detached state before it is used; two windows are accumulated, each divided by two, and the rest of the epoch is stepped too.
"""
import torch
import torch.nn as nn

torch.manual_seed(0)

WINDOW, STREAMS, ACCUM = 10, 12, 2


class StatefulGRU(nn.Module):
    def __init__(self, feats, hidden=20):
        super().__init__()
        self.rnn = nn.GRU(feats, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)
        self.register_buffer("state", torch.zeros(1, STREAMS, hidden), persistent=False)

    def start_window(self, restarted):
        self.state = self.state.detach()
        self.state[:, restarted] = 0.0

    def forward(self, x):
        out, self.state = self.rnn(x, self.state)
        return self.out(out).squeeze(-1)


def make_streams(n_windows):
    total = n_windows * WINDOW
    t = torch.arange(total + 1).float()
    phase = torch.rand(STREAMS, 1) * 6.28
    level = torch.sin(0.2 * t + phase) + 0.5 * torch.sin(0.05 * t + phase)
    x = torch.stack([level[:, :-1], level[:, :-1].roll(1, dims=1)], dim=-1)
    x[:, 0, 1] = 0.0
    restarts = torch.rand(n_windows, STREAMS) < 0.1
    restarts[0] = True
    return x, level[:, 1:], restarts


@torch.no_grad()
def evaluate(model, x, y, restarts):
    model.eval()
    errors = []
    for w in range(restarts.size(0)):
        sl = slice(w * WINDOW, (w + 1) * WINDOW)
        model.start_window(restarts[w])
        errors.append((model(x[:, sl]) - y[:, sl]).pow(2).mean())
    model.train()
    return torch.stack(errors).mean().item()


def main():
    n_windows = 7
    x, y, restarts = make_streams(n_windows)
    model = StatefulGRU(2)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    history = []
    for epoch in range(10):
        opt.zero_grad()
        running = 0.0
        for w in range(n_windows):
            sl = slice(w * WINDOW, (w + 1) * WINDOW)
            group = min(ACCUM, n_windows - (w // ACCUM) * ACCUM)
            model.start_window(restarts[w])
            loss = (model(x[:, sl]) - y[:, sl]).pow(2).mean()
            (loss / group).backward()
            running += loss.item()
            if (w + 1) % ACCUM == 0 or w + 1 == n_windows:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                opt.zero_grad()
        history.append(running / n_windows)
        if epoch % 3 == 0:
            print(f"epoch {epoch} train {history[-1]:.4f} eval {evaluate(model, x, y, restarts):.4f}")


if __name__ == "__main__":
    main()
