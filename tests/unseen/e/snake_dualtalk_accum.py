"""ZiqiaoPeng/DualTalk#9, "Gradient accumulation"
Symptom: training with gradient accumulation is as noisy as with the small batch, raising gradient_accumulation_steps makes it only slower.
EXPECT: runs
TRUTH: optimizer.zero_grad() before every backward() throws away the gradients of the previous micro-batches; remove it there and divide the loss by the number of steps.
"""
import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(12)
torch.set_num_threads(1)


def make_talk(n, frames=10, audio=12, face=6):
    mix = torch.randn(audio, face) / audio ** 0.5
    x = torch.randn(n, frames, audio)
    motion = torch.cumsum(x @ mix, dim=1) / 3
    return x, motion + 1.5 * torch.randn_like(motion), motion


class DualTalkModel(nn.Module):
    def __init__(self, audio=12, hidden=24, face=6):
        super().__init__()
        self.encoder = nn.GRU(audio, hidden, batch_first=True)
        self.head = nn.Linear(hidden, face)

    def forward(self, audio):
        h, _ = self.encoder(audio)
        return self.head(h)


def trainer(args, train_loader, val_data, model, optimizer, criterion):
    for epoch in range(args.max_epoch):
        model.train()
        loss_log = []
        for i, (audio, motion) in enumerate(train_loader, 1):
            loss = criterion(model(audio), motion)
            loss_log.append(loss.item())
            optimizer.zero_grad()  # CULPRIT
            loss.backward()
            if i % args.gradient_accumulation_steps == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            val_loss = criterion(model(val_data[0]), val_data[1]).item()
        if epoch % 2 == 1:
            print("epoch %d train loss %.4f val loss %.4f" % (epoch, sum(loss_log) / len(loss_log), val_loss))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--max_epoch", type=int, default=6)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=8)
    args = parser.parse_args([])
    x, noisy, clean = make_talk(600)
    train_loader = DataLoader(TensorDataset(x[:480], noisy[:480]), batch_size=1, shuffle=True)
    model = DualTalkModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    trainer(args, train_loader, (x[480:], clean[480:]), model, optimizer, nn.MSELoss())


if __name__ == "__main__":
    main()
