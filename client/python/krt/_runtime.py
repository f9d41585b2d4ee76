"""MojoRuntime: kernels by name, in this process or over gRPC, through one interface."""

from __future__ import annotations

import os
import queue
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Callable, Generator, Iterable, Mapping, cast

from . import _handles, _local
from .errors import MojoRuntimeConfigurationError, MojoRuntimeError, error_for, failure
from ._handles import Handle
from ._libraries import Libraries

if TYPE_CHECKING:
    from ._catalogue import Catalogue

DEFAULT_ADDRESS = "127.0.0.1:50099"
ARRAYS = ("auto", "list", "numpy", "torch", "same")


class MojoRuntime:
    """Executes kernels by name.

    mode          ``"local"``: in this process. ``"remote"``: by the server at ``address``. Same methods, same bits.
    address       host:port or unix:PATH of a ``krt serve``; 127.0.0.1:50099 where none is given.
    timeout       seconds after which a call that gives none of its own is given up; None waits.
    raise_errors  True: a failed ``execute`` raises what it would have answered.
    arrays        what tensors in results become: ``"auto"`` numpy arrays where an argument was an array, else lists;
                  ``"list"``, ``"numpy"``, ``"torch"``; ``"same"`` the kind of the first array among the arguments.
    threads       of the kernels of a local runtime; 0 takes as many as the machine has.

    Every method may be called from any thread.
    """

    def __init__(
        self,
        *,
        mode: str = "local",
        address: str | None = None,
        timeout: float | None = None,
        raise_errors: bool = False,
        arrays: str = "auto",
        threads: int = 0,
    ) -> None:
        if mode not in ("local", "remote"):
            raise MojoRuntimeConfigurationError(
                "compute_runtime_unavailable", f"mode is 'local' or 'remote', got {mode!r}"
            )
        if arrays not in ARRAYS:
            raise error_for("invalid_arguments", f"arrays is one of {', '.join(ARRAYS)}; got {arrays!r}")
        if mode == "local" and address is not None:
            raise error_for("invalid_arguments", "address belongs to mode='remote'")
        if mode == "remote" and threads != 0:
            raise error_for("invalid_arguments", "threads belongs to mode='local'; the server has its own")
        self._mode = mode
        self._address = address or DEFAULT_ADDRESS
        self._timeout = timeout
        self._raise_errors = raise_errors
        self._arrays = arrays
        self._threads = threads
        self._engine = self._open()
        self._libraries: Libraries | None = None
        self._functions: dict[tuple[str, str], tuple[Any, Callable[..., Any]]] = {}  # by name, of one engine
        _runtimes.add(self)

    def _open(self) -> Any:
        if self._mode == "remote":
            from . import _remote  # grpcio, only where it is used

            return _remote.open_engine(self._address, self._arrays, self._timeout)
        return _local.open_engine(self._arrays, self._threads)

    def execute(
        self,
        module: str,
        function: str,
        args: Any = None,
        request_id: str | None = None,
        *,
        timeout: float | None = None,
        on_event: Callable[[Any], object] | None = None,
    ) -> dict[str, Any]:
        """Calls ``module.function``.

        ``args``: None is no argument, a list is positional, a dict is by name, anything else is the one argument.
        The answer has ``module``, ``function``, ``request_id``, ``success``, ``result``, ``status`` and
        ``status_name`` (the kernel's own), ``error_code`` and ``error``, ``latency_ms``, ``engine_used``.
        A call that fails is answered with ``success`` False, and never raises unless the runtime has
        ``raise_errors``.

        ``on_event`` gets what a function such as ``engine.generate`` answers before its result; an exception of its
        own ends the call and is raised here.
        """
        answer: dict[str, Any] = self._engine.execute(
            module, function, args, request_id, self._timeout if timeout is None else timeout, on_event
        )
        if self._raise_errors and not answer["success"]:
            raise _error_in(answer)
        return answer

    def function(self, module: str, name: str) -> Callable[..., Any]:
        """A function resolved once: called with its positional arguments, it gives the kernel's result, without the
        rest of what ``execute`` answers. Raises where ``execute`` would answer a failure."""
        engine = self._engine
        known = self._functions.get((module, name))
        if known is None or known[0] is not engine:
            known = self._functions[module, name] = (engine, engine.function(module, name))
        return known[1]

    def call(self, module: str, function: str, args: Any = None) -> Any:
        """The result of ``execute`` alone. Raises where ``execute`` would answer a failure."""
        answer = self._engine.execute(module, function, args, None, self._timeout)
        if not answer["success"]:
            raise _error_in(answer)
        return answer["result"]

    def generate(
        self, model: Handle, prompt: str | None = None, *, timeout: float | None = None, **options: Any
    ) -> Generator[str, None, dict[str, Any]]:
        """The text that a model writes after ``prompt``, piece by piece: ``for piece in runtime.generate(...)``.

        ``model`` is a handle of ``engine.load``; ``options`` are the other parameters of ``engine.generate``
        (``max_tokens``, ``temperature``, ``seed``, ``stop``, ...). The generator's return value is the result of
        ``engine.generate``. Raises where ``execute`` would answer a failure. Leaving the loop ends the text.
        """
        args = {"model": model, **options} | ({} if prompt is None else {"prompt": prompt})
        arrived: queue.Queue[Any] = queue.Queue(maxsize=4)  # how far the model may be ahead
        left = threading.Event()
        seconds = self._timeout if timeout is None else timeout

        def on_event(event: dict[str, Any]) -> None:
            if left.is_set():
                raise _Left
            arrived.put(event["text"])

        def write() -> None:
            try:
                arrived.put(self._engine.execute("engine", "generate", args, None, seconds, on_event))
            except BaseException as error:
                arrived.put(error)

        threading.Thread(target=write, name="krt.generate").start()
        try:
            while isinstance(piece := arrived.get(), str):
                if piece:
                    yield piece
        finally:
            left.set()
            while not arrived.empty():  # so that write() does not wait for a place
                arrived.get_nowait()
        if isinstance(piece, BaseException):
            raise piece
        if not piece["success"]:
            raise _error_in(piece)
        result: dict[str, Any] = piece["result"]
        return result

    def execute_batch(self, items: Iterable[Mapping[str, Any]], *, partial_ok: bool = True) -> dict[str, Any]:
        """Calls every item ``{"module", "function", "args"}`` (and ``"request_id"``), in order.

        The answer has ``results`` (as of ``execute``, in the order of the items), ``count``, ``ok``, ``failed``,
        ``stopped_early`` and ``latency_ms``. One failure spoils no other; with ``partial_ok`` False the first one
        ends the batch.
        """
        start = time.perf_counter()
        items = list(items)
        if self._mode == "remote" and partial_ok:
            results = self._engine.execute_batch(items, self._timeout)
        else:
            results = self._execute_each(items, partial_ok)
        ok = sum(answer["success"] for answer in results)
        return {
            "results": results,
            "count": len(results),
            "ok": ok,
            "failed": len(results) - ok,
            "stopped_early": len(results) < len(items),
            "latency_ms": (time.perf_counter() - start) * 1e3,
        }

    def _execute_each(self, items: list[Mapping[str, Any]], partial_ok: bool) -> list[dict[str, Any]]:
        results = []
        for item in items:
            answer = self._engine.execute(
                item.get("module"), item.get("function"), item.get("args"), item.get("request_id"), self._timeout
            )
            results.append(answer)
            if not answer["success"] and not partial_ok:
                break
        return results

    def health(self) -> dict[str, Any]:
        """``ok``, ``version``, ``uptime_seconds``, ``engine``; of a server that does not answer, ``ok`` False and
        the reason in ``error``. Never raises."""
        health: dict[str, Any] = self._engine.health()
        return health

    def list_modules(self) -> list[dict[str, Any]]:
        """Every module as ``{"name", "engine", "functions"}``, sorted."""
        modules: list[dict[str, Any]] = self._engine.list_modules()
        return modules

    def list_functions(self, module: str) -> tuple[str, ...]:
        """The names of a module's functions, sorted."""
        return tuple(self._engine.list_functions(module))

    def describe(self, module: str, function: str = "") -> dict[str, Any]:
        """The declaration of a function (signature, parameters, result, statuses, capabilities, variants, example),
        or, without ``function``, the module's summary and all of its functions."""
        description: dict[str, Any] = self._engine.describe(module, function)
        return description

    def put(self, value: Any, name: str = "", *, copy: bool = True) -> Handle:
        """Keeps a value in the runtime. The handle may be given wherever the value may, and is freed with ``del``.

        ``copy=False`` shares the memory of an array with a local runtime; a remote one has a copy in any case.
        """
        handle: Handle = self._engine.put(value, name, copy)
        return handle

    def list_handles(self) -> list[dict[str, Any]]:
        """Every value that is kept, as ``{"handle", "name", "type", "bytes"}``, in the order of creation."""
        entries: list[dict[str, Any]] = self._engine.list_handles()
        return entries

    @property
    def libraries(self) -> Catalogue:
        """Every module and function as attributes: ``runtime.libraries.llmk.residual.residual_add_flat(a, b, n)``."""
        if self._libraries is None:
            self._libraries = Libraries(self)
        return cast("Catalogue", self._libraries)

    def close(self) -> None:
        """Lets go of the connection, or of the kernels' threads. Later calls fail with ``failed_precondition``."""
        engine, self._engine = self._engine, _NoEngine(error_for("failed_precondition", "the runtime was closed"))
        if self._mode == "remote":
            engine.close()

    def __enter__(self) -> MojoRuntime:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        where = f", address={self._address!r}" if self._mode == "remote" else ""
        return f"<krt.MojoRuntime mode={self._mode!r}{where}>"


