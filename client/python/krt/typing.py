"""Types for annotations."""

from __future__ import annotations

from typing import Any, Protocol, Sequence, Union, runtime_checkable

from ._handles import Handle


@runtime_checkable
class SupportsDLPack(Protocol):
    """numpy arrays, torch tensors, and whatever else exports its memory by DLPack."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...


Array = Union[Sequence[float], SupportsDLPack, Handle]
"""What a list parameter takes: numbers, an array, or the handle of one. Any exporter of a buffer works too."""
