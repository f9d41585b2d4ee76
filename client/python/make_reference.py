"""Writes docs/python-api.md from the docstrings of the package krt, which has to be installed.

    make_reference.py OUTPUT
"""

import inspect
import re
import sys

del sys.path[0]  # the source of the package is beside this file; meant is the installed one
import krt  # noqa: E402

CLASSES = [krt.MojoRuntime, krt.Handle, krt.Generator, krt.Libraries, krt.MojoRuntimeError,
           krt.MojoRuntimeConfigurationError, krt.MojoModuleNotRegisteredError, krt.MojoFunctionNotRegisteredError,
           krt.MojoExecutionError, krt.KernelStatusError]
HEADER = "# Python API\n\nWritten by `client/python/make_reference.py` from the docstrings; [python.md](python.md) is the guide.\n"


def signature(function):
    """The signature on one line, without self and without quotes around annotations."""
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))
    return re.sub(r"\(self(, )?", "(", text)


def paragraphs(text):
    """The docstring as Markdown: what is laid out in columns or indented stays as it is."""
    out = []
    for part in inspect.cleandoc(text or "").replace("``", "`").split("\n\n"):
        laid_out = any(line.startswith((" ", ">>>")) or re.search(r"\S   +\S", line) for line in part.splitlines())
        out.append(f"```text\n{part.replace('`', '')}\n```" if laid_out else part)
    return "\n\n".join(out) + "\n"


def public_members(cls):
    for name, member in vars(cls).items():
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
            yield name, member


def main():
    out = [HEADER, "## krt\n", paragraphs(krt.__doc__),
           f"### `default_runtime{signature(krt.default_runtime)}`\n", paragraphs(krt.default_runtime.__doc__)]
    for cls in CLASSES:
        bases = "" if cls.__base__ is object else f"({cls.__base__.__name__})"
        out += [f"## `krt.{cls.__name__}{bases}`\n", paragraphs(cls.__doc__)]
        if "__init__" in vars(cls) and cls is not krt.Handle and not issubclass(cls, Exception):
            out.append(f"```text\n{cls.__name__}{signature(cls.__init__).replace(' -> None', '')}\n```\n")
        for name, member in public_members(cls):
            spelled = name if isinstance(member, property) else name + signature(member)
            doc = member.fget.__doc__ if isinstance(member, property) else member.__doc__
            out += [f"### `{spelled}`\n", paragraphs(doc)]
    out += ["## `krt.decode`\n", paragraphs(krt.decode.__doc__)]
    for name in krt.decode.__all__:
        function = getattr(krt.decode, name)
        out += [f"### `{name}{signature(function)}`\n", paragraphs(function.__doc__)]
    with open(sys.argv[1], "w") as file:
        file.write("\n".join(out))


main()
