"""Installs the package as a user would, into a virtual environment, and runs that environment's Python.

    run.py FOLDER ARGUMENT...      FOLDER/venv is made, and kept for the next run; then FOLDER/venv/bin/python ARGUMENT...

Exit status: that Python's; 77 where the environment cannot be made here (no venv module, no Python headers, no package
index), with the reason. KRT_CI=1 makes that a failure. Needs nothing but Python.
"""

import fcntl
import hashlib
import importlib.util
import os
import pathlib
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[3]
REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")
BUILT_FROM = ("CMakeLists.txt", "pyproject.toml", "cmake", "runtime", "modules", "engine", "proto",
              "client/python")
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(1 if os.environ.get("KRT_CI") == "1" else SKIPPED)


def pip(venv, *arguments):
    command = [venv / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, cwd=ROOT).returncode == 0


def once(stamp, digest, work):
    """Does the work unless it was done for this digest."""
    if not stamp.exists() or stamp.read_text() != digest:
        work()
        stamp.write_text(digest)


def make_venv(venv):
    if importlib.util.find_spec("ensurepip") is None:
        skip("this Python cannot make virtual environments (Debian: apt-get install python3-venv)")
    if not pathlib.Path(sysconfig.get_paths()["include"], "Python.h").exists():
        skip("Python's headers are not installed (Debian: apt-get install python3-dev)")
    subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
    if not pip(venv, "-r", REQUIREMENTS):
        skip("the packages of requirements.txt cannot be installed")


def install(venv):
    # The environment has what pip would fetch into an environment of its own for the build.
    if not pip(venv, "--no-build-isolation", "--no-deps", "--force-reinstall", "."):
        sys.exit("pip install . failed")


def digest_of_sources():
    digest = hashlib.sha256()
    for part in BUILT_FROM:
        path = ROOT / part
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and file.suffix != ".pyc":
                status = file.stat()
                digest.update(f"{file} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    venv = folder / "venv"
    with open(folder / "lock", "w") as lock:  # two tests of one ctest run use the same environment
        fcntl.flock(lock, fcntl.LOCK_EX)
        once(folder / "venv.stamp", REQUIREMENTS.read_text() + sys.version, lambda: make_venv(venv))
        once(folder / "package.stamp", digest_of_sources() + sys.version, lambda: install(venv))
    os.execv(venv / "bin/python", [str(venv / "bin/python"), *sys.argv[2:]])


main()
