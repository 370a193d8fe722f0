"""gradtape.hub: weights published at an address, kept where PyTorch keeps them."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from typing import Any
from urllib.parse import urlparse

from ._common.refusals import refused_names
from .serialization import load as load_file

globals().update(refused_names("hub"))

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_CHUNK = 1 << 17


class _Folder:
    """The folder that set_dir() chose."""

    chosen: str | None = None


def _get_torch_home() -> str:  # torchvision asks for it
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return os.path.expanduser(home)


def get_dir() -> str:
    """Return the folder of PyTorch's downloads, by its environment variables."""
    if _Folder.chosen is not None:
        return _Folder.chosen
    return os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[Any]) -> None:
    """Choose the folder that :func:`get_dir` returns."""
    _Folder.chosen = os.path.expanduser(d)


def load_state_dict_from_url(
    url: str,
    model_dir: str | os.PathLike[Any] | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """Load what ``torch.save`` wrote, downloaded into ``model_dir`` unless it is there.

    ``model_dir`` is the folder ``checkpoints`` of :func:`get_dir` if none is given;
    ``check_hash`` takes the beginning of the file's SHA-256 from its name,
    ``name-0123abcd.pth``. Unlike PyTorch's, it never unpacks code: what is loaded must
    be tensors and plain containers, whatever ``weights_only`` says.
    """
    del weights_only
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stdout.write(f'Downloading: "{url}" to {path}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found and found.group(1), progress)
    return load_file(path, map_location=map_location)


def download_url_to_file(
    url: str,
    dst: str | os.PathLike[Any],
    hash_prefix: str | None = None,
    progress: bool = True,
) -> None:
    """Fetch a file; nothing is left at ``dst`` unless all of it has come.

    Raises RuntimeError where its SHA-256 does not begin with ``hash_prefix``.
    """
    from urllib.request import Request, urlopen  # 20 ms, for downloads alone

    from tqdm import tqdm

    path = os.path.expanduser(dst)
    request = Request(url, headers={"User-Agent": "torch.hub"})
    digest = hashlib.sha256()
    with urlopen(request) as source, _new_file_beside(path) as file:
        try:
            length = int(source.headers.get("Content-Length") or 0) or None
            with tqdm(
                total=length,
                disable=not progress,
                unit="B",
                unit_scale=True,
                unit_divisor=1024,
            ) as bar:
                while piece := source.read(_CHUNK):
                    file.write(piece)
                    digest.update(piece)
                    bar.update(len(piece))
            file.close()
            found = digest.hexdigest()
            if not found.startswith(hash_prefix or ""):
                raise RuntimeError(
                    f'invalid hash value (expected "{hash_prefix}", got "{found}")'
                )
            os.replace(file.name, path)
        except BaseException:
            file.close()
            os.remove(file.name)
            raise


def _new_file_beside(path: str | os.PathLike[Any]) -> Any:
    folder, name = os.path.split(path)
    return tempfile.NamedTemporaryFile(
        prefix=f"{name}.", suffix=".partial", dir=folder or ".", delete=False
    )
