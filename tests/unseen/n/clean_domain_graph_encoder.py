"""RIGHT. A graph encoder whose one layer is applied three times (shared weights), with two losses, two optimizers, a retained graph, and a hook that reverses the gradient of the domain loss.
TRUTH: the shared layer gets the sum of the gradients of its uses. Both losses hang on the same embedding: the first backward keeps the graph, the second frees it, and both happen before any optimizer step, so no weight was changed in between. The hook returns -lam * grad on a view of the embedding that only the domain head sees (gradient reversal on purpose). index_add sums repeated targets; the degrees are constants.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

cfg = dict(nodes=10, feat=6, hidden=16, rounds=3, classes=2, lr=1e-2, steps=60, graphs=32, lam=0.3)


def make_batch(n_graphs):
    """class: sign of the mean of feature 0; the domain shows in a shift of feature 1"""
    n = n_graphs * cfg["nodes"]
    x = torch.randn(n, cfg["feat"])
    label = torch.randint(0, 2, (n_graphs,))
    domain = torch.randint(0, 2, (n_graphs,))
    graph = torch.arange(n_graphs).repeat_interleave(cfg["nodes"])
    x[:, 0] += 1.5 * (2 * label - 1)[graph]
    x[:, 1] += 1.5 * domain[graph]
    src = torch.randint(0, cfg["nodes"], (n, 3))
    src = (src + graph.unsqueeze(1) * cfg["nodes"]).flatten()
    dst = torch.arange(n).repeat_interleave(3)
    return x, src, dst, graph, label, domain


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(cfg["feat"], cfg["hidden"])
        self.msg = nn.Linear(cfg["hidden"], cfg["hidden"])

    def forward(self, x, src, dst, graph, n_graphs):
        h = torch.relu(self.inp(x))
        deg = torch.zeros(len(x)).index_add(0, dst, torch.ones(len(dst))).clamp(min=1)
        for _ in range(cfg["rounds"]):
            agg = torch.zeros_like(h).index_add(0, dst, self.msg(h)[src])
            h = h + 0.5 * torch.tanh(agg / deg.unsqueeze(1))
        pooled = torch.zeros(n_graphs, h.size(1)).index_add_(0, graph, h)
        return pooled / cfg["nodes"]


def reverse_gradient(emb, lam):
    out = emb.view_as(emb)
    if out.requires_grad:
        out.register_hook(lambda g: -lam * g)
    return out


def main():
    enc = Encoder()
    task_head = nn.Linear(cfg["hidden"], cfg["classes"])
    domain_head = nn.Sequential(nn.Linear(cfg["hidden"], 16), nn.ReLU(), nn.Linear(16, 2))
    opt_main = torch.optim.Adam([*enc.parameters(), *task_head.parameters()], lr=cfg["lr"])
    opt_dom = torch.optim.SGD(domain_head.parameters(), lr=0.1, momentum=0.9)

    for step in range(cfg["steps"]):
        x, src, dst, graph, label, domain = make_batch(cfg["graphs"])
        emb = enc(x, src, dst, graph, cfg["graphs"])
        task_loss = F.cross_entropy(task_head(emb), label)
        dom_loss = F.cross_entropy(domain_head(reverse_gradient(emb, cfg["lam"])), domain)

        opt_main.zero_grad()
        opt_dom.zero_grad()
        task_loss.backward(retain_graph=True)
        dom_loss.backward()
        opt_main.step()
        opt_dom.step()
        if step % 15 == 0:
            print(f"step {step:3d} task {task_loss.item():.4f} domain {dom_loss.item():.4f}")

    with torch.no_grad():
        x, src, dst, graph, label, domain = make_batch(200)
        emb = enc(x, src, dst, graph, 200)
        acc = (task_head(emb).argmax(1) == label).float().mean().item()
        dacc = (domain_head(reverse_gradient(emb, cfg["lam"])).argmax(1) == domain).float().mean().item()
    print(f"accuracy of the task {acc:.3f}, of the domain {dacc:.3f}")


if __name__ == "__main__":
    main()
