"""The meta device: shapes, strides and dtypes without values, as in PyTorch."""

from __future__ import annotations

import io
from typing import Any

import pytest

import gradtape as gt

from .nn.lines import check_line

SEEN = "(tuple(x.shape),x.stride(),str(x.dtype),str(x.device),x.is_meta,repr(x))"
MADE = """
x=t.empty(2,3,device='meta')
x=t.zeros(2,device='meta')+1
x=t.ones(2,3,device='meta',dtype=t.int32).sum(0,keepdim=True)
x=t.full((2,),7,device='meta')
x=t.arange(5,device='meta')
x=t.randn(2,3,device='meta').t()
x=t.tensor([[1.,2.]],device='meta')
x=t.empty_like(t.ones(2,3).t(),device='meta')
x=t.ones(4,3).t().to('meta')
x=t.ones(2,3,dtype=t.half,device='meta')@t.ones(3,4,dtype=t.half,device='meta')
x=t.ones(5,1,2,3,device='meta')@t.ones(4,3,6,device='meta')
x=t.cat([t.ones(2,device='meta')]*3)
x=t.ones(2,3,device='meta')[:,1:]
x=t.ones(2,3,device='meta').softmax(-1).exp_().mul_(2)
x=t.ones(2,3,device='meta',requires_grad=True)*2
x=t.randn_like(t.ones(3,2,device='meta').t())
x=t.nn.functional.dropout(t.ones(2,3,device='meta'))
x=t.nn.functional.max_pool2d(t.ones(1,2,6,6,device='meta'),2)
m=t.nn.MultiheadAttention(8,2,device='meta');x=m(*[t.ones(3,2,8,device='meta')]*3)[0]
x=t.nn.functional.cross_entropy(t.ones(4,3,device='meta'),t.zeros(4,dtype=t.long,device='meta'))
x=t.linalg.norm(t.ones(4,3,device='meta'))
x=t.ones(4,3,device='meta').to(t.float64).view(2,6).chunk(2,1)[1]
x=t.nn.Linear(3,4,device='meta').weight
x=t.nn.Linear(3,4,device='meta')(t.ones(2,3,device='meta'))
x=t.nn.Linear(3,4).to('meta').bias
m=t.nn.Sequential(t.nn.Conv2d(3,8,3),t.nn.BatchNorm2d(8),t.nn.ReLU(),t.nn.MaxPool2d(2)).to('meta');x=m(t.empty(1,3,8,8,device='meta'))
m=t.nn.LSTM(3,4,2,device='meta');x=m(t.empty(5,2,3,device='meta'))[0]
m=t.nn.TransformerEncoderLayer(8,2,16,device='meta');x=m(t.empty(5,2,8,device='meta'))
m=t.nn.Embedding(10,3,device='meta');x=m(t.zeros(2,4,dtype=t.long,device='meta'))
x=t.ones(2,3,device='meta',requires_grad=True);(x*2).sum().backward();x=x.grad
x=t.ones(2,3,requires_grad=True);x.to('meta').sum().backward();x=x.grad.to('meta')
"""

ANSWERED = """
t.nn.Linear(2,2,device='meta').to_empty(device='cpu').weight.device.type
sum(p.numel() for p in t.nn.Transformer(512,8,device='meta').parameters())
x=t.empty(2,device='meta');(x.data_ptr(),x.is_cpu,x.is_cuda,x.untyped_storage().device.type)
import copy;copy.deepcopy(t.nn.Linear(2,2,device='meta')).weight.is_meta
m=t.nn.Linear(2,2,device='meta');m.load_state_dict(t.nn.Linear(2,2).state_dict(),assign=True);m.weight.device.type
t.nn.Linear(9,9,device='meta');t.rand(3)
t.empty(2,device='meta').tolist()
t.empty(2,device='meta').numpy()
t.empty(1,device='meta').item()
bool(t.empty(1,device='meta'))
t.empty(2,device='meta').cpu()
t.nn.Linear(2,2,device='meta').to('cpu')
t.nn.Linear(2,2).to_empty(device='meta').weight.is_meta
m=t.nn.Linear(2,2,device='meta');p=m.weight;m.to_empty(device='cpu').weight is p
m=t.nn.Linear(2,2);p=m.weight;m.to('meta').weight is p
m=t.nn.Linear(2,2,device='meta');p=m.weight;m.to_empty(device='meta').weight is p
"""


@pytest.mark.parametrize("line", MADE.strip().splitlines())
def test_meta_tensors_know_all_but_their_values(line: str) -> None:
    check_line(f"{line};{SEEN}")


@pytest.mark.parametrize("line", ANSWERED.strip().splitlines())
def test_what_reads_values_is_refused_and_the_rest_answered(line: str) -> None:
    check_line(line)


def _inside(t: Any) -> tuple[str, bool]:
    with t.device("meta"):
        model = t.nn.Linear(3, 4)
    return str(model.weight.device), model.bias.is_meta


def test_a_device_block_makes_modules_without_values() -> None:
    torch = pytest.importorskip("torch")
    assert _inside(gt) == _inside(torch) == ("meta", True)


def test_a_file_can_be_loaded_without_its_values() -> None:
    file = io.BytesIO()
    gt.save({"w": gt.ones(2, 3).t()}, file)
    file.seek(0)
    found = gt.load(file, map_location="meta")["w"]
    assert (found.is_meta, found.shape, found.stride()) == (True, (3, 2), (1, 3))


def test_billions_of_parameters_cost_no_memory() -> None:
    wide = gt.nn.Linear(40_000, 50_000, device="meta", dtype=gt.float16)
    assert wide(gt.empty(3, 40_000, device="meta", dtype=gt.float16)).shape[1] == 50_000
    assert gt.nn.Conv2d(60_000, 320_000, 3, device="meta").weight.half().shape[3] == 3


def test_pointwise_ops_pass_over_no_memory() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    x = gt.empty(500_000_000, device="meta")
    assert (x * 2 + x).relu_().add_(1).half().exp().dtype is gt.float16
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


@pytest.mark.parametrize("file_format", [True, False])
def test_files_keep_meta_tensors_without_values(file_format: bool) -> None:
    torch = pytest.importorskip("torch")
    kept: list[Any] = []
    for t in (gt, torch):
        file = io.BytesIO()
        weight = t.empty(2, 3, device="meta").t().requires_grad_()
        layer = t.nn.Linear(50_000, 50_000, device="meta", dtype=t.float64)
        values = {"weight": weight, **layer.state_dict()}
        t.save(values, file, _use_new_zipfile_serialization=file_format)
        assert len(file.getvalue()) < 5_000
        file.seek(0)
        found = t.load(file).values()
        kept.append(
            [(x.shape, x.stride(), x.requires_grad, str(x.device)) for x in found]
        )
    assert kept[0] == kept[1]


@pytest.mark.parametrize("ask", [gt.nonzero, gt.unique, lambda x: x[x > 0]])
def test_shapes_that_depend_on_values_are_refused(ask: Any) -> None:
    with pytest.raises(NotImplementedError, match="depends on values"):
        ask(gt.ones(3, device="meta"))


@pytest.mark.parametrize("order", [1, -1])
def test_devices_do_not_mix(order: int) -> None:
    first, second = ("meta", "cpu")[::order]
    pair = gt.ones(2, device=first), gt.ones(2, device=second)
    asked = f"{second} is not on the expected device {first}"
    with pytest.raises(RuntimeError, match=asked):
        gt.add(*pair)
