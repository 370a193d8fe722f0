"""Where processes meet: from an address to a store, a rank and a world size."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from numbers import Integral
from typing import Any
from urllib.parse import urlparse

from ._store import FileStore, Store
from ._tcp_store import TCPStore
from .constants import default_pg_timeout

__all__ = ["register_rendezvous_handler", "rendezvous"]

Meeting = tuple[Store, int, int]
Handler = Callable[..., Iterator[Meeting]]

_handlers: dict[str, Handler] = {}


def register_rendezvous_handler(scheme: str, handler: Handler) -> None:
    """Let ``handler(url)`` yield (store, rank, world size) for addresses ``scheme://``.

    Raises RuntimeError where the scheme has a handler.
    """
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, **kwargs: Any
) -> Iterator[Meeting]:
    """Return an iterator whose first value is (store, rank, world size).

    Raises RuntimeError for a scheme without handler, ValueError where the address or
    the environment does not say enough.
    """
    if not isinstance(url, str):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    for name, number in (("rank", rank), ("world_size", world_size)):
        if not isinstance(number, Integral):
            raise RuntimeError(f"`{name}` must be an integer. {number}")
    parsed = urlparse(url)
    given = {"rank": rank, "world_size": world_size}
    named = {name: str(number) for name, number in given.items() if number != -1}
    if named and _query(parsed.query).keys() & given.keys():
        raise AssertionError(
            f"The url: {url} has node-specific arguments(rank, world_size) already."
        )
    if parsed.scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {parsed.scheme}://")
    query = "&".join(f"{k}={v}" for k, v in (_query(parsed.query) | named).items())
    return _handlers[parsed.scheme](parsed._replace(query=query).geturl(), **kwargs)


def _query(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in text.split("&") if pair)
    return {name: value for name, _, value in pairs}


def _complaint(scheme: str, what: str) -> ValueError:
    return ValueError(
        f"Error initializing torch.distributed using {scheme}:// rendezvous: {what}"
    )


def _numbers(scheme: str, query: dict[str, str]) -> tuple[int, int]:
    for name, words in (("rank", "rank"), ("world_size", "world size")):
        if name not in query:
            raise _complaint(scheme, f"{words} parameter missing")
    return int(query["rank"]), int(query["world_size"])


def _from_file(url: str, **kwargs: Any) -> Iterator[Meeting]:
    parsed = urlparse(url)
    if not parsed.path:
        raise _complaint("file", "path missing")
    rank, world_size = _numbers("file", _query(parsed.query))
    yield FileStore(parsed.path, world_size), rank, world_size


def _from_address(
    url: str, timeout: timedelta = default_pg_timeout, **kwargs: Any
) -> Iterator[Meeting]:
    parsed = urlparse(url)
    if parsed.port is None:
        raise _complaint("tcp", "port number missing")
    rank, world_size = _numbers("tcp", _query(parsed.query))
    host = parsed.hostname or ""
    yield _tcp_store(host, parsed.port, rank, world_size, timeout), rank, world_size


def _from_environment(
    url: str, timeout: timedelta = default_pg_timeout, **kwargs: Any
) -> Iterator[Meeting]:
    query = _query(urlparse(url).query)
    rank = int(query.get("rank") or _variable("RANK"))
    world_size = int(query.get("world_size") or _variable("WORLD_SIZE"))
    host, port = _variable("MASTER_ADDR"), int(_variable("MASTER_PORT"))
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        port += 1  # on the port itself, torchrun keeps a store of its own kind
    yield _tcp_store(host, port, rank, world_size, timeout), rank, world_size


def _variable(name: str) -> str:
    found = os.environ.get(name)
    if not found:
        what = f"environment variable {name} expected, but not set"
        raise _complaint("env", what)
    return found


def _tcp_store(
    host: str, port: int, rank: int, world_size: int, timeout: timedelta
) -> Store:
    if not 0 <= port < 2**16:
        raise ValueError(f"port must have value from 0 to 65535 but was {port}.")
    return TCPStore(
        host, port, world_size, rank == 0, timeout=timeout, multi_tenant=True
    )


register_rendezvous_handler("file", _from_file)
register_rendezvous_handler("tcp", _from_address)
register_rendezvous_handler("env", _from_environment)
