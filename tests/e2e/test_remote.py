"""MojoRuntime(mode="remote") is MojoRuntime(mode="local") somewhere else: equal bits, equal refusals."""

import copy
import gc
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import examples
import krt

ADD = ("llmk.residual", "residual_add_flat")
SAME = ("module", "function", "request_id", "success", "status", "status_name", "error_code", "error", "engine_used")


def assert_same(here, there):
    assert {k: here[k] for k in SAME} == {k: there[k] for k in SAME}
    assert examples.bits(here["result"]) == examples.bits(there["result"])


def test_every_example_has_the_same_bits(local, remote):
    count = 0
    for module, function, args in examples.all_of(local):
        if any(s in local.describe(module, function)["capabilities"]["side_effects"] for s in ("handles", "files")):
            continue
        here_args, there_args = copy.deepcopy(args), copy.deepcopy(args)  # changed in place by some
        assert_same(local.execute(module, function, here_args), remote.execute(module, function, there_args))
        assert examples.bits(here_args) == examples.bits(there_args)
        count += 1
    assert count > 20


def test_control_another_bit_is_noticed(local):
    one, other = (local.execute(*ADD, [[x], [0.0], 1]) for x in (0.0, -0.0))
    one["result"]["out"], other["result"]["out"] = [0.0], [-0.0]
    with pytest.raises(AssertionError):
        assert_same(one, other)


def test_the_inventory_is_the_same(local, remote):
    assert local.list_modules() == remote.list_modules()
    assert local.list_functions("llmk.residual") == remote.list_functions("llmk.residual")
    for module in local.list_modules():
        assert local.describe(module["name"]) == remote.describe(module["name"])
    assert dir(local.libraries.llmk) == dir(remote.libraries.llmk)


REFUSED = [
    None, [], [[1], [1]], [[1], [1], 1, 1], [["1"], [1], 1], ["text", [1], 1], [[1], None, 1], [[True], [1], 1],
    [[[1, 2], [3]], [1], 1], [[1], [1], 1.0], [[1], [1], True], [[1], [1], 2**63], [[10**400], [1], 1],
    [{1.0}, [1], 1], [[1], [object()], 1], [{1: 2}, [1], 1], ["\ud800", [1], 1], {"a": [1], "b": [1], "m": 1},
    {"a": [1], 7: [1]}, {"\ud800": 1}, b"\x01", np.float32(1), [np.zeros(4)[::2], [1], 1], [np.zeros(2, ">f8"), [1], 1],
    [np.zeros(2, "complex64"), [1], 1], [np.zeros(2, "uint32"), [1], 1], [np.zeros((1,) * 5), [1], 1],
    [np.zeros(2, "M8[s]"), [1], 1], [np.bool_(True), [1], 1],
]  # fmt: skip


@pytest.mark.parametrize("args", REFUSED, ids=lambda args: repr(args)[:40])
def test_refusals_are_the_same(local, remote, args):
    here = local.execute(*ADD, args, "id")
    assert not here["success"]
    assert_same(here, remote.execute(*ADD, args, "id"))


def test_deep_lists_are_refused_on_this_side(local, remote):
    deep = [1.0]
    for _ in range(10_000):
        deep = [deep]
    assert_same(local.execute(*ADD, [deep, [1], 1]), remote.execute(*ADD, [deep, [1], 1]))


@pytest.mark.parametrize("name", [("nope", "f"), ("", ""), ("llmk.residual", "nope"), ("llmk.generate", "_x"), (None, 1)])
def test_unknown_names_are_refused_alike(local, remote, name):
    assert_same(local.execute(*name), remote.execute(*name))
    for runtime in (local, remote):
        if isinstance(name[0], str):
            with pytest.raises(krt.MojoRuntimeError) as caught:
                runtime.describe(*name)
            assert caught.value.code == local.execute(*name)["error_code"]


def test_arguments_of_every_kind(local, remote):
    for args in ([[0.1, 2], [3, float("nan")], 2], {"a": (1.5,), "b": [float("-inf")], "n": 1}, [[], [], 0],
                 [np.ones(2), np.ones(2, np.float16), np.int64(2)], [np.ones((2, 2)), np.ones(4, "i1"), 4],
                 [memoryview(bytearray(2)), b"ab", 2], [["NaN", "Infinity"], [1, 1], 2]):
        here, there = local.execute(*ADD, args, "r"), remote.execute(*ADD, args, "r")
        assert type(here["result"]["out"]) is type(there["result"]["out"])
        for answer in (here, there):
            if isinstance(answer["result"]["out"], np.ndarray):
                assert answer["result"]["out"].flags.writeable
                answer["result"]["out"] = answer["result"]["out"].tolist()
        assert_same(here, there)


