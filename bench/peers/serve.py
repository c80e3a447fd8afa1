"""One peer as a process that the benchmark drives: a JSON request a line on standard input, a JSON answer on standard
output. README.md has the requests; peer_NAME.py has what is particular to a peer.

    serve.py NAME --threads=2 --cpus=0,1 [--counter=FILE]
"""

import argparse
import ctypes
import importlib
import json
import mmap
import os
import signal
import sys
import time
import traceback


class Refused(Exception):
    """Why a peer does not run a workload, in a sentence for the report."""


def end_with_parent():
    """The benchmark may stop this process between its blocks and then be killed itself."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run_block(runs, first, warmup_ns, block_ns):
    """Runs of the sets in turn: those of the first `warmup_ns`, at least one, are dropped, the others timed one by one
    until `block_ns` are over. Gives nanoseconds of each, of all together, and of CPU time."""
    clock, count, i = time.perf_counter_ns, len(runs), first
    begin = start = clock()
    while True:
        runs[i % count]()
        i += 1
        start = clock()
        if start - begin >= warmup_ns:
            break
    samples = []
    block_start, cpu_start = start, time.process_time_ns()
    while True:
        runs[i % count]()
        i += 1
        end = clock()
        samples.append(end - start)
        start = end
        if start - block_start >= block_ns:
            break
    return {"samples_ns": samples, "nanoseconds": start - block_start,
            "cpu_nanoseconds": time.process_time_ns() - cpu_start, "next": i % count}


def peak_kib():
    """The most memory that this process has had."""
    with open("/proc/self/status") as status:
        return next((int(line.split()[1]) for line in status if line.startswith("VmHWM")), 0)


def counter_of(path):
    """A function that gives the number in the file: the instructions that an emulator has counted until now."""
    with open(path, "r+b") as file:
        page = mmap.mmap(file.fileno(), 8)
    return lambda: int.from_bytes(page[:8], sys.byteorder)


def count_run(run, counter):
    """Instructions of a run, those of reading the counter left out."""
    start, before = counter(), counter()
    run()
    return counter() - before - (before - start)


class Session:
    """The requests. `peer.prepare(workload)` gives variants, each with `name`, `runs` (a function for each set),
    `spoil(set)` and `output(set)`: an array in the layout of the workload, or None before the set has run."""

    def __init__(self, peer, cpus=None, counter=None):
        """`cpus` of the threads, the calling thread's first; None changes no affinity. `counter` of instructions."""
        self.peer, self.cpus, self.counter = peer, cpus, counter
        self.variants = []

    @staticmethod
    def bind(cpus):
        if cpus:
            os.sched_setaffinity(0, cpus)

    def hello(self, request):
        return {"version": self.peer.version, "pid": os.getpid()}

    def prepare(self, request):
        from workload import Workload
        self.variants = []
        self.variants = self.peer.prepare(Workload(request))
        self.next = [0] * len(self.variants)
        return {"variants": [v.name for v in self.variants],
                "tune_seconds": getattr(self.peer, "tune_seconds", 0), "trials": getattr(self.peer, "trials", 0)}

    def prepare_model(self, request):
        """An ONNX file and folders with INPUT.npy for each input, one for each set; `optimize` false asks for the
        plain graph.

        Packages start threads when a model is loaded or when it first runs (OpenVINO), and threads begin with the affinity
        of who starts them. So the calling thread is bound to its CPU only after the first run."""
        if not hasattr(self.peer, "prepare_model"):
            raise Refused("this peer does not read ONNX files")
        self.variants = []
        self.bind(self.cpus)
        start = time.perf_counter_ns()
        variant, versions = self.peer.prepare_model(request["file"], request["inputs"], request["optimize"])
        loaded = time.perf_counter_ns()
        variant.runs[0]()
        self.bind(self.cpus and self.cpus[:1])
        self.variants, self.next = [variant], [0]
        return {"load_ns": loaded - start, "peak_kib": peak_kib(), "outputs": variant.output_names, "note": versions}

    def outputs(self, request):
        import numpy as np
        for i, array in enumerate(self.variants[0].arrays(request["set"])):
            # np.ascontiguousarray would make a scalar an array of one element.
            np.save(os.path.join(request["folder"], f"{i}.npy"), np.asarray(array, order="C"))
        return {}

    def spoil(self, request):
        self.variants[request["variant"]].spoil(request["set"])
        return {}

    def run(self, request):
        self.variants[request["variant"]].runs[request["set"]]()
        return {}

    def count(self, request):
        if self.counter is None:
            raise Refused("instructions are counted in an emulator only")
        return {"instructions": count_run(self.variants[request["variant"]].runs[request["set"]], self.counter)}

    def block(self, request):
        v = request["variant"]
        answer = run_block(self.variants[v].runs, self.next[v], request["warmup_ns"], request["block_ns"])
        self.next[v] = answer.pop("next")
        return answer

    def output(self, request):
        import numpy as np
        array = self.variants[request["variant"]].output(request["set"])
        if array is None:
            raise Refused("the peer gave no output")
        np.save(request["file"], np.ascontiguousarray(array))
        return {}


def answer(session, line):
    request = json.loads(line)
    try:
        return getattr(session, request["do"])(request)
    except Refused as refusal:
        return {"error": str(refusal)}
    except Exception as error:  # Whatever a peer throws is its answer.
        traceback.print_exc()
        lines = str(error).strip().splitlines()
        return {"error": f"{type(error).__name__}: {lines[0][:300] if lines else ''}"}


def make_session(name, threads, cpus, counter=None):
    try:
        return Session(importlib.import_module("peer_" + name).Peer(threads, cpus), cpus, counter)
    except ImportError as error:
        reason = f"not installed: {error}"
    except Exception as error:
        traceback.print_exc()
        reason = f"does not start: {error}"

    class Missing:
        def __getattr__(self, _):
            raise Refused(reason)

    return Session(Missing())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--cpus", required=True, help="one for each thread")
    parser.add_argument("--counter", help="file in which an emulator counts instructions")
    args = parser.parse_args()
    end_with_parent()
    # What libraries print goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    cpus = [int(cpu) for cpu in args.cpus.split(",")]
    # Threads that libraries start may use all of them; the benchmark's own is bound to the first.
    os.sched_setaffinity(0, cpus)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.modules["serve"] = sys.modules["__main__"]
    session = make_session(args.name, args.threads, cpus, args.counter and counter_of(args.counter))
    for line in sys.stdin:
        answers.write(json.dumps(answer(session, line)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
