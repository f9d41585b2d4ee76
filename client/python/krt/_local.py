"""The engine in this process: the native module, where this installation has it."""

from __future__ import annotations

from typing import Any

from . import _handles, errors

try:
    from . import _native
except ImportError as failure:
    _native = None  # type: ignore[assignment]
    _reason = str(failure)
else:
    _native._install(errors.error_for, errors.KernelStatusError, _handles.Handle, _handles.handle_of)

_threads_lost = False  # this is the child of a process whose engines had threads


def open_engine(arrays: str, threads: int) -> Any:
    """A new engine; raises where the native module is missing."""
    if _native is None:
        raise errors.MojoRuntimeConfigurationError(
            "compute_runtime_unavailable",
            "local mode needs krt's native module, which this installation does not have "
            f"({_reason}); install krt-runtime from a wheel or with a C++ compiler, or use mode='remote'",
        )
    if _threads_lost:
        if threads > 1:
            raise errors.MojoExecutionError(
                "failed_precondition",
                "a runtime was in use before fork(), and the state of its threads does not survive that: in this "
                "process kernels run in the calling thread (threads=1), with the same results; for more threads "
                "start the process by spawn",
            )
        threads = 1
    return _native.Engine(arrays, threads)


def after_fork_in_child(engines: list[Any]) -> None:
    """In the child after fork(): `engines`, of either kind, are the parent's and stay as they are."""
    global _threads_lost
    if _native is None:
        return
    _native._set_main_thread()
    for engine in engines:
        _native._leak(engine)
        _threads_lost = _threads_lost or isinstance(engine, _native.Engine)
