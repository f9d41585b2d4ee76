"""The public Python client, with `krt worker` in the place of its own engine, gets the bits that krt computes here."""

import json
import os
import pathlib
import subprocess

import clients
import examples

# The modules that the client knows too: it looks names up in its own catalogue before it calls.
SHARED = ("llmk.", "gemm.", "normk.", "attnk.", "mlpk.", "fused_kernels", "llm_sampling", "transformer_blocks")
CALLS = """
import json, sys
from algenta import MojoRuntime
runtime = MojoRuntime(mode="local")
json.dump([runtime.execute(*call) for call in json.load(sys.stdin)], sys.stdout)
"""


def test_every_example(program, local):
    environment = {**os.environ, "ALGENTA_NATIVE_WORKER": str(pathlib.Path(program).with_name("krt-worker")),
                   "ALGENTA_RUNTIME_FALLBACK_MODE": "allow"}
    calls = [(m, f, examples.without_strings(a))  # the client takes no strings for numbers
             for m, f, a in examples.all_of(local) if m.startswith(SHARED) and isinstance(a, list)]
    done = subprocess.run([clients.algenta(), "-c", CALLS], input=json.dumps(calls), capture_output=True, text=True,
                          timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    compared = 0
    for (module, function, args), answer in zip(calls, json.loads(done.stdout)):
        if answer.get("error_code") in ("module_not_registered", "function_not_registered"):
            continue  # a name of ours that its catalogue does not have
        assert answer["success"], (module, function, answer)
        want = local.execute(module, function, args)["result"]
        assert examples.bits(answer["result"]) == examples.bits(want), (module, function)
        compared += 1
    assert compared > 20
