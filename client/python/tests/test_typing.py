"""The package and its stubs under mypy --strict, and a program that must be refused."""

import subprocess
import sys

GOOD = """
import numpy as np
import krt

runtime = krt.MojoRuntime(mode="local", raise_errors=True)
answer = runtime.execute("llmk.residual", "residual_add_flat", [[1.0], [2.0], 1])
reveal_type(krt.libraries.llmk.residual.residual_add_flat(np.ones(2), [1.0, 2.0], 2))
reveal_type(krt.libraries.llmk_contract.llmk_status_name(560))
reveal_type(runtime.put([1.0]))
"""
BAD = """
import krt

krt.libraries.llmk.residual.residual_add_flat([1.0], [2.0], "1")
krt.libraries.llmk.residual.nope()
krt.MojoRuntime(mode=1)
"""


def mypy(tmp_path, *arguments):
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, cwd=tmp_path)
    return done.returncode, done.stdout + done.stderr


def test_the_package_is_typed(tmp_path):
    assert mypy(tmp_path, "-p", "krt") == (0, "")


def test_a_program_that_uses_it(tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    code, text = mypy(tmp_path, "good.py")
    assert code == 0, text
    assert "ResidResult" in text and '"str"' in text and "krt._handles.Handle" in text


def test_control_a_wrong_program_is_refused(tmp_path):
    (tmp_path / "bad.py").write_text(BAD)
    code, text = mypy(tmp_path, "bad.py")
    assert code == 1
    assert [line.split(":")[1] for line in text.splitlines() if "error:" in line] == ["4", "5", "6"], text