def test_real_sizes(local, remote):
    rng = np.random.default_rng(7)
    logits = rng.normal(size=151_936)
    for arrays in (logits, logits.tolist()):
        call = "llmk.generate", "greedy_argmax_flat", [arrays, 151_936]
        here = local.execute(*call)
        assert here["result"]["token_id"] == int(logits.argmax())
        assert_same(here, remote.execute(*call))
    for m, n in ((1024, 2048), (1024, 3072), (3072, 1024)):
        a, x = rng.normal(size=m * n), rng.normal(size=m)
        call = "llmk.gemv_fast", "gemv_transposed_parallel_flat", [a, x, m, n]
        here, there = local.execute(*call)["result"]["y"], remote.execute(*call)["result"]["y"]
        assert here.tobytes() == there.tobytes()
        np.testing.assert_allclose(here, x @ a.reshape(m, n), rtol=1e-9, atol=1e-9)


def test_what_is_changed_in_place_is_changed_here(local, remote):
    for runtime in (local, remote):
        residual, x, w = np.ones(2, np.float32), np.full(2, 2, np.float32), np.ones(2, np.float32)
        answer = runtime.execute("decode", "add_rmsnorm", [residual, x, w])
        assert answer["success"] and residual.tolist() == [3.0, 3.0], answer["error"]
        half = np.ones(2, np.float16)
        runtime.execute("decode", "add_rmsnorm", {"weight": w, "residual": half, "x": x})
        assert half.tolist() == [3.0, 3.0]
        numbers = [1, 1.5]
        runtime.execute("decode", "add_rmsnorm", [numbers, x, w])
        assert numbers == [3.0, 3.5]
        batch = [{"module": "decode", "function": "add_rmsnorm", "args": [numbers, x, w]}] * 1
        runtime.execute_batch(batch)
        assert numbers == [5.0, 5.5]


def test_what_cannot_be_changed_in_place_is_refused_alike(local, remote):
    frozen = np.ones(2, np.float32)
    frozen.flags.writeable = False
    for residual in (frozen, np.ones(2), (1.0, 1.0), np.ones(2, np.int32)):
        args = [residual, np.ones(2, np.float32), np.ones(2, np.float32)]
        here, there = local.execute("decode", "add_rmsnorm", args), remote.execute("decode", "add_rmsnorm", args)
        assert (here["error_code"], here["error"]) == (there["error_code"], there["error"])
        assert here["error"].startswith("decode.add_rmsnorm: argument 'residual' is changed in place")


def test_handles(remote, local):
    x = np.arange(4.0)
    handle = remote.put(x, "weights")
    assert {"handle": str(handle), "name": "weights", "type": "f64[4]", "bytes": 32} in remote.list_handles()
    assert remote.execute(*ADD, [handle, x, 4])["result"]["out"].tolist() == [0.0, 2.0, 4.0, 6.0]
    assert handle.get().tolist() == x.tolist()
    assert local.execute(*ADD, [handle, x, 4])["error_code"] == "handle_not_found"
    name = str(handle)
    handle.free()
    assert name not in [h["handle"] for h in remote.list_handles()]
    others = [remote.put([float(i)]) for i in range(200)]
    names = {str(other) for other in others}
    assert names <= {h["handle"] for h in remote.list_handles()}
    del others
    gc.collect()
    for _ in range(1000):  # free() in a destructor waits for nobody; the server answers in its own time
        left = names & {h["handle"] for h in remote.list_handles()}
        if not left:
            break
    else:
        pytest.fail(f"{len(left)} of 200 handles that were dropped are still there")


def test_batches_are_one_message(local, remote):
    items = [{"module": ADD[0], "function": ADD[1], "args": [[float(i)], [0.1], 1], "request_id": str(i)} for i in range(5)]
    items[1] = {"module": "nope", "function": "f"}
    items[3] = {"module": ADD[0], "function": ADD[1], "args": [{1.0}, [1], 1]}
    here, there = local.execute_batch(items), remote.execute_batch(items)
    for a, b in zip(here["results"], there["results"]):
        assert_same(a, b)
    assert [here[k] for k in ("count", "ok", "failed", "stopped_early")] == [
        there[k] for k in ("count", "ok", "failed", "stopped_early")] == [5, 3, 2, False]
    assert remote.execute_batch(items, partial_ok=False)["count"] == 2
    assert remote.execute_batch([])["results"] == []


