"""Tilewright from Python: programs and ONNX models become functions of DLPack tensors.

    gemm = tilewright.compile("gemm.py")            # a file, or the text of a program
    gemm(a, b, c)                                   # arrays of numpy, torch, ...; results are written in place

    model = tilewright.compile("model.onnx")        # a file, its bytes, or an onnx.ModelProto
    y = model(x)                                    # results are new arrays, of torch where the first input is

    tilewright.check("gemm.py")                     # what is proven, or Refused
    tuned = tilewright.tune("gemm.py", seconds=20, db="gemm.db")
    print(tilewright.explain("gemm.py"))

The compiler is the program `tilewright` inside of this package, in a process of its own; `python -m tilewright` is its
command line. Functions have no Python and nothing of the compiler in them; calls run without the interpreter's lock.
"""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import _calls

__all__ = ["Model", "Program", "Refused", "Tuned", "check", "compile", "explain", "program_path", "tune"]


class Refused(Exception):
    """The compiler refuses an input; the text is its diagnostic."""


def program_path():
    """The compiler's program."""
    return str(Path(__file__).parent / "bin" / "tilewright")


def main():
    """The command line."""
    os.execv(program_path(), ["tilewright", *sys.argv[1:]])


def _run(arguments):
    """Standard output and standard error of a command that succeeds."""
    done = subprocess.run([program_path(), *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout, done.stderr
    message = done.stderr.strip() or f"tilewright ended with {done.returncode}"
    raise (ValueError if done.returncode == 2 else Refused)(message)


class _Source:
    """A program or a model as a file, for as long as the `with` lasts."""

    def __init__(self, source):
        self._folder = tempfile.TemporaryDirectory(prefix="tilewright-")
        if hasattr(source, "SerializeToString"):
            source = source.SerializeToString()
        if isinstance(source, bytes):
            self.path = self._write("model.onnx", source)
        elif isinstance(source, os.PathLike) or "\n" not in source:
            self.path = str(source)
        else:
            self.path = self._write("program.py", source.encode())
        self.is_model = self.path.endswith(".onnx")

    def _write(self, name, content):
        path = os.path.join(self._folder.name, name)
        Path(path).write_bytes(content)
        return path

    def at(self, name):
        return os.path.join(self._folder.name, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._folder.cleanup()


def _flags(target=None, dims=None, **values):
    flags = [] if target is None else [f"--target={target}"]
    flags += [f"--dim={name}={value}" for name, value in (dims or {}).items()]
    for name, value in values.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            flags.append(flag)
        elif value is not None and value is not False:
            flags += [f"{flag}={each}" for each in (value if isinstance(value, (list, tuple)) else [value])]
    return flags


@dataclass(frozen=True)
class Parameter:
    """One parameter of a compiled function; extents that are not constant are expressions."""

    name: str
    dtype: str
    shape: tuple | None  # None: a scalar

    @staticmethod
    def all_of(text):
        pattern = re.compile(r"\s*([^:(),]+): ([A-Za-z0-9_]+)(\[[^]]*\])?,?")
        return [Parameter(name, dtype, Parameter._extents(extents)) for name, dtype, extents in pattern.findall(text)]

    @staticmethod
    def _extents(text):
        return tuple(extent.strip() for extent in text[1:-1].split(",") if extent.strip()) if text else None


@dataclass(frozen=True)
class _Function:
    name: str
    parameters: list
    constant_workspace: bool


_DECLARATION = re.compile(
    r"// \((?P<parameters>.*)\)\nint (?P<symbol>\w+)\(const TwCall.*\n(?://.*\n)*int64_t (?P<name>\w+)_workspace_bytes"
    r"\((?P<of>.*)\);"
)


def _functions(header):
    """The functions that a C header declares, in its order."""
    return {
        match["name"]: _Function(match["name"], Parameter.all_of(match["parameters"]), match["of"] == "void")
        for match in _DECLARATION.finditer(Path(header).read_text())
    }


def _as_array(value, parameter):
    if not isinstance(value, (bool, int, float)):
        return value
    import numpy

    return numpy.array(value, parameter.dtype)


def _may_be_written(array):
    flags = getattr(array, "flags", None)
    return bool(getattr(flags, "writeable", True))


class _Library:
    def __init__(self, path, header, threads):
        self._library = _calls.Library(path, threads or 0)
        self.functions = _functions(header)

    def call(self, name, values, written=None):
        function = self.functions[name]
        if len(values) != len(function.parameters):
            expected = ", ".join(parameter.name for parameter in function.parameters)
            raise TypeError(f"{name} takes {len(function.parameters)} arguments ({expected}), got {len(values)}")
        arrays = [_as_array(value, parameter) for value, parameter in zip(values, function.parameters)]
        written = written or [_may_be_written(array) for array in arrays]
        arrays = [_without_gradient(array) for array in arrays]
        code, message = self._library.call(name, arrays, written, function.constant_workspace)
        if code == 0:
            return
        if code in (_calls.error_type, _calls.error_count):
            raise TypeError(message)
        raise (RuntimeError if code >= _calls.first_error_of_runs else ValueError)(message)


def _without_gradient(array):
    return array.detach() if getattr(array, "requires_grad", False) else array


class Program:
    """A compiled program. Calling it calls its main function; `functions` has the names of all."""

    def __init__(self, library, main_function):
        self._library = library
        self._main = main_function
        self.functions = list(library.functions)

    def __call__(self, *arrays):
        self._library.call(self._main, arrays)

    def call(self, name, *arrays):
        """Calls another function: `call("main_prepack", w, w_packed)`."""
        if name not in self.functions:
            raise ValueError(f"there is no function {name}; there are {', '.join(self.functions)}")
        self._library.call(name, arrays)

    def parameters(self, name=None):
        """Parameters of a function, in order."""
        return self._library.functions[name or self._main].parameters


_EXTENT = re.compile(r"[\w\s+*/%(),-]+")


class Model:
    """A compiled model: inputs in their order or by name, results as a tuple, or alone where there is one."""

    def __init__(self, library, inputs):
        self._library = library
        (self._function,) = library.functions.values()
        self.inputs = self._function.parameters[:inputs]
        self.outputs = self._function.parameters[inputs:]

    def __call__(self, *arrays, **named):
        values = list(arrays)
        for parameter in self.inputs[len(values) :]:
            if parameter.name not in named:
                raise TypeError(f"input {parameter.name} is missing")
            values.append(named.pop(parameter.name))
        if named:
            raise TypeError(f"the model has no input {', '.join(named)}")
        values = [_as_array(value, parameter) for value, parameter in zip(values, self.inputs)]
        extents = self._extents(values)
        results = [self._empty(parameter, extents, values) for parameter in self.outputs]
        written = [False] * len(values) + [True] * len(results)
        self._library.call(self._function.name, values + results, written)
        return results[0] if len(results) == 1 else tuple(results)

    def _extents(self, values):
        extents = {}
        for value, parameter in zip(values, self.inputs):
            for extent, text in zip(value.shape, parameter.shape or ()):
                if text.isidentifier():
                    extents.setdefault(text, int(extent))
        return extents

    def _empty(self, parameter, extents, values):
        shape = []
        for text in parameter.shape or ():
            if not _EXTENT.fullmatch(text):
                raise ValueError(f"extent {text} of {parameter.name} is no expression of the inputs' extents")
            shape.append(int(eval(text, {"__builtins__": {}, "min": min, "max": max}, extents)))  # noqa: S307
        if values and type(values[0]).__module__.partition(".")[0] == "torch":
            import torch

            return torch.empty(shape, dtype=getattr(torch, parameter.dtype), device=values[0].device)
        import numpy

        return numpy.empty(shape, _numpy_type(parameter.dtype))


def _numpy_type(dtype):
    if dtype != "bfloat16":
        return dtype
    import ml_dtypes

    return ml_dtypes.bfloat16


def compile(source, target="host", *, script=None, db=None, dims=None, threads=None, intrin=None, unverified=False,
            precision=None, opt_level=None):  # fmt: skip
    """A function of DLPack tensors. Refused says why there is none.

    source: a program's or model's file, a program's text, a model's bytes or onnx.ModelProto. script, intrin: a
    schedule's file and those of its intrinsics; db: a tuning database, whose best record is applied; dims: values of a
    model's symbolic dimensions; threads: of calls, one for each CPU by default.
    """
    with _Source(source) as file:
        out = file.at("compiled.so")
        flags = _flags(target, dims, script=script, db=db, intrin=intrin, unverified=unverified, precision=precision,
                       opt_level=opt_level)  # fmt: skip
        _run(["compile", file.path, "-o", out, *flags])
        library = _Library(out, file.at("compiled.h"), threads)
        if not file.is_model:
            names = list(library.functions)
            return Program(library, "main" if "main" in names else names[0])
        described, _ = _run(["check", file.path, *_flags(None, dims)])
        return Model(library, sum(line.startswith("input ") for line in described.splitlines()))


def check(source, target=None, *, script=None, intrin=None, dims=None):
    """What is proven, and warnings. Refused where something is refuted, or where a model cannot be imported."""
    with _Source(source) as file:
        proven, warnings = _run(["check", file.path, *_flags(target, dims, script=script, intrin=intrin)])
        return proven + warnings


@dataclass(frozen=True)
class Tuned:
    report: str  # the best time and what it is to the bound
    program: str | None  # the scheduled program, and its schedule; None of a model
    schedule: str | None


def tune(source, target=None, *, seconds=60, db=None, trials=None, seed=None, dims=None, intrin=None):
    """Searches for the fastest schedule; `compile(source, db=db)` applies what it finds."""
    with _Source(source) as file:
        out = file.at("tuned.py")
        flags = _flags(target, dims, seconds=seconds, db=db, trials=trials, seed=seed, intrin=intrin)
        report, _ = _run(["tune", file.path, *flags, *([] if file.is_model else ["-o", out])])
        if file.is_model:
            return Tuned(report, None, None)
        return Tuned(report, Path(out).read_text(), Path(out + ".trace").read_text())


def explain(source, target=None, *, script=None, db=None, dims=None, as_is=False, plan=False):
    """Where the time goes, by the cost models."""
    with _Source(source) as file:
        flags = _flags(target, dims, script=script, db=db, as_is=as_is, plan=plan)
        return _run(["explain", file.path, *flags])[0]
