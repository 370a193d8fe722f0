"""All op families; importing this package declares them."""

from . import _aten
from ._aten import aten as aten
from ._custom import __getattr__ as __getattr__
from ._custom import load_library as load_library
from .creation import (
    buffers,
    dlpack,
    files,
    from_data,
    full,
    legacy_types,
    like,
    random,
    random_gamma,
    random_inplace,
    random_sample,
    ranges,
    window_functions,
)
from .fourier import stft
from .indexing import (
    advanced,
    basic,
    gather,
    index_put,
    index_reduce,
    index_select,
    masked,
    scatter,
    scatter_reduce,
    select_scatter,
)
from .linalg import (
    addr,
    cholesky,
    covariance,
    det,
    distances,
    eig,
    einsum,
    householder,
    integer_mm,
    ldl,
    linear,
    low_rank,
    lstsq,
    lu,
    lu_solve,
    matmul,
    matrix_power,
    norms,
    products,
    qr,
    rank,
    solve,
    svd,
    triangular_solve,
    vectors,
)
from .memory import (
    conversion,
    copy_fill,
    deepcopy,
    pickling,
    resize_set,
    storages,
    to_python,
)
from .nn import (
    attention,
    conv,
    ctc,
    embedding,
    embedding_bag,
    fused,
    grid_sample,
    interpolate,
    loss,
    loss_binary,
    loss_classes,
    norm,
    packed_sequence,
    pool,
    pool_average,
    pool_fractional,
    recurrent,
    weight_norm,
)
from .pointwise import (
    activation,
    activation_clipped,
    activation_gated,
    activation_piecewise,
    activation_smooth,
    arithmetic,
    binary_functions,
    comparison,
    complex_parts,
    division,
    exponential,
    foreach,
    mantissa,
    minimum_maximum,
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
    logical,
    min_max,
    mode,
    norms,
    products,
    quantiles,
    searchsorted,
    segments,
    softmax,
    sorting,
    sums,
    unique,
    variance,
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
    wrapper_subclasses,
)
from .views import (
    broadcast,
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
