"""Linear regression and a hidden layer by hand: leaf tensors, in-place momentum updates under no_grad, p.grad = None instead of zero_grad, no optimizer object."""
import torch

torch.manual_seed(6)
torch.set_num_threads(1)


def init(n_in, n_out):
    w = torch.randn(n_in, n_out) / n_in ** 0.5
    return w.requires_grad_(), torch.zeros(n_out, requires_grad=True)


def main():
    x = 4 * torch.rand(400, 1) - 2
    y = x ** 2 - 0.5 * x + 0.1 * torch.randn_like(x)
    w1, b1 = init(1, 24)
    w2, b2 = init(24, 1)
    params = [w1, b1, w2, b2]
    velocity = [torch.zeros_like(p) for p in params]
    lr, momentum = 0.02, 0.9
    for step in range(800):
        idx = torch.randint(0, len(x), (64,))
        h = torch.tanh(x[idx] @ w1 + b1)
        loss = ((h @ w2 + b2 - y[idx]) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for p, v in zip(params, velocity):
                v.mul_(momentum).add_(p.grad)
                p -= lr * v
                p.grad = None
        if step % 200 == 0 or step == 799:
            print("step %d loss %.4f" % (step, loss.item()))


if __name__ == "__main__":
    main()
