"""Linear algebra: gradtape.linalg mirrors torch.linalg."""

from ..ops._linalg import LinAlgError as LinAlgError
from ..ops.linalg_cholesky import cholesky as cholesky
from ..ops.linalg_cholesky import cholesky_ex as cholesky_ex
from ..ops.linalg_det import det as det
from ..ops.linalg_det import slogdet as slogdet
from ..ops.linalg_eig import eig as eig
from ..ops.linalg_eig import eigh as eigh
from ..ops.linalg_eig import eigvals as eigvals
from ..ops.linalg_eig import eigvalsh as eigvalsh
from ..ops.linalg_lu import lu as lu
from ..ops.linalg_lu import lu_factor as lu_factor
from ..ops.linalg_lu import lu_factor_ex as lu_factor_ex
from ..ops.linalg_lu_solve import lu_solve as lu_solve
from ..ops.linalg_solve import inv as inv
from ..ops.linalg_solve import inv_ex as inv_ex
from ..ops.linalg_solve import solve as solve
from ..ops.linalg_solve import solve_ex as solve_ex
from ..ops.linalg_solve import tensorinv as tensorinv
from ..ops.linalg_solve import tensorsolve as tensorsolve
from ..ops.linalg_svd import svd as svd
from ..ops.linalg_svd import svdvals as svdvals
from ..ops.linalg_triangular import solve_triangular as solve_triangular