def test_libraries_and_functions(remote):
    add = remote.libraries.llmk.residual.residual_add_flat
    assert add([1.0], [2.0], 1) == add(a=[1.0], b=[2.0], n=1) == {"out": [3.0], "n": 1, "status": 560}
    assert "Elementwise sum" in add.__doc__
    with pytest.raises(krt.MojoExecutionError, match="argument 'n' must be int, got float"):
        add([1.0], [2.0], 1.0)
    with pytest.raises(krt.MojoModuleNotRegisteredError):
        remote.function("nope", "f")


def test_a_seed_gives_the_same_token_here_and_there(local, remote):
    if "sample" not in local.list_functions("decode"):
        pytest.skip("this build has no decode.sample")
    logits = np.random.default_rng(5).normal(size=1000).astype(np.float32)
    for seed in range(20):
        args = {"logits": logits, "temperature": 0.9, "top_k": 50, "seed": seed}
        tokens = {r.execute("decode", "sample", args)["result"]["token_id"] for r in (local, remote)}
        tokens.add(krt.decode.sample(logits, 0.9, 50, generator=seed))
        tokens.add(krt.MojoRuntime(threads=1).execute("decode", "sample", args)["result"]["token_id"])
        assert len(tokens) == 1


def test_health_of_a_server_that_answers_and_of_none(remote, local):
    assert remote.health()["ok"] and remote.health()["version"] == local.health()["version"]
    nobody = krt.MojoRuntime(mode="remote", address="127.0.0.1:1", timeout=5)
    health = nobody.health()
    assert health["ok"] is False and health["error"].startswith("no krt server answers at 127.0.0.1:1: ")
    answer = nobody.execute(*ADD, [[1], [1], 1])
    assert answer["error_code"] == "compute_runtime_unavailable" and answer["engine_used"] == "none"
    with pytest.raises(krt.MojoRuntimeConfigurationError):
        nobody.list_modules()
    with pytest.raises(krt.MojoRuntimeConfigurationError):
        krt.MojoRuntime(mode="remote", address="127.0.0.1:1", timeout=5, raise_errors=True).execute(*ADD)


def test_a_deadline_that_passed(remote):
    assert remote.execute(*ADD, [[1], [1], 1], timeout=0.0)["error_code"] == "deadline_exceeded"


def test_a_message_over_the_servers_limit(remote):
    answer = remote.execute(*ADD, [np.zeros(9 << 20), [1.0], 1])
    assert answer["error_code"] == "resource_exhausted", answer["error"]
    assert remote.health()["ok"]


def test_ctrl_c_during_a_remote_call(address):
    code = f"""
        import os, signal, threading, numpy as np, krt
        runtime = krt.MojoRuntime(mode="remote", address="{address}")
        m = n = 1000
        args = [np.ones(m * n), np.ones(m), m, n]
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            while True: runtime.execute("llmk.gemv_fast", "gemv_transposed_parallel_flat", args)
        except KeyboardInterrupt:
            print("interrupted")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert done.stdout == "interrupted\n", done.stderr


def test_a_forked_child_is_told_that_grpc_does_not_survive_fork(remote):
    remote.health()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        answer = remote.execute(*ADD, [[1], [1], 1])
        os.write(writer, f"{answer['error_code']}: {answer['error']}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    text = os.read(reader, 1000).decode()
    os.close(reader)
    assert text.startswith("failed_precondition: a remote runtime was in use before fork()")


def test_32_threads_on_one_channel(remote):
    import threading

    wrong = []

    def work(seed):
        for i in range(5):
            out = remote.execute(*ADD, [[float(seed)], [float(i)], 1], str(seed))
            if out["request_id"] != str(seed) or out["result"]["out"] != [float(seed + i)]:
                wrong.append(out)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_server_stops_when_it_is_told(start):
    server = start()
    runtime = krt.MojoRuntime(mode="remote", address=server.address)
    assert runtime.health()["ok"]
    assert server.stop() == 0
    assert runtime.health()["ok"] is False
