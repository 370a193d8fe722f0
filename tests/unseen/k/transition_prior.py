"""WRONG. Every iteration I build x_out and the loss anew, still the second loss.backward() raises
"Trying to backward through the graph a second time". The first iteration is fine.
TRUTH: the prior t @ a is computed once before the loop, its little graph is shared by all iterations and freed by the
first backward(). Compute `prior = model.prior()` inside the loop.
THREAD: https://discuss.pytorch.org/t/backpropagation-graph-is-reused-while-it-shouldnt/24554
"""
import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

CONFIG = {
    'states': 6,
    'steps': 40,
    'lr': 0.05,
    'sparsity': 1e-4,
    'log_every': 10,
}


class Propagator(nn.Module):
    """Learns a transition matrix t and an activation a such that t (x + t a) moves one state onwards."""

    def __init__(self, n):
        super().__init__()
        self.t = nn.Parameter(torch.eye(n) + 0.05 * torch.randn(n, n))
        self.a = nn.Parameter(torch.ones(n) / n)

    def prior(self):
        return self.t @ self.a

    def forward(self, x, prior):
        return (x + prior) @ self.t.t()

    def sparsity(self):
        return self.t.abs().sum()


def make_sequences(n_states, n):
    x = torch.rand(n, n_states)
    shift = torch.roll(torch.eye(n_states), 1, 0)
    offset = torch.linspace(0.0, 0.5, n_states)
    y = (x + offset) @ shift.t()
    return x, y + 0.01 * torch.randn_like(y)


def evaluate(model, x, y, measure):
    model.eval()
    with torch.no_grad():
        err = measure(model(x, model.prior()), y).item()
    model.train()
    return err


def train(model, data, config):
    measure = nn.MSELoss()
    (x, y), (xv, yv) = data
    optimizer = torch.optim.Adam(model.parameters(), lr=config['lr'])
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=config['steps'])
    history = []

    prior = model.prior()  # CULPRIT
    for step in range(config['steps']):
        batch = torch.randint(0, len(x), (64,))
        x_out = model(x[batch], prior)
        loss = measure(x_out, y[batch]) + config['sparsity'] * model.sparsity()

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()

        history.append(loss.item())
        if step % config['log_every'] == 0:
            print('step {:3d}  loss {:.4f}  val {:.4f}'.format(step, history[-1], evaluate(model, xv, yv, measure)))
    return history


def main():
    n = CONFIG['states']
    x, y = make_sequences(n, 400)
    data = (x[:320], y[:320]), (x[320:], y[320:])
    model = Propagator(n)
    history = train(model, data, CONFIG)
    print('first / last loss: {:.4f} / {:.4f}'.format(history[0], history[-1]))
    print('largest entry per row:', model.t.argmax(1).tolist())


if __name__ == '__main__':
    main()
