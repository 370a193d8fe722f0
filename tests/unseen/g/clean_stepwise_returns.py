"""CORRECT. loss.backward(retain_graph=True) inside a loop over time steps that share one graph; the gradients add up, the optimizer steps only after the loop and the next episode builds a new graph.
THREAD: https://github.com/rentruewang/brief/issues/1
"""
import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_
from torch.optim import Adam

VOCAB, TOPICS, LENGTH, BATCH = 14, 5, 6, 32


class Generator(nn.Module):
    """Writes a summary word by word for a bag of words."""

    def __init__(self, dim=32):
        super().__init__()
        self.doc = nn.Linear(VOCAB, dim)
        self.emb = nn.Embedding(VOCAB + 1, dim)
        self.cell = nn.GRUCell(dim, dim)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, docs):
        h = torch.tanh(self.doc(docs))
        word = torch.full((docs.size(0),), VOCAB, dtype=torch.long)
        words, logprobs, entropies = [], [], []
        for _ in range(LENGTH):
            h = self.cell(self.emb(word), h)
            dist = Categorical(logits=self.out(h))
            word = dist.sample()
            words.append(word)
            logprobs.append(dist.log_prob(word))
            entropies.append(dist.entropy())
        return torch.stack(words, 1), torch.stack(logprobs, 1), torch.stack(entropies, 1)


class Critic(nn.Module):
    """The value of a prefix; one recurrent pass gives the values of all prefixes."""

    def __init__(self, dim=32):
        super().__init__()
        self.doc = nn.Linear(VOCAB, dim)
        self.emb = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.value = nn.Linear(dim, 1)

    def forward(self, docs, words):
        h0 = torch.tanh(self.doc(docs)).unsqueeze(0)
        out, _ = self.rnn(self.emb(words), h0)
        states = torch.cat([h0.transpose(0, 1), out], dim=1)
        return self.value(states).squeeze(-1)


def documents(n, g):
    """Five words of every document are frequent; a good summary names them, each once."""
    topics = torch.stack([torch.randperm(VOCAB, generator=g)[:TOPICS] for _ in range(n)])
    bag = 0.3 * torch.rand(n, VOCAB, generator=g)
    bag.scatter_add_(1, topics, torch.ones(n, TOPICS))
    return bag


def step_rewards(docs, words):
    wanted = docs > 0.9
    seen = torch.zeros_like(wanted)
    rewards = []
    idx = torch.arange(len(docs))
    for t in range(LENGTH):
        w = words[:, t]
        good = wanted[idx, w] & ~seen[idx, w]
        rewards.append(good.float() - 0.2 * (~good).float())
        seen[idx, w] = True
    return torch.stack(rewards, 1)


class Trainer:
    def __init__(self, gamma=0.9, entropy_weight=0.02):
        self.G, self.Q = Generator(), Critic()
        self.opt_G = Adam(self.G.parameters(), lr=4e-3)
        self.opt_Q = Adam(self.Q.parameters(), lr=4e-3)
        self.gamma, self.entropy_weight = gamma, entropy_weight

    def update_critic(self, docs, words, rewards):
        self.opt_Q.zero_grad()
        values = self.Q(docs, words)
        total = 0.0
        for t in range(LENGTH):
            following = values[:, t + 1].detach() if t + 1 < LENGTH else torch.zeros(len(docs))
            target = rewards[:, t] + self.gamma * following
            loss = F.smooth_l1_loss(values[:, t], target) / LENGTH
            loss.backward(retain_graph=True)
            total += loss.item()
        clip_grad_norm_(self.Q.parameters(), 1.0)
        self.opt_Q.step()
        return total

    def update_generator(self, docs, words, rewards, logprobs, entropies):
        self.opt_G.zero_grad()
        with torch.no_grad():
            values = self.Q(docs, words)
            values[:, -1] = 0
            advantage = rewards + self.gamma * values[:, 1:] - values[:, :-1]
        total = 0.0
        for t in range(LENGTH):
            loss = -(advantage[:, t] * logprobs[:, t]).mean() - self.entropy_weight * entropies[:, t].mean()
            loss = loss / LENGTH
            loss.backward(retain_graph=t + 1 < LENGTH)
            total += loss.item()
        clip_grad_norm_(self.G.parameters(), 1.0)
        self.opt_G.step()
        return total

    def train(self, updates, g):
        running = None
        for it in range(1, updates + 1):
            docs = documents(BATCH, g)
            words, logprobs, entropies = self.G(docs)
            rewards = step_rewards(docs, words)
            q_loss = self.update_critic(docs, words, rewards)
            g_loss = self.update_generator(docs, words, rewards, logprobs, entropies)
            score = rewards.sum(1).mean().item()
            running = score if running is None else 0.95 * running + 0.05 * score
            if it % 40 == 0:
                print('update %d reward %.3f critic %.4f generator %.4f entropy %.3f' % (
                    it, running, q_loss, g_loss, entropies.mean().item()))


if __name__ == '__main__':
    torch.manual_seed(0)
    Trainer().train(160, torch.Generator().manual_seed(0))
