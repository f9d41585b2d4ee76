"""Handle: a value that stays in a runtime, named so that it is sent once."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from .errors import error_for


class Handle:
    """A value that stays in its runtime. Accepted wherever its value would be; freed by ``free()`` or ``del``.

    Made by ``MojoRuntime.put`` and by kernels that return handles.
    """

    __slots__ = ("runtime", "id", "_engine", "__weakref__")

    def __init__(self, engine: Any, runtime: int, id: int) -> None:
        self.runtime = runtime
        self.id = id
        self._engine = engine

    def get(self) -> Any:
        """A copy of the value."""
        return self._engine.get(self.runtime, self.id)

    def free(self) -> None:
        """Frees the value. A second call does nothing; a later use is ``handle_not_found``."""
        engine, self._engine = self._engine, _FREED
        engine.free(self.runtime, self.id)

    def __del__(self) -> None:
        try:
            engine, self._engine = self._engine, _FREED
            engine.discard(self.runtime, self.id)
        except Exception:  # the runtime is gone, and the value with it
            pass

    def __str__(self) -> str:
        return f"h-{self.runtime:x}-{self.id:x}"

    def __repr__(self) -> str:
        return f"<krt.Handle {self}>"


class _Freed:
    """Stands in for the engine of a handle that was freed."""

    def get(self, runtime: int, id: int) -> Any:
        raise error_for("handle_not_found", f"handle h-{runtime:x}-{id:x} was freed")

    def free(self, runtime: int, id: int) -> None:
        pass

    discard = free


_FREED = _Freed()

_live: weakref.WeakValueDictionary[tuple[int, int], Handle] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def handle_of(engine: Any, runtime: int, id: int) -> Handle:
    """The one object of a handle: a kernel that returns a handle that it was given returns the same object."""
    with _lock:
        handle = _live.get((runtime, id))
        if handle is None:
            handle = _live[runtime, id] = Handle(engine, runtime, id)
        return handle


def disown_all() -> None:
    """In the child after fork(): the values belong to the parent, and so does freeing them."""
    for handle in list(_live.values()):
        handle._engine = _FREED
    _live.clear()
