"""CORRECT. exp(logp - logp.detach()) is always 1, but its gradient is grad logp: with one update per sample (on-policy) this is
the exact policy gradient of the GRPO objective. The advantage is group-normalised and needs no gradient.
THREAD: https://github.com/huggingface/trl/issues/2769 "ratio is always 1. Is this intended?" (yes)
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH, GROUP = 8, 6, 8


class TinyLM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.emb = nn.Embedding(VOCAB + 1, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        out, _ = self.rnn(self.emb(ids))
        return self.head(out)


@torch.no_grad()
def generate(model, prompts):
    ids = prompts.repeat_interleave(GROUP, 0)
    for _ in range(LENGTH):
        probs = model(ids)[:, -1].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(probs, 1)], 1)
    return ids


def per_token_logps(model, ids):
    logits = model(ids[:, :-1])[:, -LENGTH:]
    return logits.log_softmax(-1).gather(2, ids[:, -LENGTH:].unsqueeze(2)).squeeze(2)


def reward_fn(ids):
    start = ids[:, 1]
    wanted = (start.unsqueeze(1) + torch.arange(1, LENGTH + 1)) % VOCAB
    return (ids[:, -LENGTH:] == wanted).float().mean(1)


def compute_loss(model, ref_model, ids, advantages, beta=0.01):
    logps = per_token_logps(model, ids)
    with torch.no_grad():
        ref_logps = per_token_logps(ref_model, ids)
    kl = torch.exp(ref_logps - logps) - (ref_logps - logps) - 1
    per_token_loss = torch.exp(logps - logps.detach()) * advantages.unsqueeze(1)
    per_token_loss = -(per_token_loss - beta * kl)
    return per_token_loss.mean(), kl.mean().item()


def main():
    torch.manual_seed(0)
    model = TinyLM()
    ref_model = copy.deepcopy(model).eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.)
    history = []
    for step in range(1, 201):
        prompts = torch.cat([torch.full((8, 1), VOCAB), torch.randint(0, VOCAB, (8, 1))], 1)
        ids = generate(model, prompts)
        rewards = reward_fn(ids)
        grouped = rewards.view(-1, GROUP)
        advantages = ((grouped - grouped.mean(1, keepdim=True)) / (grouped.std(1, keepdim=True) + 1e-4)).view(-1)
        loss, kl = compute_loss(model, ref_model, ids, advantages)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(rewards.mean().item())
        if step % 50 == 0:
            print(f'step {step} loss {loss.item():.4f} reward {sum(history[-50:]) / 50:.3f} kl {kl:.3f}')


main()
