"""What the loader is made of: fetching, collating, and the workers' side."""

from . import collate as collate
from . import fetch as fetch
from . import pin_memory as pin_memory
from . import worker as worker
from .worker import MP_STATUS_CHECK_INTERVAL as MP_STATUS_CHECK_INTERVAL
from .worker import ExceptionWrapper as ExceptionWrapper
