"""TVM: the benchmark's own program, tuned once by MetaSchedule and kept in a folder from then on.

A workload that was not tuned is refused, since that takes minutes of a machine that does nothing else, and remembered:
tune_tvm.py tunes what was asked for.
"""

import hashlib
import json
import os
import re

import numpy as np
import tvm

from serve import Refused


def folder():
    """Where tuned workloads are kept, one folder each."""
    default = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "tilewright", "peers")
    return os.path.join(os.environ.get("TILEWRIGHT_PEERS", default), "tuned_tvm")


def in_tvm_dialect(program):
    """What we print, in the spelling of this version of TVM. Constants are parameters like all others."""
    text = program.replace("T.block(", "T.sblock(").replace("T.alloc_buffer(", "T.sblock_alloc_buffer(")
    text = text.replace("T.block_attr(", "T.sblock_attr(").replace("@T.prim_func\n", "@T.prim_func(s_tir=True)\n")
    text = re.sub(r"^ *T\.func_attr\(.*\)\n", "", text, flags=re.M)
    # The least f32, in as many digits as TVM wants.
    text = text.replace("-3.4028235e+38", "-3.4028234663852886e+38")
    return text.replace("# from tvm.script import tir as T", "# from tvm.script import tirx as T")


def key(program, threads):
    return hashlib.sha256(f"{tvm.__version__} {threads}\n{program}".encode()).hexdigest()[:16]


class Variant:
    name = ""

    def __init__(self, function, w, constants):
        device = tvm.cpu()
        constants = [tvm.runtime.tensor(array, device) for array in constants]
        self.shape = w.output_shape
        self.outputs = [tvm.runtime.tensor(np.zeros(w.program_output, w.output_type), device)
                        for _ in range(w.num_sets)]
        self.runs = []
        for out in self.outputs:
            x = tvm.runtime.tensor(w.activation.reshape(w.program_input), device)
            self.runs.append(self.run_of(function, [x, *constants, out]))

    @staticmethod
    def run_of(function, arguments):
        return lambda: function(*arguments)

    def spoil(self, i):
        array = self.outputs[i].numpy()
        self.outputs[i].copyfrom(np.frombuffer(b"\xff" * array.nbytes, array.dtype).reshape(array.shape))

    def output(self, i):
        return self.outputs[i].numpy().reshape(self.shape)


class Peer:
    version = tvm.__version__

    def __init__(self, threads, cpus):
        os.environ["TVM_NUM_THREADS"] = str(threads)
        self.threads = threads

    def prepare(self, w):
        if w.narrow_float:
            raise Refused(f"TVM is not measured in {w.dtype}")
        path = os.path.join(folder(), key(w.program, self.threads))
        if not os.path.exists(os.path.join(path, "library.so")):
            remember(w, self.threads)
            raise Refused("not tuned; bench/peers/tune_tvm.py does it")
        with open(os.path.join(path, "tuning.json")) as file:
            tuning = json.load(file)
        self.tune_seconds, self.trials = tuning["seconds"], tuning["trials"]
        function = tvm.runtime.load_module(os.path.join(path, "library.so"))["main"]
        shapes = [tuple(shape) for shape in tuning["shapes"]]
        w.program_input, w.program_output, w.output_type = shapes[0], shapes[-1], tuning["output_type"]
        constants = [w.weight] if w.weight.ndim else []
        constants += [row for row in w.parameters] if w.parameters.ndim else []
        return [Variant(function, w, [c.reshape(s) for c, s in zip(constants, shapes[1:])])]


def remember(w, threads):
    """Keeps the program of a workload that was asked for, so that tune_tvm.py finds it."""
    path = os.path.join(folder(), key(w.program, threads))
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "program.py"), "w") as file:
        file.write(w.program)
    with open(os.path.join(path, "workload.json"), "w") as file:
        json.dump({"name": w.name, "threads": threads}, file)
