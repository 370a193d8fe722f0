"""How processes meet, and what stores do, beside PyTorch's."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest

import gradtape
from gradtape import distributed as dist
from gradtape.distributed import _tcp_store

from ..oracle import assert_same
from .processes import free_port, launch

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs file locks")

SHORT = timedelta(milliseconds=50)
VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def refused(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)


def made(t, kind, tmp_path):
    d = t.distributed
    if kind == "TCPStore":
        return d.TCPStore("127.0.0.1", 0, is_master=True)
    if kind == "FileStore":
        return d.FileStore(str(tmp_path / t.__name__), 1)
    if kind == "PrefixStore":
        return d.PrefixStore("before", d.HashStore())
    return d.HashStore()


@pytest.mark.parametrize("kind", ["HashStore", "TCPStore", "FileStore", "PrefixStore"])
def test_stores_do_what_pytorchs_do(kind, tmp_path):
    def program(t):
        store = made(t, kind, tmp_path)
        store.set("a", "1")
        store.set("b", b"x\0\xff")
        numbers = [store.add("n", 3), store.add("n", -1), store.get("n")]
        store.multi_set(["k", "l"], ["1", "2"])
        store.append("k", "more")
        compared = [
            store.compare_set("c", "", "first"),
            store.compare_set("c", "other", "second"),
            store.compare_set("c", "first", "second"),
            store.compare_set("missing", "x", "y"),
        ]
        late = refused(lambda: store.wait(["a", "z"], timedelta(milliseconds=50)))
        return [
            *(store.get("a"), store.get("b"), numbers, compared),
            *(store.multi_get(["k", "l"]), store.check(["a", "n"]), store.check(["z"])),
            *(store.delete_key("a"), store.check(["a"]), store.has_extended_api()),
            *("k" in "".join(store.list_keys()), store.timeout),
            *(late[0] if kind != "FileStore" else None, late[1]),
        ]

    assert_same(program)


GARBAGE = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01\x02\0\xff\xfe\n",
    b"5\n",
    b"[]\n",
    b"[" * 100_000 + b"\n",
    b'["fly", ["a"]]\n',
    b'["set", "a", "b"]\n',
    b'["set", [], "b"]\n',
    b'["set", ["a"]]\n',
    b'["add", ["a"], "x"]\n',
    b'["add", ["a"], 1e999]\n',
    b'["wait", [[]], 1]\n',
    b"x" * 5_000,
]


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda sent: sent[:20])
def test_a_store_hangs_up_on_garbage_and_goes_on(garbage, monkeypatch):
    ended = []
    monkeypatch.setattr(threading, "excepthook", ended.append)
    monkeypatch.setattr(_tcp_store, "MOST_LINE", 1_000)
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    with socket.create_connection(("127.0.0.1", store.port), 10) as stranger:
        try:
            stranger.sendall(garbage)
            assert stranger.recv(100) == b""
        except ConnectionError:
            pass  # it hung up before all was read
    store.set("a", "1")
    other = dist.TCPStore("127.0.0.1", store.port)
    assert other.get("a") == b"1"
    assert ended == []


def test_what_is_too_long_for_a_store_is_said_to_the_rank(monkeypatch):
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    monkeypatch.setattr(_tcp_store, "MOST_LINE", 1_000)
    with pytest.raises(ValueError, match="more than a store takes"):
        store.set("a", "x" * 1_000)
    store.set("a", "x" * 600)
    store.append("a", "x" * 600)
    with pytest.raises(ValueError, match="more than a store takes"):
        store.get("a")
    assert store.check(["a"])


def test_what_answers_as_no_store_does_is_named():
    listener = _tcp_store.listen("127.0.0.1", 0)
    port = listener.getsockname()[1]

    def answer() -> None:
        client, _ = listener.accept()
        with client:
            client.recv(1_000)
            client.sendall(b"HTTP/1.1 400 Bad Request\r\n")

    thread = threading.Thread(target=answer)
    thread.start()
    with pytest.raises(dist.DistNetworkError, match=f"127.0.0.1, {port}.*as a store"):
        dist.TCPStore("127.0.0.1", port, timeout=timedelta(0))
    thread.join()
    listener.close()


class Slow(socket.socket):
    """A listener whose thread is not yet told whom it let in, when all ends."""

    def accept(self):
        found = super().accept()
        self.let_in.set()
        assert self.goes_on.wait(10)
        return found


def test_who_comes_as_a_store_ends_is_hung_up_on():
    listener = Slow(fileno=_tcp_store.listen("127.0.0.1", 0).detach())
    listener.let_in, listener.goes_on = threading.Event(), threading.Event()
    server = _tcp_store._Server(listener)
    with socket.create_connection(("127.0.0.1", server.port), 10) as late:
        assert listener.let_in.wait(10)
        del server
        listener.goes_on.set()
        with contextlib.suppress(ConnectionError):
            late.sendall(b'["wait", ["word"], 1000]\n')
            assert late.recv(100) == b""


def test_who_calls_itself_has_not_reached_anybody(monkeypatch):
    def call_itself(address, timeout):
        caller = socket.socket()
        caller.bind(address)
        caller.connect(address)  # as the system may choose where nobody listens
        return caller

    port = free_port()
    monkeypatch.setattr(socket, "create_connection", call_itself)
    with pytest.raises(dist.DistNetworkError, match=f"connect to .127.0.0.1, {port}"):
        _tcp_store.connect("127.0.0.1", port, timedelta(0))


def test_a_file_that_is_no_store_is_named(tmp_path):
    path = tmp_path / "store"
    for text in ("[1", "[1]", '{"a": 1}'):
        path.write_text(text)
        with pytest.raises(dist.DistStoreError, match="is not a store; remove it"):
            dist.FileStore(str(path), 1).set("a", "1")


def test_a_store_without_server_is_named():
    port = free_port()
    with pytest.raises(dist.DistNetworkError, match=f"127.0.0.1, {port}"):
        dist.TCPStore("127.0.0.1", port, timeout=SHORT)


def test_a_taken_port_is_named():
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    with pytest.raises(dist.DistNetworkError, match=f"port: {store.port}"):
        dist.TCPStore("127.0.0.1", store.port, is_master=True)


def test_a_store_tells_how_many_joined():
    with pytest.raises(dist.DistStoreError, match="1/2 clients joined"):
        dist.TCPStore("127.0.0.1", 0, 2, is_master=True, timeout=SHORT)


@pytest.mark.parametrize("given", range(5), ids=lambda count: f"{count}_variables")
def test_what_the_environment_lacks_is_named(given, monkeypatch):
    values = ("0", "1", "127.0.0.1", "x")
    for name, value in list(zip(VARIABLES, values, strict=True))[:given]:
        monkeypatch.setenv(name, value)

    def program(t):
        return t.distributed.init_process_group("gloo")

    assert_same(program)


def test_wrong_starts_are_refused_in_pytorchs_words():
    calls = {
        "scheme": {"init_method": "smoke://x"},
        "port": {"init_method": "tcp://127.0.0.1"},
        "rank": {"init_method": "tcp://127.0.0.1:29999"},
        "size": {"init_method": "tcp://127.0.0.1:29999", "rank": 0},
        "twice": {"init_method": "tcp://127.0.0.1:29999?rank=0", "rank": 0},
        "path": {"init_method": "file://"},
        "store size": {"store": True},
        "store rank": {"store": True, "world_size": 1},
        "both": {"store": True, "init_method": "env://", "rank": 0, "world_size": 1},
        "timeout": {"timeout": 5},
    }

    def program(t):
        found = {}
        for name, given in calls.items():
            options = dict(given)
            if "store" in options:
                options["store"] = t.distributed.HashStore()
            found[name] = refused(
                lambda o=options: t.distributed.init_process_group("gloo", **o)
            )
        return found

    assert_same(program)


def test_without_a_group_pytorchs_words_say_so():
    def program(t):
        d = t.distributed
        calls = (
            *(d.get_rank, d.get_world_size, d.get_backend, d.barrier, d.new_group),
            *(d.destroy_process_group, d.get_node_local_rank),
            lambda: d.all_reduce(t.ones(1)),
            lambda: d.get_rank(d.GroupMember.NON_GROUP_MEMBER),
        )
        return [refused(call) for call in calls], d.is_initialized(), d.is_available()

    assert_same(program)


def test_one_process_is_a_group_too():
    def program(t):
        d = t.distributed
        store = d.HashStore()
        d.init_process_group("gloo", store=store, rank=0, world_size=1)
        try:
            x = t.ones(2)
            d.all_reduce(x)
            everything = [None]
            d.all_gather_object(everything, "me")
            seen = d.get_rank(), d.get_world_size(), d.get_backend(), d.is_initialized()
            return x, everything, seen, d.barrier(), d.get_backend_config()[:8]
        finally:
            d.destroy_process_group()

    assert_same(program)


def test_unknown_and_absent_backends_are_named():
    given = {"store": dist.HashStore(), "rank": 0, "world_size": 1}
    with pytest.raises(AssertionError, match="Unknown c10d backend type SMOKE"):
        dist.init_process_group("smoke", **given)
    with pytest.raises(AssertionError, match="Unknown c10d backend type SMOKE"):
        dist.init_process_group("cpu:gloo,cuda:smoke", **given)
    assert not dist.is_initialized()


@pytest.mark.skipif(dist.is_nccl_available(), reason="needs no NCCL")
def test_without_nccl_an_error_says_what_to_install():
    given = {"store": dist.HashStore(), "rank": 0, "world_size": 1}
    with pytest.raises(RuntimeError, match="doesn't have NCCL built in") as caught:
        dist.init_process_group("nccl", **given)
    assert "cuda12" in caught.value.__notes__[0]


def test_names_of_backends_and_reductions_are_pytorchs():
    def program(t):
        d = t.distributed
        op = d.ReduceOp.SUM
        return [
            *(d.Backend("GLOO"), d.Backend.NCCL, d.Backend("own"), d.Backend.UNDEFINED),
            *(repr(op), str(op), isinstance(op, d.ReduceOp), op == d.ReduceOp.MAX),
            *(op == d.reduce_op.SUM, d.default_pg_timeout),
            refused(lambda: d.Backend(1)),
            *(d.is_backend_available("gloo"), d.is_ucc_available()),
            *(each.__mro__[1].__name__ for each in (d.DistBackendError, d.DistError)),
        ]

    assert_same(program)


# ---- other ways to meet -------------------------------------------------------------


def by_address(rank, address):
    dist.init_process_group("gloo", address, world_size=2, rank=rank)
    x = gradtape.ones(1) * (rank + 1)
    dist.all_reduce(x)
    dist.destroy_process_group()
    return x.item()


def meet(kind, where):
    rank = int(os.environ.pop("RANK"))
    return [by_address(rank, f"{kind}://{where}") for _ in range(2)][-1]


def test_processes_meet_at_an_address():
    assert launch(meet, 2, "tcp", f"127.0.0.1:{free_port()}") == [3.0, 3.0]


def meet_in_files(folder):
    rank = int(os.environ["RANK"])
    return [by_address(rank, f"file://{folder}/{turn}") for turn in "ab"][-1]


def test_processes_meet_in_a_file(tmp_path: Path):
    assert launch(meet_in_files, 2, str(tmp_path)) == [3.0, 3.0]
