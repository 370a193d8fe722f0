"""All op families; importing this package declares them."""

from . import layout, pointwise, reduce
