"""docs/python-api.md is what the docstrings say."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_the_reference_is_up_to_date(tmp_path):
    script = ROOT / "client/python/make_reference.py"
    subprocess.run([sys.executable, script, tmp_path / "api.md"], check=True)
    assert (tmp_path / "api.md").read_text() == (ROOT / "docs/python-api.md").read_text(), f"run {script}"
