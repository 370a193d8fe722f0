"""WRONG. Language model over a small grammar, impossible next tokens are masked with -inf and padding is ignored by the loss. The first loss is a reasonable number, from the second step on everything is NaN.
TRUTH: the padded positions are masked over the entire vocabulary; ignore_index drops their loss, but the gradient of log_softmax over a row of -inf is NaN and reaches all weights. Padded rows must stay unmasked (0.0).
THREAD: https://jkschin.com/blog/2023/cross-entropy-loss-ignore-index/
"""
import random

import torch
import torch.nn as nn

torch.manual_seed(0)
random.seed(0)

IGNORE = -1
NEG_INF = float("-inf")
VOCAB = ["<s>", "</s>", "the", "a", "cat", "dog", "bird", "sees", "chases", "sleeps"]
IDX = {w: i for i, w in enumerate(VOCAB)}
FOLLOW = {
    "<s>": ["the", "a"],
    "the": ["cat", "dog", "bird"],
    "a": ["cat", "dog", "bird"],
    "cat": ["sees", "sleeps", "</s>"],
    "dog": ["chases", "sleeps", "</s>"],
    "bird": ["sees", "sleeps", "</s>"],
    "sees": ["the", "a"],
    "chases": ["the", "a"],
    "sleeps": ["</s>"],
}


def sample_sentence(max_len=9):
    words = ["<s>"]
    while words[-1] != "</s>" and len(words) < max_len:
        options = FOLLOW[words[-1]]
        words.append(random.choices(options, weights=range(len(options), 0, -1))[0])
    return [IDX[w] for w in words]


def collate(sentences):
    """Returns inputs (B, T), targets (B, T) with IGNORE at padding, and the additive vocabulary mask (B, T, V)."""
    longest = max(len(s) for s in sentences) - 1
    inputs = torch.zeros(len(sentences), longest, dtype=torch.long)
    targets = torch.full((len(sentences), longest), IGNORE)
    mask = torch.zeros(len(sentences), longest, len(VOCAB))
    for b, s in enumerate(sentences):
        n = len(s) - 1
        inputs[b, :n] = torch.tensor(s[:-1])
        targets[b, :n] = torch.tensor(s[1:])
        mask[b, n:] = NEG_INF  # CULPRIT
        for t in range(n):
            allowed = [IDX[w] for w in FOLLOW[VOCAB[s[t]]]]
            mask[b, t] = NEG_INF
            mask[b, t, allowed] = 0.0
    return inputs, targets, mask


class GrammarLM(nn.Module):
    def __init__(self, n_vocab, d_model=16, n_hidden=24):
        super().__init__()
        self.embed = nn.Embedding(n_vocab, d_model)
        self.drop = nn.Dropout(0.1)
        self.rnn = nn.GRU(d_model, n_hidden, batch_first=True)
        self.norm = nn.LayerNorm(n_hidden)
        self.head = nn.Linear(n_hidden, n_vocab)

    def forward(self, tokens, mask):
        h, _ = self.rnn(self.drop(self.embed(tokens)))
        return self.head(self.norm(h)) + mask


@torch.no_grad()
def evaluate(model, criterion, sentences):
    model.eval()
    inputs, targets, mask = collate(sentences)
    logits = model(inputs, mask)
    loss = criterion(logits.flatten(0, 1), targets.flatten())
    real = targets != IGNORE
    acc = (logits.argmax(-1)[real] == targets[real]).float().mean()
    model.train()
    return loss.item(), acc.item()


def main():
    train_set = [sample_sentence() for _ in range(400)]
    valid_set = [sample_sentence() for _ in range(60)]
    model = GrammarLM(len(VOCAB))
    criterion = nn.CrossEntropyLoss(ignore_index=IGNORE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 5))
    for step in range(40):
        inputs, targets, mask = collate(random.sample(train_set, 32))
        logits = model(inputs, mask)
        loss = criterion(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warmup.step()
        if step < 3 or step % 10 == 9:
            valid_loss, valid_acc = evaluate(model, criterion, valid_set)
            print(f"step {step:2d}  loss {loss.item():.4f}  grad norm {norm.item():.3f}  valid {valid_loss:.4f}  accuracy {valid_acc:.3f}")


if __name__ == "__main__":
    main()
