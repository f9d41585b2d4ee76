"""`python -m krt` prints what the `krt` program prints, in this process and through a server."""

import json
import re
import subprocess
import sys

import pytest

RESIDUAL = ["execute", "llmk.residual", "residual_add_flat"]
COMMANDS = [
    ["modules"],
    ["functions", "llmk.residual"],
    ["functions", "nope"],
    ["describe", "llmk.residual"],
    ["describe", "llmk.residual.residual_add_flat"],
    ["describe", "decode.rmsnorm"],
    ["describe", "nope.nope"],
    ["describe", "llmk.residual.nope"],
    ["version"],
    [*RESIDUAL, "--args-json", "[[1,2],[3,4.5],2]"],
    [*RESIDUAL, "--args-json", '{"a":[1],"b":["NaN"],"n":1}', "--request-id", "r1"],
    [*RESIDUAL, "--args-json", "[[0,1,2,3,4,5,6,7,8,9],[0,1,2,3,4,5,6,7,8,9],10]"],
    [*RESIDUAL, "--args-json", "[[1,2],[3],2]"],
    [*RESIDUAL, "--args-json", "[[1,2],[3],2.0]"],
    [*RESIDUAL],
    ["execute", "decode", "add_rmsnorm", "--args-json", "[[1,2],[2,2],[1,2],0]"],
    ["execute", "llmk.contract", "llmk_status_name", "--args-json", "[560]"],
    ["execute", "llmk.contract", "llmk_status_name", "--args-json", "560"],
    ["execute", "nope", "f"],
]


def run(command, *arguments, stdin=""):
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, input=stdin, timeout=60)
    return done.returncode, re.sub(r'"latency_ms":[^,]*', "", done.stdout), done.stderr


@pytest.fixture(params=["local", "remote"])
def where(request):
    return [] if request.param == "local" else ["--remote", request.getfixturevalue("address")]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda a: " ".join(a)[:60])
def test_both_print_the_same(program, where, arguments):
    for form in ("text", "json"):
        theirs = run([program], *where, "--format", form, *arguments)
        ours = run([sys.executable, "-m", "krt"], *where, "--format", form, *arguments)
        assert ours == theirs


def test_arguments_from_standard_input_and_from_a_file(tmp_path):
    krt = [sys.executable, "-m", "krt"]
    (tmp_path / "args.json").write_text("[[1],[2],1]")
    for arguments, stdin in ((["-"], "[[1],[2],1]"), ([f"@{tmp_path / 'args.json'}"], "")):
        code, out, _ = run(krt, *RESIDUAL, "--format", "json", "--args-json", *arguments, stdin=stdin)
        assert code == 0 and json.loads(out.replace(",,", ","))["result"]["out"] == [3.0]
    assert run(krt, *RESIDUAL, "--args-json", "@/nope")[0] == 2


@pytest.mark.parametrize("text", ["[1,", "[1e999]", '{"a":1,"a":2}', "[" * 100_000, "[1] 2", "\\", '["\\ud800"]'])
def test_malformed_json_is_refused_by_both(program, text):
    for command in ([program], [sys.executable, "-m", "krt"]):
        code, out, error = run(command, *RESIDUAL, "--args-json", "-", stdin=text)
        assert code == 1 and out == "" and error.startswith("krt: invalid_arguments: "), (command, error)


def test_health_and_exit_codes(program, address):
    for command in ([program], [sys.executable, "-m", "krt"]):
        code, out, _ = run(command, "--remote", address, "health")
        assert code == 0 and out.startswith(f"serving: {address}, version ")
        assert run(command, "--remote", "127.0.0.1:1", "health")[0] == 3
        assert run(command, "--remote", "127.0.0.1:1", *RESIDUAL)[0] == 3
        assert run(command, "nope")[0] == 2
        assert run(command, "functions")[0] == 2
