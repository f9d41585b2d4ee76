"""The command line: ``python -m krt``, the part of the ``krt`` program that calls kernels.

Commands, options, output and exit codes are the program's: 0 done, 1 the execution failed, 2 usage, 3 the server cannot
be reached.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from typing import Any, Sequence

import numpy as np

from . import __version__
from ._runtime import DEFAULT_ADDRESS, MojoRuntime
from .errors import MojoRuntimeError, error_for

DONE, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3
SHOWN = 8  # values of a list


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; gives the exit status."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        return status
    except MojoRuntimeError as error:
        return _failed(error)
    except BrokenPipeError:  # `python -m krt modules | head -1`: seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def _globals(**options: Any) -> argparse.ArgumentParser:
    """The options that may stand before or behind the command."""
    parser = argparse.ArgumentParser(add_help=False, **options)
    parser.add_argument("--remote", metavar="HOST:PORT", help="use the server there instead of this process (KRT_REMOTE)")
    parser.add_argument("--format", choices=("text", "json"), help="text (default) or json")
    parser.add_argument("--threads", type=int, metavar="N", help="threads that compute; 0 is all of the machine's")
    return parser


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m krt", description=__doc__, parents=[_globals()])
    parser.set_defaults(remote=os.environ.get("KRT_REMOTE", ""), format="text",
                        threads=int(os.environ.get("KRT_THREADS", "0")))  # fmt: skip
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Any, summary: str, *positional: str) -> argparse.ArgumentParser:
        behind = _globals(argument_default=argparse.SUPPRESS)  # what is not there does not undo what stands before
        sub = commands.add_parser(name, help=summary, description=summary, parents=[behind])
        for argument in positional:
            sub.add_argument(argument.lower(), metavar=argument)
        sub.set_defaults(run=run)
        return sub

    command("modules", _modules, "List the modules and how many functions each has")
    command("functions", _functions, "List the functions of a module", "MODULE")
    command("describe", _describe, "Show what a module or a function does", "NAME")
    execute = command("execute", _execute, "Call a function by name", "MODULE", "FUNCTION")
    execute.add_argument("--args-json", default="", metavar="JSON",
                         help="arguments as JSON: an array is positional, an object by name; @FILE reads a file, - "
                              "standard input")  # fmt: skip
    execute.add_argument("--request-id", default="", metavar="TEXT", help="comes back with the result")
    execute.add_argument("--timeout", type=float, metavar="S", default=None, help="seconds until the call is given up")
    command("health", _health, f"Ask a server (--remote, else {DEFAULT_ADDRESS}) whether it serves")
    command("version", _version, "Print the version")
    return parser


def _runtime(options: argparse.Namespace) -> MojoRuntime:
    if options.remote:
        return MojoRuntime(mode="remote", address=options.remote, arrays="numpy")
    return MojoRuntime(threads=options.threads, arrays="numpy")  # they know their type, which lists do not


def _modules(options: argparse.Namespace) -> int:
    modules = _runtime(options).list_modules()
    return _print(options, modules, _columns([[m["name"], str(len(m["functions"]))] for m in modules]))


def _functions(options: argparse.Namespace) -> int:
    names = _runtime(options).list_functions(options.module)
    return _print(options, names, "".join(f"{name}\n" for name in names))


def _describe(options: argparse.Namespace) -> int:
    found = _look_up(_runtime(options), options.name)
    return _print(options, found, _module_text(found) if "functions" in found else _function_text(found))


def _look_up(runtime: MojoRuntime, name: str) -> dict[str, Any]:
    """``name`` is a module, or else a module, a dot and a function."""
    try:
        return runtime.describe(name)
    except MojoRuntimeError as no_module:
        module, dot, function = name.rpartition(".")
        if no_module.code != "module_not_registered" or not dot:
            raise
        try:
            return runtime.describe(module, function)
        except MojoRuntimeError as no_function:
            raise no_module if no_function.code == "module_not_registered" else no_function from None


def _execute(options: argparse.Namespace) -> int:
    runtime = _runtime(options)
    args = _arguments(options.args_json)
    answer = runtime.execute(options.module, options.function, args, options.request_id, timeout=options.timeout or None)
    changed = _changed(runtime, options, args) if answer["success"] else {}
    if options.format == "json":
        _write(_dump({**answer, "mutated": changed} if changed else answer) + "\n")
    if not answer["success"]:
        return _failed(error_for(answer["error_code"], answer["error"]))
    return _print(options, None, _result_text(answer, changed)) if options.format == "text" else DONE


def _arguments(given: str) -> Any:
    if given == "-":
        given = sys.stdin.read()
    elif given.startswith("@"):
        try:
            with open(given[1:], encoding="utf-8") as file:
                given = file.read()
        except OSError as error:
            sys.stderr.write(f"krt: cannot read '{given[1:]}': {error.strerror}\n")
            raise SystemExit(USAGE) from None
    try:
        return json.loads(given, object_pairs_hook=_object, parse_float=_finite) if given.strip() else None
    except (ValueError, RecursionError) as error:
        raise error_for("invalid_arguments", f"malformed JSON: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("an object has a key twice")
    return dict(pairs)


def _finite(text: str) -> float:
    if math.isinf(float(text)):
        raise ValueError(f"{text} does not fit a double")
    return float(text)


def _changed(runtime: MojoRuntime, options: argparse.Namespace, args: Any) -> dict[str, Any]:
    """The lists that the kernel changed in place, by parameter name."""
    params = runtime.describe(options.module, options.function)["params"]
    names = [p["name"] for p in params]
    given = args if isinstance(args, dict) else dict(zip(names, args if isinstance(args, list) else [args]))
    dtypes = {p["name"]: np.float64 if p["type"].startswith("f64") else np.float32 for p in params if "&" in p["type"]}
    return {name: np.array(given[name], dtype) for name, dtype in dtypes.items() if isinstance(given.get(name), list)}


def _health(options: argparse.Namespace) -> int:
    address = options.remote or DEFAULT_ADDRESS
    health = MojoRuntime(mode="remote", address=address).health()
    if "error" in health:
        raise error_for("compute_runtime_unavailable", health["error"])
    text = (f"{'serving' if health['ok'] else 'not serving'}: {address}, version {health['version']}, engine "
            f"{health['engine']}, up {int(health['uptime_seconds'])} s\n")  # fmt: skip
    _print(options, {**health, "address": address}, text)
    return DONE if health["ok"] else FAILED


def _version(options: argparse.Namespace) -> int:
    return _print(options, {"version": __version__}, f"krt {__version__}\n")


# --- text


def _print(options: argparse.Namespace, value: Any, text: str) -> int:
    _write(_dump(value) + "\n" if options.format == "json" else text)
    return DONE


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _failed(error: MojoRuntimeError) -> int:
    sys.stderr.write(f"krt: {error}\n")
    return UNREACHABLE if error.code == "compute_runtime_unavailable" else FAILED


def _dump(value: Any) -> str:
    return json.dumps(_strict(value), separators=(",", ":"), ensure_ascii=False)


def _strict(value: Any) -> Any:
    """NaN and the infinities as the strings that krt writes and reads, because JSON has no such numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {name: _strict(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    if isinstance(value, np.ndarray):
        return _strict(_shortest(value))
    return value


def _shortest(array: np.ndarray[Any, Any]) -> Any:
    """The array as lists whose floats have no more digits than their type needs."""
    if array.dtype.kind != "f" or array.dtype.itemsize == 8:
        return array.tolist()
    digits = [float(str(x)) for x in array.astype(np.float32).ravel()]
    return np.array(digits, np.float64).reshape(array.shape).tolist()


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else _dump(value)


def _preview(value: Any) -> str:
    if isinstance(value, (list, np.ndarray)) and len(value) > SHOWN:
        return f"{_dump(value[:SHOWN])[:-1]}, ... {len(value)} values]"
    return _dump(value)


def _columns(rows: list[list[str]], indent: int = 0) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(*rows)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)
    return "".join(f"{' ' * indent}{line}\n" for line in lines)


def _result_text(answer: dict[str, Any], changed: dict[str, Any]) -> str:
    result = answer["result"]
    if not isinstance(result, dict):
        return _plain(result) + "\n"
    rows = [[k, f"{v} {answer['status_name']}" if k == "status" else _preview(v)] for k, v in result.items()]
    return _columns(rows + [[k, f"{_preview(v)} (changed in place)"] for k, v in changed.items()])


def _section(title: str, rows: list[list[str]]) -> str:
    return f"\n{title}\n{_columns(rows, 2)}" if rows else ""


def _rows(entries: list[dict[str, Any]], *names: str) -> list[list[str]]:
    return [[_plain(entry[name]) for name in names] for entry in entries]


def _module_text(module: dict[str, Any]) -> str:
    return f"{module['name']}\n  {module['summary']}\n{_section('Functions', _rows(module['functions'], 'name', 'summary'))}"


def _function_text(f: dict[str, Any]) -> str:
    variants = [[v["name"], "runs here" if v["refused_by"] is None else f"refused here by {v['refused_by']}"]
                for v in f["variants"]]  # fmt: skip
    by_shape = f" by {f['variant_shape']}" if f["variant_shape"] else ""
    return "".join(
        [
            f"{f['module']}.{f['name']}\n  {f['summary']}\n  {f['signature']}\n",
            f"\n  {f['details']}\n" if f["details"] else "",
            _section("Parameters", _rows(f["params"], "name", "type", "doc")),
            _section(f"Result {f['result_struct']}".rstrip(), _rows(f["result_fields"], "name", "type")),
            _section("Statuses", _rows(f["statuses"], "code", "name", "meaning")),
            _section("Capabilities", [[key, _plain(value)] for key, value in f["capabilities"].items()]),
            _section(f"Variants{by_shape}, best first", variants),
            f"\nExample\n  krt execute {f['module']} {f['name']} --args-json '{f['example']}'\n",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
