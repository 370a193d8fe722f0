"""meta-llama/llama#122
Symptom: "element 0 of tensors does not require grad" during training, although all layers have requires_grad=True and the model is in train mode.
EXPECT: raises RuntimeError
TRUTH: the forward taken over from the inference code is decorated with torch.inference_mode(); remove the decorator.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Attention(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.wqkv = nn.Linear(dim, 3 * dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.wqkv(x).view(b, t, 3, self.n_heads, d // self.n_heads).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(out.transpose(1, 2).reshape(b, t, d))


class TransformerBlock(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.attention = Attention(dim, n_heads)
        self.feed_forward = nn.Sequential(nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim))
        self.attention_norm, self.ffn_norm = RMSNorm(dim), RMSNorm(dim)

    def forward(self, x):
        h = x + self.attention(self.attention_norm(x))
        return h + self.feed_forward(self.ffn_norm(h))


class GPT(nn.Module):
    def __init__(self, vocab_size, dim=32, n_heads=2, n_layers=2, max_len=32):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab_size, dim)
        self.pos_embeddings = nn.Embedding(max_len, dim)
        self.layers = nn.ModuleList([TransformerBlock(dim, n_heads) for _ in range(n_layers)])
        self.norm = RMSNorm(dim)
        self.output = nn.Linear(dim, vocab_size, bias=False)

    @torch.inference_mode()  # CULPRIT
    def forward(self, tokens):
        h = self.tok_embeddings(tokens) + self.pos_embeddings(torch.arange(tokens.size(1)))
        for layer in self.layers:
            h = layer(h)
        return self.output(self.norm(h))


def make_tokens(n, length, vocab):
    start = torch.randint(0, vocab, (n, 1))
    stride = torch.randint(1, 4, (n, 1))
    return (start + stride * torch.arange(length)) % vocab


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    vocab = 20
    model = GPT(vocab)
    model.train()
    for p in model.parameters():
        p.requires_grad = True
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss_fn = nn.CrossEntropyLoss()
    dataloader = DataLoader(make_tokens(640, 16, vocab), batch_size=32, shuffle=True)
    losses = []
    for epoch in range(4):
        epoch_loss = 0
        for batch in dataloader:
            optimizer.zero_grad()
            input_ids = batch[:, :-1]
            logits = model(input_ids)
            targets = batch[:, 1:]
            loss = loss_fn(logits.reshape(-1, vocab), targets.reshape(-1))
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        losses.append(epoch_loss / len(dataloader))
        print("Epoch %d Loss: %.5f" % (epoch + 1, losses[-1]))


if __name__ == "__main__":
    main()
