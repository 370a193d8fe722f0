"""What may go wrong between processes: the classes of errors, and their sentences."""

from __future__ import annotations

from typing import Final

__all__ = [
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
]


class DistError(RuntimeError):
    """Something between processes went wrong."""

    __module__ = "torch.distributed"


class DistBackendError(DistError):
    """A process is gone, or calls something else than the others do."""

    __module__ = "torch.distributed"


class DistNetworkError(DistError):
    """An address cannot be reached, or not be listened on."""

    __module__ = "torch.distributed"


class DistStoreError(DistError):
    """A store does not have in time what was asked of it."""

    __module__ = "torch.distributed"


NOT_INITIALIZED: Final = (
    "Default process group has not been initialized, "
    "please make sure to call init_process_group."
)
TWICE: Final = "trying to initialize the default process group twice!"
NO_TIMEDELTA: Final = (
    "Expected timeout argument to be of type datetime.timedelta, got {}"
)
INVALID_GROUP: Final = "Invalid process group specified"
NOT_REGISTERED: Final = (
    "Group {} is not registered, please create group with "
    "torch.distributed.new_group API"
)

# ---- between processes --------------------------------------------------------------

PEER_GONE: Final = (
    "Connection closed by peer: rank {peer} ended, or left the group, "
    "while rank {rank} waited for it in {doing}."
)
TIMED_OUT: Final = (
    "Timed out waiting {ms}ms for {doing} operation to complete: rank {rank} heard "
    "nothing from rank {peer}. Every process has to call the same collectives in the "
    "same order; a longer `timeout` may be given to init_process_group."
)
OUT_OF_STEP: Final = (
    "rank {peer} runs {theirs} while rank {rank} runs {ours}: every process has to "
    "call the same collectives in the same order, with tensors of the same types and "
    "sizes."
)
WRONG_LENGTH: Final = (
    "rank {rank} receives into {want} bytes, but rank {peer} sent {got}: give recv a "
    "tensor of the size and type that was sent."
)
CONNECTION_CLOSED: Final = (
    "Failed to recv, got 0 bytes. Connection was likely closed. "
    "Did the remote server shutdown or crash?"
)

# ---- engines that are not there -----------------------------------------------------

NO_MPI: Final = "Distributed package doesn't have MPI built in."
INSTALL_MPI: Final = (
    "processes that mpirun starts need mpi4py and an MPI library; "
    "pip install mpi4py mpich, or let `python -m gradtape.distributed.run` start "
    "them, which needs neither"
)
NO_NCCL: Final = "Distributed package doesn't have NCCL built in"
INSTALL_NCCL: Final = (
    "the backend 'nccl' needs CuPy with NCCL: pip install cupy-cuda12x or "
    "cupy-cuda13x; the backend 'gloo' needs neither, and takes CUDA tensors too"
)
UNKNOWN_BACKEND: Final = "Unknown c10d backend type {}"
