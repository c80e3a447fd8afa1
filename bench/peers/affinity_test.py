"""The working threads of a peer can use all CPUs at once: reads the affinities of all threads of every peer's process
while it works. Peers that are not installed are skipped by name. Run by affinity_test.sh with //bench:operators.

A thread that computes counts: one that took a tenth of the CPU time of the busiest one.
"""

import json
import os
import pwd
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = ["onednn", "openblas", "xnnpack"]
PACKAGES = ["onnxruntime", "openvino", "pytorch", "tvm", "iree", "xla"]
EXTENT = 768  # of a matrix product that is worth two threads


def python_of_peers():
    cache = os.environ.get("XDG_CACHE_HOME", os.path.join(pwd.getpwuid(os.getuid()).pw_dir, ".cache"))
    return os.path.join(os.environ.get("TILEWRIGHT_PEERS", os.path.join(cache, "tilewright/peers")), "bin/python3")


def threads_of(pid):
    """{thread: (CPU time in ticks, CPUs that it may use)}"""
    threads = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            threads[int(thread)] = (int(fields[11]) + int(fields[12]), os.sched_getaffinity(int(thread)))
        except (FileNotFoundError, ProcessLookupError):
            continue  # It has ended.
    return threads


def working(before, after):
    """Affinities of the threads that computed in between, each with its number."""
    ticks = {thread: time - before.get(thread, (0, None))[0] for thread, (time, _) in after.items()}
    least = max(1, max(ticks.values(), default=0) / 10)
    return {thread: after[thread][1] for thread in ticks if ticks[thread] >= least}


def used_at_once(affinities, taken=()):
    """How many CPUs the threads of these affinities can use at one time."""
    if not affinities:
        return len(taken)
    free = [cpu for cpu in affinities[0] if cpu not in taken]
    return max(used_at_once(affinities[1:], chosen) for chosen in [taken] + [(*taken, cpu) for cpu in free])


def complaint(pid, threads, cpus, others_needed):
    """What is wrong with the affinities of the working threads; empty when nothing is."""
    if others_needed and set(threads) <= {pid}:
        return f"one thread does all the work: {threads}"
    needed = min(len(threads), len(cpus))
    if used_at_once([allowed & set(cpus) for allowed in threads.values()]) < needed:
        return f"its threads cannot use {needed} CPUs at once: {threads}"
    return ""


def field(number, value):
    """A field of a protocol buffer: a number, or bytes."""
    def varint(n):
        out = b""
        while n >= 128:
            out, n = out + bytes([n % 128 + 128]), n // 128
        return out + bytes([n])
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def model():
    """out = x y, an ONNX model."""
    dims = field(1, field(1, EXTENT)) * 2
    tensor = field(2, field(1, field(1, 1) + field(2, dims)))
    node = field(1, "x") + field(1, "y") + field(2, "out") + field(4, "MatMul")
    graph = (field(1, node) + field(2, "product") + field(11, field(1, "x") + tensor) + field(11, field(1, "y") + tensor)
             + field(12, field(1, "out") + tensor))
    return field(1, 8) + field(7, graph) + field(8, field(2, 13))


def write_ones(path, shape):
    """An .npy file; this script runs where NumPy may be missing."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    count = 1
    for extent in shape:
        count *= extent
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<f", 1.0) * count)


def requests_of(name, folder):
    """The request that prepares a matrix product: as a model where the peer reads those."""
    if name in ("onnxruntime", "openvino"):
        path = os.path.join(folder, "model.onnx")
        with open(path, "wb") as file:
            file.write(model())
        for operand in ("x", "y"):
            write_ones(os.path.join(folder, operand + ".npy"), [EXTENT, EXTENT])
        return {"do": "prepare_model", "file": path, "inputs": [folder], "optimize": True}
    for operand in ("activation", "weight"):
        write_ones(os.path.join(folder, operand + ".npy"), [1, EXTENT, EXTENT])
    write_ones(os.path.join(folder, "parameters.npy"), [1])
    return {"do": "prepare", "op": "GMM", "shape": f"1,{EXTENT},{EXTENT},{EXTENT}", "dtype": "f32",
            "problem": {"kind": "matmul", "batch": 1, "m": EXTENT, "n": EXTENT, "k": EXTENT, "b_constant": True,
                        "b_transposed": False, "heads": 1},
            "output_shape": [1, EXTENT, EXTENT], "output_dtype": "float32", "sets": 2, "folder": folder, "program": ""}


def check_package(name, python, cpus):
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen([python, os.path.join(HERE, "serve.py"), name, "--threads=2",
                                    f"--cpus={cpus[0]},{cpus[1]}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)

        def ask(request):
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline() or '{"error": "the process has ended"}')

        try:
            for request in ({"do": "hello"}, requests_of(name, folder)):
                answer = ask(request)
                if "error" in answer:
                    return f"skipped: {name}: {answer['error']}", ""
            ask({"do": "run", "variant": 0, "set": 0})
            before = threads_of(process.pid)
            answer = ask({"do": "block", "variant": 0, "warmup_ns": 0, "block_ns": 2 * 10**9})
            if "error" in answer:
                return "", f"{name}: {answer['error']}"
            threads = working(before, threads_of(process.pid))
            wrong = complaint(process.pid, threads, cpus, others_needed=True)
            return f"{name}: {len(threads)} threads work", wrong and f"{name}: {wrong}"
        finally:
            process.kill()
            process.wait()


def check_library(name, program, cpus):
    """In one process with this compiler, whose threads stand for themselves."""
    process = subprocess.Popen([program, f"--peers={name}", f"--shape=GMM:1,{EXTENT},{EXTENT},{EXTENT}", "--notune",
                                "--seconds=4", "--threads=2"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True)
    threads = {}  # Each thread as it was last seen: the workers end before the process does.
    while process.poll() is None:
        try:
            threads |= threads_of(process.pid)
        except FileNotFoundError:
            break
        time.sleep(0.02)
    output = process.communicate()[0]
    if process.returncode != 0:
        return "", f"{name}: the benchmark fails: {output}"
    threads = working({}, threads)
    wrong = complaint(process.pid, threads, cpus, others_needed=True)
    return f"{name}: {len(threads)} threads work", wrong and f"{name}: {wrong}"


def main():
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        print("skipped: there is one CPU only")
        return
    os.sched_setaffinity(0, cpus)
    failures = []
    python = python_of_peers()
    checks = [(check_library, name, sys.argv[1]) for name in LIBRARIES]
    for name in PACKAGES:
        if os.access(python, os.X_OK):
            checks.append((check_package, name, python))
        else:
            print(f"skipped: {name}: there is no {python}")
    for check, name, program in checks:
        said, wrong = check(name, program, cpus)
        print(said)
        if wrong:
            failures.append(wrong)
    if failures:
        sys.exit("FAILED: " + "; ".join(failures))


if __name__ == "__main__":
    main()
