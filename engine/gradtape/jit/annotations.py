"""Types that PyTorch's compiler reads in signatures; nothing reads them here."""

from __future__ import annotations

from typing import Any, Final
from typing import Dict as Dict  # noqa: UP035
from typing import List as List  # noqa: UP035
from typing import Tuple as Tuple  # noqa: UP035


class BroadcastingListCls:
    """Stands for a number or so many of them: ``BroadcastingList2[int]``."""

    def __getitem__(self, types: Any) -> None: ...


BroadcastingList1: Final = BroadcastingListCls()
BroadcastingList2: Final = BroadcastingListCls()
BroadcastingList3: Final = BroadcastingListCls()
