"""A real JupyterLab server for one test session, and what a user does in its page."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from socket import create_connection
from threading import Thread
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import nbformat
from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[2]
_ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)/(?:lab|tree)")


@dataclass(frozen=True)
class Lab:
    """A running server: its address, its token, the folder that it shows."""

    address: str
    token: str
    folder: Path
    pages: str = "lab/tree"

    def write(self, name: str, *cells: str) -> None:
        """Put a notebook of code cells into the folder."""
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        )
        nbformat.write(notebook, self.folder / name)

    def read(self, name: str) -> nbformat.NotebookNode:
        return nbformat.read(self.folder / name, as_version=4)

    def open(self, page: Page, name: str) -> None:
        """Open a notebook alone in the window."""
        page.goto(f"{self.address}/{self.pages}/{name}?token={self.token}&reset")
        page.wait_for_function("window.jupyterapp?.shell.currentWidget?.content?.model")


def wait_for_kernel(page: Page) -> None:
    """Wait until a kernel can run cells; without one, JupyterLab would ask."""
    kernel = "jupyterapp.shell.currentWidget.sessionContext.session?.kernel"
    page.wait_for_function(f"{kernel}?.status === 'idle'")


def run_all(page: Page) -> None:
    """Run all cells once the kernel is there."""
    wait_for_kernel(page)
    command(page, "notebook:run-all-cells")


def want_no_kernel(page: Page) -> None:
    """Answer "No Kernel" whenever JupyterLab asks, early or late."""
    page.add_locator_handler(
        page.locator(".jp-Dialog"),
        lambda dialog: dialog.get_by_role("button", name="No Kernel").click(),
    )


def command(page: Page, name: str, arguments: object = None) -> None:
    """Execute a command of JupyterLab and wait until it is done."""
    page.evaluate(
        """async ([name, arguments]) => {
            await jupyterapp.commands.execute(name, arguments);
        }""",  # what it returns may be a widget with all that it holds
        [name, arguments or {}],
    )


@contextmanager
def serve(
    folder: Path, *, plugin: bool = True, kernels: bool = True, classic: bool = False
) -> Generator[Lab]:
    """Run JupyterLab on a free port, with settings and trust of its own.

    ``classic`` runs Notebook 7 in its place.
    """
    state = folder / ".state"
    token = secrets.token_hex(16)
    with subprocess.Popen(
        [*_command(folder, token, classic), *([] if kernels else _NO_KERNELS)],
        env=_environment(state, plugin=plugin),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            pages = "notebooks" if classic else "lab/tree"
            lab = Lab(_wait_for_address(process), token, folder, pages)
            yield lab
            _end_kernels(lab)
        finally:
            # Asked politely, the server waits at times for a thread that never ends.
            os.killpg(process.pid, signal.SIGKILL)


_NO_KERNELS = [
    "--KernelSpecManager.ensure_native_kernel=False",
    "--KernelSpecManager.allowed_kernelspecs={'none'}",
]


_LAB = "jupyterlab", "LabApp"


def _command(folder: Path, token: str, classic: bool) -> list[str]:
    module, app = ("notebook", "JupyterNotebookApp") if classic else _LAB
    plugins = folder / ".state" / "labextensions"
    return [
        *(sys.executable, "-m", module, "--no-browser", "--allow-root"),
        *("--ip=127.0.0.1", "--port=0", f"--ServerApp.root_dir={folder}"),
        f"--IdentityProvider.token={token}",
        # The plugin as it was just built, whatever an installation holds. Files of
        # plugins are served by JupyterLab, which runs beside Notebook 7.
        *(f"--{name}.extra_labextensions_path={plugins}" for name in {app, "LabApp"}),
        f"--{app}.expose_app_in_browser=True",
        # The other manager asks PyPI what there is.
        "--LabApp.extension_manager=readonly",
    ]


def _environment(state: Path, *, plugin: bool) -> dict[str, str]:
    extensions = state / "labextensions"
    extensions.mkdir(parents=True)
    (extensions / "gradviz").symlink_to(ROOT / "gradviz" / "labextension")
    config = state / "config" / "labconfig"
    config.mkdir(parents=True)
    disabled = ["@jupyterlab/apputils-extension:announcements"]  # asks a server
    disabled += [] if plugin else ["gradviz"]
    page = {"disabledExtensions": dict.fromkeys(disabled, True)}
    # Else each page has Node asked whether JupyterLab is to be built anew.
    page_config = json.dumps(page | {"buildCheck": False})
    (config / "page_config.json").write_text(page_config)
    return os.environ | {
        "JUPYTER_CONFIG_DIR": str(state / "config"),
        "JUPYTER_DATA_DIR": str(state / "data"),
        "JUPYTER_RUNTIME_DIR": str(state / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(state / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(state / "workspaces"),
        "IPYTHONDIR": str(state / "ipython"),
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'engine'}",
    }


def _wait_for_address(process: subprocess.Popen[str]) -> str:
    """Read the log until it names the address; go on reading, or the pipe fills up."""
    assert process.stderr is not None
    log: list[str] = []
    for line in process.stderr:
        log.append(line)
        if found := _ADDRESS.search(line):
            Thread(target=process.stderr.read, daemon=True).start()
            _wait_until_it_listens(process, found[1])
            return found[1]
    raise RuntimeError("JupyterLab did not start:\n" + "".join(log))


def _wait_until_it_listens(process: subprocess.Popen[str], address: str) -> None:
    """Knock until somebody opens: the log is ahead of the server."""
    parts = urlsplit(address)
    while process.poll() is None:
        with suppress(ConnectionRefusedError):
            create_connection((parts.hostname, parts.port), timeout=30).close()
            return
        time.sleep(0.02)


def _end_kernels(lab: Lab) -> None:
    """Shut all kernels down; they live in process groups of their own."""
    with _ask(lab, "GET", "kernels") as reply:
        kernels = json.load(reply)
    for kernel in kernels:
        _ask(lab, "DELETE", f"kernels/{kernel['id']}").close()


def _ask(lab: Lab, method: str, path: str) -> HTTPResponse:
    headers = {"Authorization": f"token {lab.token}"}
    url = f"{lab.address}/api/{path}"
    return urlopen(Request(url, headers=headers, method=method), timeout=30)
