"""huggingface/transformers#47394
Symptom: the loss of the captioning model falls well, but generated captions skip every second token.
EXPECT: runs
TRUTH: forward shifts the labels and the loss function shifts them a second time, so position t learns token t + 2; pass the shifted ones as shift_labels.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def causal_lm_loss(logits, labels, vocab_size, ignore_index=-100, shift_labels=None):
    if shift_labels is None:
        labels = F.pad(labels, (0, 1), value=ignore_index)
        shift_labels = labels[..., 1:].contiguous()
    return F.cross_entropy(logits.reshape(-1, vocab_size), shift_labels.reshape(-1), ignore_index=ignore_index)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class GitForCausalLM(nn.Module):
    def __init__(self, vocab_size, image_dim, dim=32, heads=2, max_len=24):
        super().__init__()
        self.vocab_size = vocab_size
        self.visual_projection = nn.Linear(image_dim, dim)
        self.word = nn.Embedding(vocab_size, dim)
        self.position = nn.Embedding(max_len, dim)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(2)])
        self.output = nn.Linear(dim, vocab_size)

    def forward(self, pixel_values, input_ids, labels=None):
        visual = self.visual_projection(pixel_values)
        num_image_tokens = visual.size(1)
        x = torch.cat([visual, self.word(input_ids)], dim=1)
        x = x + self.position(torch.arange(x.size(1)))
        mask = torch.triu(torch.ones(x.size(1), x.size(1), dtype=torch.bool), diagonal=1)
        for block in self.blocks:
            x = block(x, mask)
        logits = self.output(x)
        loss = None
        if labels is not None:
            shifted_logits = logits[:, num_image_tokens:-1, :].contiguous()
            labels = labels[:, 1:].contiguous()
            loss = causal_lm_loss(shifted_logits, labels, self.vocab_size)  # CULPRIT
        return loss, logits

    @torch.no_grad()
    def generate(self, pixel_values, length):
        ids = torch.zeros(pixel_values.size(0), 1, dtype=torch.long)
        for _ in range(length):
            _, logits = self(pixel_values, ids)
            ids = torch.cat([ids, logits[:, -1].argmax(-1, keepdim=True)], dim=1)
        return ids[:, 1:]


def make_captions(n, vocab, length, image_dim):
    start = torch.randint(1, vocab, (n, 1))
    caption = (start + 3 * torch.arange(length)) % (vocab - 1) + 1
    image = F.one_hot((start.squeeze(1) - 1), image_dim).float().unsqueeze(1) + 0.1 * torch.randn(n, 1, image_dim)
    ids = torch.cat([torch.zeros(n, 1, dtype=torch.long), caption], 1)
    return TensorDataset(image, ids)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    vocab, length = 14, 7
    train = make_captions(960, vocab, length, vocab - 1)
    test_img, test_ids = make_captions(100, vocab, length, vocab - 1).tensors
    loader = DataLoader(train, batch_size=32, shuffle=True)
    model = GitForCausalLM(vocab, vocab - 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(5):
        total = 0.0
        for image, ids in loader:
            loss, _ = model(image, ids, labels=ids)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        acc = (model.generate(test_img, length) == test_ids[:, 1:]).float().mean().item()
        model.train()
        print("epoch %d  loss %.4f  generated tokens right %.3f" % (epoch, total / len(loader), acc))
    print("wanted", test_ids[0, 1:].tolist(), "got", model.generate(test_img[:1], length)[0].tolist())


if __name__ == "__main__":
    main()
