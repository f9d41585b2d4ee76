"""The dictionaries of execute, the rules for arguments, and what is refused."""

import math
import struct
import sys

import pytest

import krt

KEYS = ["module", "function", "request_id", "success", "result", "status", "status_name", "error_code", "error",
        "latency_ms", "engine_used"]
ADD = ("llmk.residual", "residual_add_flat")
NAME = ".".join(ADD)


def refusal(runtime, args, call=ADD):
    answer = runtime.execute(*call, args)
    assert not answer["success"] and answer["result"] is None and answer["engine_used"] == "none"
    return answer["error_code"], answer["error"]


def test_an_answer_has_every_field(runtime):
    answer = runtime.execute(*ADD, [[0.5, 1.0], [2.0, 3.0], 2], request_id="r-1")
    assert list(answer) == KEYS
    assert answer["result"] == {"out": [2.5, 4.0], "n": 2, "status": 560}
    assert (answer["module"], answer["function"], answer["request_id"]) == (*ADD, "r-1")
    assert answer["success"] is True and answer["error"] == answer["error_code"] == ""
    assert (answer["status"], answer["status_name"]) == (560, "llmk_ok")
    assert answer["latency_ms"] >= 0 and answer["engine_used"]


def test_the_kernels_own_refusal_is_an_answer(runtime):
    answer = runtime.execute(*ADD, [[1.0, 2.0], [1.0], 2])
    assert answer["success"] and answer["result"] == {"out": [], "n": 0, "status": 563}
    assert answer["status_name"] == "llmk_b_length_mismatch"


def test_gemv_of_the_readme(runtime):
    a, x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [10.0, 20.0]
    answer = runtime.execute("llmk.gemv_fast", "gemv_transposed_parallel_flat", [a, x, 2, 3])
    assert answer["result"]["y"] == [90.0, 120.0, 150.0]


def test_arguments_by_position_by_name_and_alone(runtime):
    want = {"out": [4.0], "n": 1, "status": 560}
    assert runtime.execute(*ADD, [[1], [3], 1])["result"] == want
    assert runtime.execute(*ADD, {"n": 1, "b": [3], "a": [1]})["result"] == want
    assert runtime.execute("llmk.contract", "llmk_status_name", 560)["result"] == "llmk_ok"
    assert runtime.execute("llmk.contract", "llmk_status_name", [560])["result"] == "llmk_ok"


def test_an_empty_list_is_a_list_of_any_type(runtime):
    assert runtime.execute(*ADD, [[], [], 0])["result"]["status"] == 561


def test_nan_and_infinities_pass(runtime):
    out = runtime.execute(*ADD, [[math.nan, math.inf, -0.0], [1.0, 1.0, -0.0], 3])["result"]["out"]
    assert math.isnan(out[0]) and out[1] == math.inf and math.copysign(1, out[2]) == -1
    assert runtime.execute(*ADD, [["NaN", "Infinity"], [0, "-Infinity"], 2])["success"]


NESTED = [1.0]
for _ in range(10_000):
    NESTED = [NESTED]
LOOP = [1.0]
LOOP.append(LOOP)


