"""The errors of krt.

Every error carries ``code``, one of a closed list (``invalid_arguments``, ``handle_not_found``, ...), a sentence,
and ``details``. ``MojoRuntime.execute`` answers a failed call with a dict instead, unless ``raise_errors=True``.
"""

from __future__ import annotations

from typing import Any, Mapping


class MojoRuntimeError(RuntimeError):
    """What krt could not do: ``code`` is for programs, ``message`` for people."""

    def __init__(self, code: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.details: dict[str, Any] = dict(details or {})

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.message, self.details)


class MojoRuntimeConfigurationError(MojoRuntimeError):
    """The runtime cannot be reached or is not there (``compute_runtime_unavailable``)."""


class MojoModuleNotRegisteredError(MojoRuntimeError):
    """No module has that name (``module_not_registered``)."""


class MojoFunctionNotRegisteredError(MojoRuntimeError):
    """The module has no function of that name (``function_not_registered``)."""


class MojoExecutionError(MojoRuntimeError):
    """Every other code: ``invalid_arguments``, ``resource_exhausted``, ``deadline_exceeded``, ..."""


class KernelStatusError(MojoExecutionError):
    """A kernel's own refusal, where a plain function of ``krt.decode`` has no place for a status.

    ``code`` is the status's name (``decode_nan_logit``), ``status`` its number.
    """

    def __init__(self, code: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(code, message, details)
        self.status = int(self.details.get("status", 0))


_CLASS_OF = {
    "compute_runtime_unavailable": MojoRuntimeConfigurationError,
    "module_not_registered": MojoModuleNotRegisteredError,
    "function_not_registered": MojoFunctionNotRegisteredError,
}


def error_for(code: str, message: str, details: Mapping[str, Any] | None = None) -> MojoRuntimeError:
    """The error of the class that belongs to ``code``."""
    return _CLASS_OF.get(code, MojoExecutionError)(code, message, details)


def failure(module: Any, function: Any, request_id: str | None, error: MojoRuntimeError) -> dict[str, Any]:
    """What ``execute`` answers where nothing ran."""
    return {
        "module": module,
        "function": function,
        "request_id": request_id or "",
        "success": False,
        "result": None,
        "status": 0,
        "status_name": "ok",
        "error_code": error.code,
        "error": error.message,
        "latency_ms": 0.0,
        "engine_used": "none",
    }


for _class in [MojoRuntimeError, KernelStatusError, MojoExecutionError, *_CLASS_OF.values()]:
    _class.__module__ = "krt"  # where people find them, in tracebacks too
del _class
