"""Threads, the GIL, signals, fork, handles."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import krt

ADD = ("llmk.residual", "residual_add_flat")
GEMV = ("llmk.gemv_fast", "gemv_transposed_parallel_flat")


def python(code, **options):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120,
                          **options)


def test_other_python_threads_run_while_a_kernel_does(runtime):
    m = n = 3000
    args = [np.ones(m * n), np.ones(m), m, n]
    go, went = threading.Event(), []

    def work():
        go.wait()
        went.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # the GIL changes hands only where it is let go
    try:
        go.set()
        for _ in range(100):
            runtime.execute(*GEMV, args)
            if went:
                break
        ran = bool(went)
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert ran


def test_32_threads_on_one_runtime(runtime):
    n = 40_000  # over the kernel's threshold, so that all of them meet in the arena
    wrong = []

    def work(seed):
        a = np.full(n, float(seed))
        for i in range(10):
            answer = runtime.execute(*ADD, [a, np.full(n, float(i)), n], request_id=str(seed))
            if answer["request_id"] != str(seed) or not np.all(answer["result"]["out"] == seed + i):
                wrong.append((seed, i, answer["error"]))
            with_handle = runtime.put(a)
            if runtime.execute(*ADD, [with_handle, a, n])["result"]["out"][0] != 2.0 * seed:
                wrong.append((seed, i, "handle"))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert runtime.list_handles() == []


def test_an_array_that_is_dropped_during_the_call_stays(runtime):
    m = n = 2000
    box = [np.ones(m * n), np.ones(m), m, n]
    dropper = threading.Thread(target=box.clear)
    args = list(box)
    dropper.start()
    answer = runtime.execute(*GEMV, args)
    dropper.join()
    assert np.all(answer["result"]["y"] == m)


def test_a_lent_buffer_cannot_be_resized_under_a_handle(runtime):
    buffer = bytearray(8)
    handle = runtime.put(memoryview(buffer).cast("d"), copy=False)
    with pytest.raises(BufferError):
        buffer.extend(b"more")
    del handle
    gc.collect()
    buffer.extend(b"more")


# --- handles


def test_a_handle_stands_for_its_value_and_frees_it(runtime):
    x = np.arange(3.0)
    handle = runtime.put(x, "weights")
    entry = runtime.list_handles()[-1]
    assert entry == {"handle": str(handle), "name": "weights", "type": "f64[3]", "bytes": 24}
    x[:] = 0  # a copy was kept
    assert runtime.execute(*ADD, [handle, handle, 3])["result"]["out"] == [0.0, 2.0, 4.0]
    assert handle.get().tolist() == [0.0, 1.0, 2.0]
    handle.get()[0] = 9.0
    assert handle.get()[0] == 0.0
    del handle
    assert runtime.list_handles() == []


def test_put_without_a_copy_shares_the_memory(runtime):
    x = np.arange(3.0)
    handle = runtime.put(x, copy=False)
    x[0] = 10.0
    assert handle.get()[0] == 10.0


def test_a_freed_handle_is_refused(runtime):
    handle = runtime.put([1.0])
    handle.free()
    handle.free()
    answer = runtime.execute(*ADD, [handle, [1.0], 1])
    assert answer["error_code"] == "handle_not_found" and "was freed" in answer["error"]
    with pytest.raises(krt.MojoExecutionError, match="handle_not_found"):
        handle.get()


def test_a_handle_of_another_runtime_is_refused(runtime):
    other = krt.MojoRuntime()
    handle = other.put([1.0])
    answer = runtime.execute(*ADD, [handle, [1.0], 1])
    assert answer["error_code"] == "handle_not_found" and "belongs to another runtime" in answer["error"]


def test_a_handle_outlives_the_names_of_its_runtime():
    handle = krt.MojoRuntime().put(np.arange(3.0))
    gc.collect()
    assert handle.get().tolist() == [0.0, 1.0, 2.0]


def test_put_names_what_it_refuses(runtime):
    with pytest.raises(krt.MojoExecutionError, match="krt.put: argument 'value' must be a value, got 'set'"):
        runtime.put({1})


# --- Ctrl-C


def test_ctrl_c_ends_a_batch_of_long_calls():
    code = """
        import os, signal, sys, threading, krt, numpy as np
        runtime = krt.MojoRuntime(threads=1)
        m = n = 2000
        item = {"module": "llmk.gemv_fast", "function": "gemv_transposed_parallel_flat",
                "args": [np.ones(m * n), np.ones(m), m, n]}
        def items():
            for i in range(10 ** 9):
                if i == 3: os.kill(os.getpid(), signal.SIGINT)
                yield item
        try:
            for one in items(): runtime.execute_batch([one] * 4)
        except KeyboardInterrupt:
            print("interrupted"); sys.exit(7)
    """
    done = python(code)
    assert (done.returncode, done.stdout) == (7, "interrupted\n"), done.stderr


def test_ctrl_c_in_front_of_a_call_cancels_it_and_raises(tmp_path):
    """The signal arrives while a kernel runs in the main thread; the handler of the program's own is the one that
    speaks, also when it was installed after krt."""
    code = """
        import os, signal, sys, threading, time, krt, numpy as np
        runtime = krt.MojoRuntime(threads=1)
        m = n = 4000
        args = [np.ones(m * n), np.ones(m), m, n]
        runtime.execute("llmk.gemv_fast", "gemv_transposed_parallel_flat", args)
        class Mine(Exception): pass
        def handler(number, frame): raise Mine()
        for expected, install in ((KeyboardInterrupt, lambda: None), (Mine, lambda: signal.signal(signal.SIGINT, handler))):
            install()
            time.sleep(0.02)
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                while True: runtime.execute("llmk.gemv_fast", "gemv_transposed_parallel_flat", args)
            except expected:
                print(expected.__name__)
    """
    done = python(code)
    assert done.stdout == "KeyboardInterrupt\nMine\n", done.stderr


def test_ctrl_c_during_one_long_kernel_ends_it():
    """2^39 multiplications and additions take minutes, longer than python() waits."""
    code = """
        import os, signal, threading, krt, numpy as np
        runtime = krt.MojoRuntime(threads=1)
        tokens, heads, d = 2 ** 14, 16, 64
        q, kv = np.ones(tokens * heads * d), np.ones(tokens * d)
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            runtime.execute("attnk.sdpa", "sdpa_forward_flat", [q, kv, kv, [], tokens, tokens, heads, 1, d, 1.0, False])
        except KeyboardInterrupt:
            print("interrupted")
    """
    done = python(code)
    assert done.stdout == "interrupted\n", done.stderr


def test_sigint_that_is_ignored_stays_ignored():
    code = """
        import os, signal, krt
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        runtime = krt.MojoRuntime()
        os.kill(os.getpid(), signal.SIGINT)
        print(runtime.execute("llmk.contract", "llmk_status_name", [560])["result"])
    """
    assert python(code).stdout == "llmk_ok\n"


# --- fork


def test_a_runtime_works_on_both_sides_of_a_fork(runtime):
    n = 100_000
    a = np.ones(n)
    handle = runtime.put(a)
    runtime.execute(*ADD, [a, a, n])  # its threads are there
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        good = bool(np.all(runtime.execute(*ADD, [a, a, n])["result"]["out"] == 2))
        good = good and krt.libraries.llmk.residual.residual_add_flat([1.0], [1.0], 1)["out"] == [2.0]
        good = good and runtime.execute(*ADD, [handle, a, n])["error_code"] == "handle_not_found"
        del handle
        try:
            krt.MojoRuntime(threads=2)
            good = False
        except krt.MojoExecutionError as error:
            good = good and error.code == "failed_precondition" and "fork()" in error.message
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert np.all(runtime.execute(*ADD, [handle, a, n])["result"]["out"] == 2)


def test_a_fork_while_kernels_run_in_other_threads():
    code = """
        import os, signal, threading, krt, numpy as np
        runtime = krt.MojoRuntime(threads=4)
        n = 1 << 17
        a = np.ones(n)
        stop = threading.Event()
        def work():
            while not stop.is_set(): runtime.execute("llmk.residual", "residual_add_flat", [a, a, n])
        threads = [threading.Thread(target=work) for _ in range(2)]
        for t in threads: t.start()
        failed = 0
        for i in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                out = runtime.execute("llmk.residual", "residual_add_flat", [a, a, n])["result"]["out"]
                os._exit(0 if np.all(out == 2) else 1)
            failed += os.waitpid(child, 0)[1] != 0
        stop.set()
        for t in threads: t.join()
        print(failed)
    """
    done = python(code)
    assert done.stdout == "0\n", done.stderr


def test_a_forked_child_that_ends_in_the_ordinary_way():
    code = """
        import os, sys, krt, numpy as np
        runtime = krt.MojoRuntime(threads=4)
        n = 1 << 17
        a = np.ones(n)
        runtime.execute("llmk.residual", "residual_add_flat", [a, a, n])
        child = os.fork()
        if child == 0:
            runtime.execute("llmk.residual", "residual_add_flat", [a, a, n])
            sys.exit(5)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = python(code)
    assert done.stdout == "5\n", done.stderr