class _Left(Exception):
    """Nobody reads a generated text any more."""


def _error_in(answer: Mapping[str, Any]) -> Exception:
    details = {key: answer[key] for key in ("module", "function", "engine_used", "request_id")}
    return error_for(answer["error_code"], answer["error"], details)


class _NoEngine:
    """Stands in for an engine that is gone: everything is refused with the same error."""

    def __init__(self, error: MojoRuntimeError) -> None:
        self._error = error

    def execute(
        self, module: Any, function: Any, args: Any, request_id: Any, timeout: Any, on_event: Any = None
    ) -> dict[str, Any]:
        return failure(module, function, request_id, self._error)

    def execute_batch(self, items: list[Mapping[str, Any]], timeout: Any) -> list[dict[str, Any]]:
        return [self.execute(i.get("module"), i.get("function"), None, i.get("request_id"), None) for i in items]

    def health(self) -> dict[str, Any]:
        error = self._error.message
        return {"ok": False, "version": "", "uptime_seconds": 0.0, "engine": "unavailable", "error": error}

    def close(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        raise self._error


# --- fork()

_runtimes: weakref.WeakSet[MojoRuntime] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    """Threads do not survive fork(), and the locks that they held stay locked. So every runtime gets a new engine in
    the child; the old one is neither used nor destroyed, since either could wait for a thread that is not there."""
    _handles.disown_all()
    used = [r for r in _runtimes if not isinstance(r._engine, _NoEngine)]
    _local.after_fork_in_child([r._engine for r in used])
    if any(r._mode == "remote" for r in used):
        from . import _remote

        _remote.after_fork_in_child()
    for runtime in used:
        runtime._threads = 0  # as many as the child can have
        try:
            runtime._engine = runtime._open()
        except MojoRuntimeError as error:
            runtime._engine = _NoEngine(error)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)

_default: MojoRuntime | None = None
_default_lock = threading.Lock()


def default_runtime() -> MojoRuntime:
    """The local runtime behind ``krt.libraries`` and ``krt.decode``, made at its first use with the threads that the
    environment's KRT_THREADS says, or as many as the machine has."""
    global _default
    if _default is None:
        with _default_lock:
            if _default is None:
                _default = MojoRuntime(threads=int(os.environ.get("KRT_THREADS", "0")))
    return _default
