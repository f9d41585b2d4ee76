"""The engine behind MojoRuntime(mode="remote"): krt.v1.KernelRuntime over gRPC."""

from __future__ import annotations

import os
from typing import Any, Callable, Iterable, Mapping

import grpc  # type: ignore[import-untyped]

from . import _arrays, _handles, _wire
from ._arrays import Refusal
from .errors import MojoRuntimeError, error_for, failure

_CODES = {
    grpc.StatusCode.CANCELLED: "cancelled",
    grpc.StatusCode.INVALID_ARGUMENT: "invalid_arguments",
    grpc.StatusCode.DEADLINE_EXCEEDED: "deadline_exceeded",
    grpc.StatusCode.ALREADY_EXISTS: "already_exists",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "resource_exhausted",
    grpc.StatusCode.FAILED_PRECONDITION: "failed_precondition",
    # No krt answers there: nobody does, or a server without krt.v1.
    grpc.StatusCode.UNAVAILABLE: "compute_runtime_unavailable",
    grpc.StatusCode.UNIMPLEMENTED: "compute_runtime_unavailable",
}
_OPTIONS = [
    ("grpc.max_send_message_length", -1),  # the server's limit counts, and names itself
    ("grpc.max_receive_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 5000),  # how long one attempt to connect may take
    ("grpc.max_reconnect_backoff_ms", 2000),
    ("grpc.enable_http_proxy", 0),
]
FOREVER = 1e9  # seconds; more, or NaN, is no deadline
_FIELDS = ("module", "function", "request_id", "success", "result", "status", "status_name", "error_code", "error",
           "latency_ms", "engine_used")


class RemoteEngine:
    """Has the methods of the native Engine."""

    def __init__(self, address: str, arrays: str, timeout: float | None) -> None:
        self._address = address
        self._arrays = arrays
        self._timeout = timeout
        self._channel = grpc.insecure_channel(address, _OPTIONS)
        self._methods: dict[str, Any] = {}
        self._discards: set[Any] = set()  # grpcio cancels a call whose future nobody holds

    def execute(
        self,
        module: Any,
        function: Any,
        args: Any = None,
        request_id: Any = None,
        timeout: float | None = None,
        on_event: Callable[[Any], object] | None = None,
    ) -> dict[str, Any]:
        request, writer = _wire.message("ExecuteRequest")(), _wire.Writer()
        try:
            self._fill(request, writer, module, function, args, request_id)
            if on_event is None:
                response = self._call("Execute", request, timeout)
            else:
                response = self._generate(request, timeout, on_event)
            return self._answer(response, writer, args)
        except MojoRuntimeError as error:
            return failure(module, function, request_id, error)

    def execute_batch(self, items: Iterable[Mapping[str, Any]], timeout: float | None) -> list[dict[str, Any]]:
        """All items in one message."""
        batch = _wire.message("ExecuteBatchRequest")()
        answers: list[Any] = []
        sent: list[tuple[int, _wire.Writer, Any]] = []
        for item in items:
            request, writer = _wire.message("ExecuteRequest")(), _wire.Writer()
            names = item.get("module"), item.get("function")
            try:
                self._fill(request, writer, *names, item.get("args"), item.get("request_id"))
            except MojoRuntimeError as error:
                answers.append(failure(*names, item.get("request_id"), error))
                continue
            batch.items.append(request)
            sent.append((len(answers), writer, item))
            answers.append(None)
        try:
            results = self._call("ExecuteBatch", batch, timeout).results if sent else []
            for (at, writer, item), response in zip(sent, results):
                answers[at] = self._guarded_answer(response, writer, item)
        except MojoRuntimeError as error:
            for at, _, item in sent:
                answers[at] = failure(item.get("module"), item.get("function"), item.get("request_id"), error)
        return answers

    def health(self) -> dict[str, Any]:
        try:
            info = self._call("GetInfo", _wire.message("GetInfoRequest")(), self._timeout)
        except MojoRuntimeError as error:
            return {"ok": False, "version": "", "uptime_seconds": 0.0, "engine": "unavailable", "error": error.message}
        serving = info.state == 1
        return {"ok": serving, "version": info.version, "uptime_seconds": info.uptime_seconds, "engine": info.engine}

    def list_modules(self) -> list[dict[str, Any]]:
        response = self._call("ListModules", _wire.message("ListModulesRequest")(), self._timeout)
        return [{"name": m.name, "engine": m.engine, "functions": list(m.functions)} for m in response.modules]

    def list_functions(self, module: str) -> list[str]:
        return [f["name"] for f in self.describe(module)["functions"]]

    def describe(self, module: str, function: str = "") -> dict[str, Any]:
        request = _wire.message("DescribeRequest")(module=module, function=function)
        description = self._call("Describe", request, self._timeout).description
        described: dict[str, Any] = _wire.read(description, "list", self._handle)
        return described

    def put(self, value: Any, name: str = "", copy: bool = True) -> _handles.Handle:
        request = _wire.message("PutHandleRequest")(name=name)
        try:
            _wire.Writer().write(request.value, value)
        except Refusal as refusal:
            raise _named(refusal, "krt.put", "'value'", "a value") from None
        handle = self._call("PutHandle", request, self._timeout).handle
        return self._handle(handle.runtime, handle.id)

    def get(self, runtime: int, id: int) -> Any:
        value = self._call("GetHandle", self._of_handle("GetHandleRequest", runtime, id), self._timeout).value
        arrays = self._arrays if self._arrays in ("list", "torch") else "numpy"
        return _wire.read(value, arrays, self._handle)

    def free(self, runtime: int, id: int) -> None:
        self._call("FreeHandle", self._of_handle("FreeHandleRequest", runtime, id), self._timeout)

    def discard(self, runtime: int, id: int) -> None:
        """free(), for a handle that is destroyed: waits for nobody."""
        call = self._method("FreeHandle").future(self._of_handle("FreeHandleRequest", runtime, id), timeout=10)
        self._discards.add(call)
        call.add_done_callback(self._discards.discard)

    def list_handles(self) -> list[dict[str, Any]]:
        response = self._call("ListHandles", _wire.message("ListHandlesRequest")(), self._timeout)
        return [
            {"handle": f"h-{h.handle.runtime:x}-{h.handle.id:x}", "name": h.name, "type": h.type, "bytes": h.bytes}
            for h in response.handles
        ]

    def function(self, module: str, name: str) -> Any:
        self.describe(module, name)  # raises where it is not there

        def call(*args: Any) -> Any:
            answer = self.execute(module, name, list(args), timeout=self._timeout)
            if not answer["success"]:
                raise error_for(answer["error_code"], answer["error"])
            return answer["result"]

        return call

    def close(self) -> None:
        self._channel.close()

    def _fill(self, request: Any, writer: _wire.Writer, module: Any, function: Any, args: Any, id: Any) -> None:
        texts = (module, function, "" if id is None else id)
        try:
            if not all(isinstance(text, str) for text in texts):
                raise TypeError
            request.module, request.function, request.request_id = texts
        except (TypeError, ValueError):
            text = "module, function and request_id of execute are text"
            raise error_for("invalid_arguments", text) from None
        if isinstance(args, dict):
            self._fill_by_name(request, writer, args)
        elif isinstance(args, list):
            request.args.list.SetInParent()
            for i, value in enumerate(list(args)):
                self._fill_one(request, writer, request.args.list.items.add(), i, value)
        else:
            self._fill_one(request, writer, request.args, 0, args)

    def _fill_by_name(self, request: Any, writer: _wire.Writer, args: Mapping[Any, Any]) -> None:
        request.args.dict.SetInParent()
        for name, value in list(args.items()):
            entry = request.args.dict.entries.add()
            try:
                entry.name = name
            except (TypeError, ValueError):
                full_name = f"{request.module}.{request.function}"
                raise error_for("invalid_arguments", f"{full_name}: the names of arguments are str") from None
            self._fill_one(request, writer, entry.value, name, value)

    def _fill_one(self, request: Any, writer: _wire.Writer, to: Any, which: int | str, value: Any) -> None:
        try:
            writer.write(to, value)
        except Refusal as refusal:
            params = self.describe(request.module, request.function)["params"]
            known = [p for i, p in enumerate(params) if which in (i, p["name"])]
            name = f"'{known[0]['name']}'" if known else str(which + 1 if isinstance(which, int) else which)
            full_name = f"{request.module}.{request.function}"
            raise _named(refusal, full_name, name, known[0]["type"] if known else "a value") from None

    def _guarded_answer(self, response: Any, writer: _wire.Writer, item: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self._answer(response, writer, item.get("args"))
        except MojoRuntimeError as error:
            return failure(response.module, response.function, response.request_id, error)

    def _answer(self, response: Any, writer: _wire.Writer, args: Any) -> dict[str, Any]:
        if response.success and response.mutated.entries:
            self._write_back(response, args)
        answer = {name: getattr(response, name) for name in _FIELDS}
        answer["result"] = _wire.read(response.result, writer.results_as(self._arrays), self._handle)
        return answer

    def _write_back(self, response: Any, args: Any) -> None:
        """Gives the arrays and lists that the kernel changed in place their new elements."""
        given = args
        if not isinstance(args, dict):
            names = [p["name"] for p in self.describe(response.module, response.function)["params"]]
            values = args if isinstance(args, list) and not (len(names) == 1 and len(args) != 1) else [args]
            given = dict(zip(names, values))
        for entry in response.mutated.entries:
            changed, target = entry.value.tensor, given.get(entry.name)
            dtype = _wire.dtype_of(changed)
            if isinstance(target, list):
                target[:] = _arrays.unpack(dtype, (-1,), changed.data, "list")
                continue
            packed = _arrays.pack(_wire.frozen(target) if isinstance(target, tuple) else target)
            if packed is None or packed.dtype != dtype or not packed.memory.flags.writeable:
                got = packed.spelled if packed else type(target).__name__
                read_only = "" if packed is None or packed.memory.flags.writeable else "a read-only "
                text = f"is changed in place: it must be a writable {dtype} tensor, got {read_only}{got}"
                full_name = f"{response.module}.{response.function}"
                raise error_for("invalid_arguments", f"{full_name}: argument '{entry.name}' {text}")
            packed.memory[:] = bytearray(changed.data)

    def _handle(self, runtime: int, id: int) -> _handles.Handle:
        return _handles.handle_of(self, runtime, id)

    def _of_handle(self, request: str, runtime: int, id: int) -> Any:
        return _wire.message(request)(handle={"runtime": runtime, "id": id})

    def _method(self, name: str) -> Any:
        if name not in self._methods:
            kind = self._channel.unary_stream if name == "Generate" else self._channel.unary_unary
            self._methods[name] = kind(
                f"/krt.v1.KernelRuntime/{name}",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=_wire.message(f"{name}Response").FromString,
            )
        return self._methods[name]

    def _call(self, name: str, request: Any, timeout: float | None) -> Any:
        timeout = _checked(timeout)
        try:
            return self._method(name)(request, timeout=timeout)
        except grpc.RpcError as error:
            raise self._error_of(error) from None
        except ValueError as error:  # a channel that was closed
            raise error_for("failed_precondition", str(error)) from None

    def _generate(self, request: Any, timeout: float | None, on_event: Callable[[Any], object]) -> Any:
        """The result of a call whose events ``on_event`` gets; an exception of its own cancels the call."""
        stream = self._call("Generate", request, timeout)
        try:
            while True:
                try:
                    message = next(stream, None)
                except grpc.RpcError as error:
                    raise self._error_of(error) from None
                if message is None:
                    raise error_for("internal", "the server's events ended without a result")
                if message.HasField("result"):
                    return message.result
                on_event(_wire.read(message.event, "list", self._handle))
        finally:
            stream.cancel()  # without effect on one that has ended

    def _error_of(self, error: Any) -> MojoRuntimeError:
        reason = dict(error.trailing_metadata() or ()).get("krt-reason") or _CODES.get(error.code(), "internal")
        details = error.details() or ""
        if reason == "compute_runtime_unavailable":
            details = f"no krt server answers at {self._address}: {details}"
        return error_for(reason, details)


def _checked(timeout: float | None) -> float | None:
    if timeout is not None and timeout <= 0:
        raise error_for("deadline_exceeded", "the deadline passed")
    return timeout if timeout is not None and timeout < FOREVER else None


def _named(refusal: Refusal, function: str, argument: str, type: str) -> MojoRuntimeError:
    text = refusal.text or f"must be {type}, got '{refusal.got}'"
    return error_for("invalid_arguments", f"{function}: argument {argument} {text}")


_forked = False


def open_engine(address: str, arrays: str, timeout: float | None) -> RemoteEngine:
    """A new engine; raises where gRPC cannot be used any more."""
    if _forked:
        raise error_for(
            "failed_precondition",
            "a remote runtime was in use before fork(), which gRPC's threads do not survive; start the process by "
            "spawn, or set GRPC_ENABLE_FORK_SUPPORT=1 before krt connects",
        )
    return RemoteEngine(address, arrays, timeout)


def after_fork_in_child() -> None:
    """In the child after fork() of a process that had a remote engine."""
    global _forked
    _forked = os.environ.get("GRPC_ENABLE_FORK_SUPPORT", "").lower() not in ("1", "true", "yes")
