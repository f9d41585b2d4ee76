"""grpcio on the wire itself: both services, health, reflection."""

import json

import grpc
import pytest
from google.protobuf import message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from krt import _wire


def message(name):
    return message_factory.GetMessageClass(_wire._pool.FindMessageTypeByName(name))


@pytest.fixture(scope="module")
def channel(address):
    with grpc.insecure_channel(address) as channel:
        yield channel


def call(channel, service, method, request, response, **fields):
    rpc = channel.unary_unary(f"/{service}/{method}", lambda m: m.SerializeToString(), message(response).FromString)
    return rpc(message(request)(**fields), timeout=30)


def codna(channel, method, request, response, **fields):
    package = "algenta.runtime.v1."
    return call(channel, package + "CodnaRuntime", method, package + request, package + response, **fields)


def execute(channel, args_json, module="llmk.residual", function="residual_add_flat", request_id="r-1"):
    return codna(channel, "ExecuteModule", "ExecuteRequest", "ExecuteResponse", module=module, function=function,
                 args_json=args_json, request_id=request_id)


def test_the_json_service(channel, local):
    health = codna(channel, "Health", "HealthRequest", "HealthResponse")
    assert health.ok and health.engine == "mojo" and health.version and health.uptime_seconds > 0
    info = codna(channel, "GetRuntimeInfo", "RuntimeInfoRequest", "RuntimeInfoResponse")
    modules = codna(channel, "ListModules", "ListModulesRequest", "ListModulesResponse").modules
    assert info.mojo_available and info.module_count == len(modules) == len(local.list_modules())
    assert [(m.name, m.engine, list(m.functions)) for m in modules] == [
        (m["name"], m["engine"], m["functions"]) for m in local.list_modules()]
    answer = execute(channel, "[[0,1,2],[5,4,3],3]")
    assert answer.success and answer.request_id == "r-1" and answer.error == ""
    assert json.loads(answer.result_json) == {"out": [5.0, 5.0, 5.0], "n": 3, "status": 560}


@pytest.mark.parametrize(
    "call, code",
    [
        ({"args_json": "[[1],[1]]"}, "invalid_arguments"),
        ({"args_json": "[[1],"}, "invalid_arguments"),
        ({"args_json": "null", "module": "nope"}, "module_not_registered"),
        ({"args_json": "", "function": "nope"}, "function_not_registered"),
        ({"args_json": "", "function": "_hidden"}, "function_not_registered"),
    ],
)
def test_a_failed_execution_is_an_answer(channel, call, code):
    answer = execute(channel, **call)
    assert not answer.success and answer.error.startswith(f"{code}: ") and answer.result_json == "null"


def test_calls_of_the_contract_that_krt_does_not_serve(channel):
    with pytest.raises(grpc.RpcError) as caught:
        codna(channel, "ExecuteQuery", "QueryExecuteRequest", "QueryExecuteResponse")
    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED and caught.value.details()


def test_the_typed_service(channel):
    package = "krt.v1."
    info = call(channel, package + "KernelRuntime", "GetInfo", package + "GetInfoRequest", package + "GetInfoResponse")
    assert info.state == 1 and info.engine == "mojo" and info.limits.max_message_bytes == 64 << 20
    tensor = {"dtype": 1, "shape": [2], "data": b"\0" * 16}
    answer = call(channel, package + "KernelRuntime", "Execute", package + "ExecuteRequest", package + "ExecuteResponse",
                  module="llmk.residual", function="residual_add_flat",
                  args={"list": {"items": [{"tensor": tensor}, {"tensor": tensor}, {"int_value": 2}]}})
    assert answer.success and answer.status == 560 and answer.status_name == "llmk_ok"


@pytest.mark.parametrize("tensor", [
    {"dtype": 1, "shape": [3], "data": b"\0" * 16},
    {"dtype": 1, "shape": [-2], "data": b"\0" * 16},
    {"dtype": 1, "shape": [1 << 62, 1 << 62], "data": b""},
    {"dtype": 1, "shape": [1] * 5, "data": b"\0" * 8},
    {"dtype": 0, "shape": [2], "data": b"\0" * 16},
    {"dtype": 99, "shape": [2], "data": b"\0" * 16},
])
def test_tensors_that_lie_are_refused(channel, tensor):
    answer = call(channel, "krt.v1.KernelRuntime", "Execute", "krt.v1.ExecuteRequest", "krt.v1.ExecuteResponse",
                  module="llmk.residual", function="residual_add_flat",
                  args={"list": {"items": [{"tensor": tensor}, {"tensor": tensor}, {"int_value": 2}]}})
    assert not answer.success and answer.error_code == "invalid_arguments" and answer.error


def test_the_health_service(channel):
    stub = health_pb2_grpc.HealthStub(channel)
    for service in ("", "krt.v1.KernelRuntime", "algenta.runtime.v1.CodnaRuntime"):
        status = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=30).status
        assert status == health_pb2.HealthCheckResponse.SERVING
    with pytest.raises(grpc.RpcError) as caught:
        stub.Check(health_pb2.HealthCheckRequest(service="nope"), timeout=30)
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND
    watch = stub.Watch(health_pb2.HealthCheckRequest(), timeout=30)
    assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
    watch.cancel()


def test_reflection_names_the_services(channel):
    reflected = ProtoReflectionDescriptorDatabase(channel)
    services = set(reflected.get_services())
    assert {"krt.v1.KernelRuntime", "algenta.runtime.v1.CodnaRuntime"} <= services
    described = reflected.FindFileContainingSymbol("krt.v1.KernelRuntime")
    assert [s.name for s in described.service] == ["KernelRuntime"]


def test_malformed_bytes_are_refused_in_a_sentence(channel):
    rpc = channel.unary_unary("/krt.v1.KernelRuntime/Execute", lambda b: b, lambda b: b)
    with pytest.raises(grpc.RpcError) as caught:
        rpc(b"\xff\xff\xff", timeout=30)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT and caught.value.details()
