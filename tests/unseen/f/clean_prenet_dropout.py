"""CORRECT. The prenet's F.dropout has training=True, so it is active in eval as well; that is how Tacotron 2 is meant (it gives
variation at inference). Everything else follows model.train()/eval().
THREAD: https://github.com/BogiHsu/Tacotron2-PyTorch/issues/8 ("set to True on purpose")
"""
import torch
from torch import nn
from torch.nn import functional as F


class Prenet(nn.Module):
    def __init__(self, in_dim, sizes):
        super(Prenet, self).__init__()
        in_sizes = [in_dim] + sizes[:-1]
        self.layers = nn.ModuleList([nn.Linear(i, o, bias=False) for (i, o) in zip(in_sizes, sizes)])

    def forward(self, x):
        for linear in self.layers:
            x = F.dropout(F.relu(linear(x)), p=0.5, training=True)
        return x


class Decoder(nn.Module):
    def __init__(self, n_mels=8, n_ctx=6, hidden=48):
        super(Decoder, self).__init__()
        self.n_mels, self.hidden = n_mels, hidden
        self.prenet = Prenet(n_mels, [32, 32])
        self.rnn = nn.LSTMCell(32 + n_ctx, hidden)
        self.drop = nn.Dropout(0.1)
        self.proj = nn.Linear(hidden + n_ctx, n_mels)
        self.gate = nn.Linear(hidden + n_ctx, 1)

    def forward(self, ctx, mels=None, max_len=12):
        B = ctx.shape[0]
        h, c = ctx.new_zeros(B, self.hidden), ctx.new_zeros(B, self.hidden)
        frame = ctx.new_zeros(B, self.n_mels)
        outs, gates = [], []
        for t in range(max_len if mels is None else mels.shape[1]):
            x = torch.cat([self.prenet(frame), ctx], 1)
            h, c = self.rnn(x, (h, c))
            hc = torch.cat([self.drop(h), ctx], 1)
            out = self.proj(hc)
            outs.append(out)
            gates.append(self.gate(hc))
            frame = out if mels is None else mels[:, t]
        return torch.stack(outs, 1), torch.cat(gates, 1)


def utterances(n=32, T=12):
    ctx = torch.randn(n, 6)
    t = torch.arange(T).view(1, T, 1) / T * 3.14
    mels = torch.sin(t * (1 + torch.arange(8) % 3) + (ctx @ W).unsqueeze(1))
    gate = (torch.arange(T) >= T - 2).float().expand(n, T)
    return ctx, mels, gate


def main():
    model = Decoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3, weight_decay=1e-6)
    losses = []
    for it in range(1, 301):
        model.train()
        ctx, mels, gate = utterances()
        out, g = model(ctx, mels)
        loss = F.mse_loss(out, mels) + 0.2 * F.binary_cross_entropy_with_logits(g, gate)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if it % 60 == 0:
            model.eval()
            with torch.no_grad():
                ctx, mels, _ = utterances(64)
                free = F.mse_loss(model(ctx)[0], mels).item()
            print(f'iter {it} loss {sum(losses[-60:]) / 60:.4f} free running mse {free:.4f}')


if __name__ == '__main__':
    torch.manual_seed(0)
    W = torch.randn(6, 8) * 0.4
    main()
