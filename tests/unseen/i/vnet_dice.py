"""WRONG. Training the V-Net with the hand written dice Function fails: DiceLossBackward returned an invalid gradient at index 0.
TRUTH: backward concatenates the gradients of the two classes along dim 0 into one long vector; dDice has to be unsqueezed to two dimensions and concatenated along dim 1.
THREAD: https://github.com/mattmacy/torchbiomed/issues/2
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function

torch.manual_seed(0)


class DiceLoss(Function):
    @staticmethod
    def forward(ctx, input, target):
        eps = 0.000001
        _, result_ = input.max(1)
        result = result_.float()
        target = target.float()
        intersect = torch.dot(result, target)
        result_sum = torch.sum(result)
        target_sum = torch.sum(target)
        union = result_sum + target_sum + 2 * eps
        ctx.save_for_backward(input, target)
        ctx.intersect, ctx.union = intersect, union
        IoU = intersect / union
        return 2 * IoU

    @staticmethod
    def backward(ctx, grad_output):
        input, target = ctx.saved_tensors
        intersect, union = ctx.intersect, ctx.union
        gt = torch.div(target, union)
        IoU2 = intersect / (union * union)
        pred = torch.mul(input[:, 1], IoU2)
        dDice = torch.add(torch.mul(gt, 2), torch.mul(pred, -4))
        grad_input = torch.cat((torch.mul(dDice, -grad_output), torch.mul(dDice, grad_output)), 0)  # CULPRIT
        return grad_input, None


def dice_loss(input, target):
    return 1 - DiceLoss.apply(input, target)


class InputTransition(nn.Module):
    def __init__(self, outChans):
        super().__init__()
        self.conv1 = nn.Conv3d(1, outChans, 3, padding=1)
        self.bn1 = nn.BatchNorm3d(outChans)
        self.relu1 = nn.ELU()

    def forward(self, x):
        out = self.bn1(self.conv1(x))
        return self.relu1(out + x)


class OutputTransition(nn.Module):
    def __init__(self, inChans):
        super().__init__()
        self.conv1 = nn.Conv3d(inChans, 8, 3, padding=1)
        self.conv2 = nn.Conv3d(8, 2, 1)

    def forward(self, x):
        out = self.conv2(F.elu(self.conv1(x)))
        out = out.permute(0, 2, 3, 4, 1).contiguous()
        out = out.view(out.numel() // 2, 2)
        return F.softmax(out, dim=1)


class VNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_tr = InputTransition(8)
        self.out_tr = OutputTransition(8)

    def forward(self, x):
        return self.out_tr(self.in_tr(x))


def volumes(n, s=8):
    tgt = torch.zeros(n, s, s, s)
    for i in range(n):
        a, b, c = torch.randint(0, s - 4, (3,)).tolist()
        tgt[i, a:a + 4, b:b + 4, c:c + 4] = 1
    return (tgt + 0.6 * torch.randn_like(tgt)).unsqueeze(1), tgt.view(-1).long()


model = VNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for it in range(60):
    data, target = volumes(4)
    optimizer.zero_grad()
    output = model(data)
    loss = dice_loss(output, target)
    loss.backward()
    optimizer.step()
    if it % 15 == 14:
        print('iter %d dice loss %.4f' % (it, loss.item()))
