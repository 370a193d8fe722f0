"""All op families; importing this package declares them."""

from . import (
    build,
    convert,
    create,
    index_advanced,
    index_basic,
    movement,
    parts,
    pointwise,
    random,
    reduce,
    represent,
    sequences,
    values,
    write,
)
