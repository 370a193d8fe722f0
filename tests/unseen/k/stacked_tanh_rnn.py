"""WRONG. I unrolled nn.RNN by hand after the formula in the documentation, the outputs agree with nn.RNN, but loss.backward() raises "one of the variables needed for gradient computation has been modified by an inplace operation".
TRUTH: every time step and layer writes its state with h_t[layer] = ... into the one tensor h_t whose views were saved for backward (as input of the next layer and as previous state); the states have to be fresh tensors, e.g. h_t = list(hx.unbind(0)) (a list of tensors), or a concatenation instead of the indexed write.
THREAD: http://kuloverse.site/blog/fixing-pytorch-rnn-example-a
"""
import torch
from torch import nn

torch.manual_seed(0)

CFG = dict(input_size=3, hidden_size=16, num_layers=2, batch_size=12, seq_len=9, lr=0.01, epochs=40, log_every=10)


class StackedRNN(nn.Module):
    """Weights are kept in nn.RNN, the recursion itself is written out."""

    def __init__(self, cfg):
        super().__init__()
        self.num_layers = cfg["num_layers"]
        self.hidden_size = cfg["hidden_size"]
        self.rnn = nn.RNN(cfg["input_size"], cfg["hidden_size"], cfg["num_layers"])
        self.readout = nn.Linear(cfg["hidden_size"], 1)

    def step(self, layer, input_t, h_prev):
        p = dict(self.rnn.named_parameters())
        pre = input_t @ p[f"weight_ih_l{layer}"].T + p[f"bias_ih_l{layer}"]
        pre = pre + h_prev @ p[f"weight_hh_l{layer}"].T + p[f"bias_hh_l{layer}"]
        return torch.tanh(pre)

    def unroll(self, x, hx=None, batch_first=False):
        if batch_first:
            x = x.transpose(0, 1)
        seq_len, batch_size, _ = x.size()
        if hx is None:
            hx = torch.zeros(self.num_layers, batch_size, self.hidden_size)
        h_t = hx.clone()  # CULPRIT
        output = []
        for t in range(seq_len):
            for layer in range(self.num_layers):
                input_t = x[t] if layer == 0 else h_t[layer - 1]
                h_t[layer] = self.step(layer, input_t, h_t[layer])  # CULPRIT
            output.append(h_t[-1].clone())
        output = torch.stack(output)
        if batch_first:
            output = output.transpose(0, 1)
        return output, torch.stack(list(h_t))

    def forward(self, x):
        output, h_n = self.unroll(x, batch_first=True)
        return self.readout(output).squeeze(-1), h_n


def make_batch(cfg):
    x = torch.randn(cfg["batch_size"], cfg["seq_len"], cfg["input_size"])
    y = torch.tanh(torch.cumsum(x[..., 0], dim=1) * 0.5)
    return x, y


def compare_with_builtin(model, cfg):
    x, _ = make_batch(cfg)
    with torch.no_grad():
        mine, h_mine = model.unroll(x, batch_first=True)
        ref, h_ref = model.rnn(x.transpose(0, 1))
    return (mine.transpose(0, 1) - ref).abs().max().item(), (h_mine - h_ref).abs().max().item()


def main():
    cfg = dict(CFG)
    model = StackedRNN(cfg)
    out_diff, h_diff = compare_with_builtin(model, cfg)
    print(f"difference to nn.RNN: output {out_diff:.1e}, h_n {h_diff:.1e}")

    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.5)
    criterion = nn.MSELoss()
    for epoch in range(cfg["epochs"]):
        x, y = make_batch(cfg)
        pred, h_n = model(x)
        loss = criterion(pred, y) + 1e-4 * h_n.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if epoch % cfg["log_every"] == 0 or epoch == cfg["epochs"] - 1:
            print(f"epoch {epoch:3d}  loss {loss.item():.4f}  lr {scheduler.get_last_lr()[0]:.4f}")


if __name__ == "__main__":
    main()