@pytest.mark.parametrize(
    "args, error",
    [
        ([["1"], [1], 1], "argument 'a' must be f64[n], but element 0 is string"),
        (["text", [1], 1], "argument 'a' must be f64[n], got string"),
        ([[1], None, 1], "argument 'b' must be f64[n], got null"),
        ([[1.0, None], [1, 2], 2], "argument 'a' must be f64[n], but element 1 is null"),
        ([[True], [1], 1], "argument 'a' must be f64[n], but element 0 is bool"),
        ([[[1, 2], [3]], [1], 1], "argument 'a' must be f64[n], but element 0 is i64[2]"),
        ([[1], [1], 1.0], "argument 'n' must be int, got float"),
        ([[1], [1], True], "argument 'n' must be int, got bool"),
        ([[1], [1], "1"], "argument 'n' must be int, got string"),
        ([[1], [1], 2**63], "argument 'n' is or holds an int that does not fit 64 bits"),
        ([[10**400], [1], 1], "argument 'a' is or holds an int that does not fit 64 bits"),
        ([{1.0}, [1], 1], "argument 'a' must be f64[n], got 'set'"),
        ([[1], object(), 1], "argument 'b' must be f64[n], got 'object'"),
        ([[1], [object()], 1], "argument 'b' holds a object, which is no value"),
        ([range(3), [1], 1], "argument 'a' must be f64[n], got 'range'"),
        ([{1: 2}, [1], 1], "argument 'a' holds a dict with a key that is no str"),
        (["\ud800", [1], 1], "argument 'a' is or holds a str with a lone surrogate, which UTF-8 cannot write"),
        ([NESTED, [1], 1], "argument 'a' is nested more than 64 deep"),
        ([LOOP, [1], 1], "argument 'a' is nested more than 64 deep"),
        ({"a": [1], "b": [1], "m": 1}, "no argument is named 'm'; it takes (a, b, n)"),
        ({"a": [1], "b": [1]}, "argument 'n' is missing; it takes (a, b, n)"),
        ({"a": [1], 7: [1]}, "the names of arguments are str"),
        (b"\x01\x02", "argument 'b' is missing; it takes (a, b, n)"),
    ],
)
def test_refused_arguments(runtime, args, error):
    assert refusal(runtime, args) == ("invalid_arguments", f"{NAME}: {error}")


def test_wrong_counts(runtime):
    takes = f"{NAME} takes 3 arguments (a, b, n), got "
    assert refusal(runtime, None) == ("invalid_arguments", takes + "0")
    assert refusal(runtime, [[1], [1], 1, 1]) == ("invalid_arguments", takes + "4")


@pytest.mark.parametrize(
    "call, code, error",
    [
        (("llmk.nope", "f"), "module_not_registered", "Unknown runtime library 'llmk.nope'"),
        (("", ""), "module_not_registered", "Unknown runtime library ''"),
        (("llmk.residual", "nope"), "function_not_registered", "Runtime library 'llmk.residual' does not expose 'nope'"),
        (("llmk.residual", ""), "function_not_registered", "Runtime library 'llmk.residual' does not expose ''"),
        ((None, "f"), "invalid_arguments", "module, function and request_id of execute are text"),
        (("llmk.residual", 7), "invalid_arguments", "module, function and request_id of execute are text"),
        (("\ud800", "f"), "invalid_arguments", "module, function and request_id of execute are text"),
    ],
)
def test_unknown_names(runtime, call, code, error):
    assert refusal(runtime, [], call) == (code, error)


def test_a_deadline_that_passed(runtime):
    answer = runtime.execute(*ADD, [[1], [1], 1], timeout=0.0)
    assert (answer["error_code"], answer["error"]) == ("deadline_exceeded", "the deadline passed")
    for timeout in (math.inf, math.nan, 1e300):  # no deadline
        assert runtime.execute(*ADD, [[1], [1], 1], timeout=timeout)["success"]


def test_raise_errors_raises_what_would_have_been_answered():
    runtime = krt.MojoRuntime(raise_errors=True)
    with pytest.raises(krt.MojoExecutionError) as caught:
        runtime.execute(*ADD, [1], request_id="r")
    assert caught.value.code == "invalid_arguments"
    assert caught.value.details == {"module": ADD[0], "function": ADD[1], "engine_used": "none", "request_id": "r"}
    with pytest.raises(krt.MojoModuleNotRegisteredError):
        runtime.execute("nope", "f")
    with pytest.raises(krt.MojoFunctionNotRegisteredError, match="function_not_registered: Runtime library"):
        runtime.execute("llmk.residual", "nope")
    assert runtime.execute(*ADD, [[1.0], [1.0], 2])["status"] == 562  # a kernel's refusal is no error


