"""All op families; importing this package declares them."""

from . import _aten
from ._aten import aten as aten
from ._custom import __getattr__ as __getattr__
from ._custom import load_library as load_library
from .creation import (
    buffers,
    distributions,
    factories,
    from_data,
    legacy_types,
    random,
    ranges,
    window_functions,
)
from .fourier import stft
from .indexing import getitem, index_put, index_select, masked, scatter, select_scatter
from .linalg import (
    cholesky,
    covariance,
    det,
    distances,
    eig,
    einsum,
    linear,
    lstsq,
    lu,
    lu_solve,
    matmul,
    matrix_power,
    norms,
    products,
    qr,
    solve,
    svd,
    triangular_solve,
)
from .memory import conversion, copy_fill, pickling, resize_set, storages, to_python
from .nn import (
    attention,
    conv,
    ctc,
    embedding,
    fused,
    grid_sample,
    interpolate,
    loss,
    loss_classes,
    norm,
    pool,
    recurrent,
)
from .pointwise import (
    activation,
    activation_gated,
    activation_piecewise,
    arithmetic,
    binary_functions,
    comparison,
    complex_parts,
    division,
    foreach,
    power,
    rounding,
    scalar,
    special,
    ternary,
    trigonometric,
)
from .rearrange import cat, flip_roll_repeat, meshgrid, pad, pixel_shuffle, tril_triu
from .reduction import (
    cumulative,
    differences,
    histograms,
    min_max,
    norms,
    reduce_ops,
    searchsorted,
    segments,
    softmax,
    sorting,
    unique,
)
from .sparse import create, layout, math
from .tensor import (
    assertions,
    determinism,
    native_functions,
    operators,
    queries,
    removed_names,
    repr,
    settings,
    subclasses,
)
from .views import (
    inplace_views,
    permute,
    reinterpret,
    reshape,
    slices,
    split,
    view_copies,
)

# isort: split
# Last: makes a function of every in-place method that the families above declared.
from .tensor import inplace_functions