def test_multiprocessing_by_fork():
    code = """
        import multiprocessing, krt
        runtime = krt.MojoRuntime()
        def add(i): return runtime.execute("llmk.residual", "residual_add_flat", [[float(i)], [1.0], 1])["result"]["out"][0]
        add(0)
        with multiprocessing.get_context("fork").Pool(3) as pool: print(pool.map(add, range(5)))
    """
    assert python(code).stdout == "[1.0, 2.0, 3.0, 4.0, 5.0]\n"


def test_the_interpreter_ends_while_results_and_handles_are_alive():
    code = """
        import krt, numpy as np
        runtime = krt.MojoRuntime(threads=2)
        keep = [runtime.put(np.ones(3), copy=False), runtime.execute("llmk.residual", "residual_add_flat",
                [np.ones(2), np.ones(2), 2])["result"]["out"], krt.libraries.llmk.residual.residual_add_flat]
        print("end")
    """
    done = python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_without_the_native_module_the_rest_imports_and_local_mode_says_so():
    code = """
        import sys
        sys.modules["krt._native"] = None
        import krt
        try:
            krt.MojoRuntime()
        except krt.MojoRuntimeConfigurationError as error:
            print(error.code)
            print(error.message)
        krt.MojoRuntime(mode="remote", address="127.0.0.1:1")
    """
    done = python(code)
    lines = done.stdout.splitlines()
    assert lines[0] == "compute_runtime_unavailable", done.stderr
    assert lines[1].startswith("local mode needs krt's native module, which this installation does not have (")