def test_batch_in_order_and_one_failure_spoils_no_other(runtime):
    items = [{"module": ADD[0], "function": ADD[1], "args": [[float(i)], [1.0], 1], "request_id": str(i)}
             for i in range(4)]
    items[2] = {"module": "nope", "function": "f"}
    batch = runtime.execute_batch(items)
    assert [r["success"] for r in batch["results"]] == [True, True, False, True]
    assert [r["result"]["out"][0] for r in batch["results"] if r["success"]] == [1.0, 2.0, 4.0]
    assert [r["request_id"] for r in batch["results"]] == ["0", "1", "", "3"]
    assert (batch["count"], batch["ok"], batch["failed"], batch["stopped_early"]) == (4, 3, 1, False)
    stopped = runtime.execute_batch(items, partial_ok=False)
    assert (stopped["count"], stopped["failed"], stopped["stopped_early"]) == (3, 1, True)
    assert runtime.execute_batch([])["count"] == 0


def test_inventory(runtime):
    modules = runtime.list_modules()
    names = [m["name"] for m in modules]
    assert names == sorted(names) and "llmk.residual" in names
    for module in modules:
        assert module["engine"] == "mojo"
        assert tuple(module["functions"]) == runtime.list_functions(module["name"]) == tuple(sorted(module["functions"]))
        assert not any(f.startswith("_") for f in module["functions"])
    with pytest.raises(krt.MojoModuleNotRegisteredError, match="Unknown runtime library 'nope'"):
        runtime.list_functions("nope")


def test_describe(runtime):
    d = runtime.describe(*ADD)
    assert d["signature"] == ("residual_add_flat(a: f64[n], b: f64[n], n: int) -> "
                              "ResidResult{out: f64[n], n: int, status: int}")
    assert [p["name"] for p in d["params"]] == ["a", "b", "n"] and {"code", "name", "meaning"} == set(d["statuses"][0])
    module = runtime.describe("llmk.residual")
    assert module["name"] == "llmk.residual" and module["functions"] == [d]
    with pytest.raises(krt.MojoFunctionNotRegisteredError):
        runtime.describe("llmk.residual", "nope")


def test_health(runtime):
    health = runtime.health()
    assert health["ok"] is True and health["engine"] == "mojo" and health["version"] and health["uptime_seconds"] > 0


def test_call_and_function_give_the_result_alone(runtime):
    assert runtime.call(*ADD, [[1.0], [2.0], 1]) == {"out": [3.0], "n": 1, "status": 560}
    add = runtime.function(*ADD)
    assert add([1.0], [2.0], 1)["out"] == [3.0]
    with pytest.raises(krt.MojoExecutionError, match="argument 'n' must be int, got float"):
        add([1.0], [2.0], 1.0)
    with pytest.raises(krt.MojoExecutionError, match="argument 'b' is missing"):
        add([1.0])
    with pytest.raises(krt.MojoModuleNotRegisteredError):
        runtime.function("nope", "f")


def test_what_the_constructor_refuses():
    with pytest.raises(krt.MojoRuntimeConfigurationError, match="mode is 'local' or 'remote', got 'cloud'"):
        krt.MojoRuntime(mode="cloud")
    for bad in ({"arrays": "jax"}, {"address": "127.0.0.1:1"}, {"mode": "remote", "threads": 2}):
        with pytest.raises(krt.MojoExecutionError):
            krt.MojoRuntime(**bad)


def test_a_closed_runtime_says_so():
    with krt.MojoRuntime() as runtime:
        assert runtime.health()["ok"]
    assert refusal(runtime, None) == ("failed_precondition", "the runtime was closed")
    assert runtime.health()["ok"] is False
    with pytest.raises(krt.MojoExecutionError, match="the runtime was closed"):
        runtime.list_modules()


def test_results_are_those_of_ieee_to_the_last_bit(runtime):
    a, b = [0.1, 1e-310, sys.float_info.max], [0.2, 3e-310, sys.float_info.max]
    out = runtime.execute(*ADD, [a, b, 3])["result"]["out"]
    assert struct.pack("3d", *out) == struct.pack("3d", *(x + y for x, y in zip(a, b)))


def test_errors_can_be_pickled():
    import pickle

    error = pickle.loads(pickle.dumps(krt.MojoExecutionError("cancelled", "gone", {"x": 1})))
    assert (type(error), error.code, error.message, error.details) == (
        krt.MojoExecutionError, "cancelled", "gone", {"x": 1})
