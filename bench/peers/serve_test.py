"""serve.py with peers made for the test; needs nothing but Python itself. Run by serve_test.sh."""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import serve  # noqa: E402


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def test_block_drops_the_first_runs_and_goes_on_with_the_next_set():
    seen = []
    runs = [lambda: seen.append(0), lambda: seen.append(1), lambda: seen.append(2)]
    answer = serve.run_block(runs, first=1, warmup_ns=0, block_ns=0)
    check(seen == [1, 2], f"one run is dropped and one timed, of the sets in turn: {seen}")
    check(len(answer["samples_ns"]) == 1 and answer["next"] == 0, f"what is left: {answer}")
    check(answer["nanoseconds"] == answer["samples_ns"][0], "the samples make the block")
    answer = serve.run_block(runs, first=0, warmup_ns=10**6, block_ns=3 * 10**6)
    check(answer["nanoseconds"] >= 3 * 10**6, "a block lasts as long as asked for")
    check(sum(answer["samples_ns"]) == answer["nanoseconds"], "no time between the samples is lost")


class Peer:
    version = "3"

    def prepare(self, workload):
        raise serve.Refused("no such operator")


def test_answers():
    session = serve.Session(Peer())
    check(serve.answer(session, '{"do": "hello"}') == {"version": "3", "pid": os.getpid()}, "hello")
    broken = serve.answer(session, '{"do": "run", "variant": 0, "set": 0}')
    check(broken["error"].startswith("IndexError"), f"a run of nothing is an error: {broken}")
    missing = serve.make_session("nobody", 2, [0, 1])
    answer = serve.answer(missing, '{"do": "hello"}')
    check(answer == {"error": "not installed: No module named 'peer_nobody'"}, f"who is not installed: {answer}")


class ModelPeer(Peer):
    def prepare_model(self, path, folders, optimize):
        class Model:
            output_names = ["y"]
            seen = [path, folders, optimize]
            runs = [lambda: Model.seen.append("run")]
        self.model = Model
        return Model, "a note"


def test_models():
    request = '{"do": "prepare_model", "file": "f", "inputs": ["i"], "optimize": false}'
    refused = serve.answer(serve.Session(Peer()), request)
    check(refused == {"error": "this peer does not read ONNX files"}, f"a peer without models: {refused}")
    session = serve.Session(ModelPeer())
    answer = serve.answer(session, request)
    check(answer["outputs"] == ["y"] and answer["note"] == "a note", f"what a model has: {answer}")
    check(answer["load_ns"] > 0 and answer["peak_kib"] > 0, f"time and memory: {answer}")
    check(session.peer.model.seen == ["f", ["i"], False, "run"], "a model is loaded as asked and has run once")
    check(serve.answer(session, '{"do": "run", "variant": 0, "set": 0}') == {}, "a model runs")


def test_instructions_are_those_of_one_run():
    """Each reading of this counter costs two, the run five."""
    count = [0]

    def read():
        count[0] += 2
        return count[0]

    def run():
        count[0] += 5

    class Counted(Peer):
        def prepare_model(self, path, folders, optimize):
            class Model:
                output_names = []
                runs = [run]
            return Model, ""

    load = '{"do": "prepare_model", "file": "f", "inputs": ["i"], "optimize": true}'
    request = '{"do": "count", "variant": 0, "set": 0}'
    session = serve.Session(Counted(), counter=read)
    serve.answer(session, load)
    check(serve.answer(session, request) == {"instructions": 5}, "a run is counted without the readings")
    session = serve.Session(Counted())
    serve.answer(session, load)
    check(serve.answer(session, request) == {"error": "instructions are counted in an emulator only"}, "no counter")
    with tempfile.NamedTemporaryFile() as file:
        file.write((1 << 40).to_bytes(8, sys.byteorder))
        file.flush()
        check(serve.counter_of(file.name)() == 1 << 40, "the number in the file")


def test_caller_is_bound_after_the_first_run():
    """Threads that a package starts in its first run have all CPUs."""
    before = os.sched_getaffinity(0)
    seen = []

    class Threaded(Peer):
        def prepare_model(self, path, folders, optimize):
            class Model:
                output_names = ["y"]
                runs = [lambda: seen.append(os.sched_getaffinity(0))]
            return Model, ""

    cpus = sorted(before)
    session = serve.Session(Threaded(), cpus)
    request = '{"do": "prepare_model", "file": "f", "inputs": ["i"], "optimize": true}'
    for _ in range(2):
        serve.answer(session, request)
        check(os.sched_getaffinity(0) == {cpus[0]}, "the caller is bound to the first CPU")
    os.sched_setaffinity(0, before)
    check(seen == [before, before], f"the first run may start threads on all CPUs: {seen}")


def test_process():
    """A peer that prints, and is missing a package."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {"serve.py": open(os.path.join(HERE, "serve.py")).read(),
                           "peer_loud.py": "print('what libraries print')\nclass Peer:\n  version = '1'\n"
                                           "  def __init__(self, threads, cpus): print(threads, cpus)\n",
                           "peer_bare.py": "import package_that_nobody_has\n"}.items():
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        cpu = min(os.sched_getaffinity(0))
        for name, key, value in (("loud", "version", "1"),
                                 ("bare", "error", "not installed: No module named 'package_that_nobody_has'")):
            done = subprocess.run([sys.executable, os.path.join(folder, "serve.py"), name, "--threads=1",
                                   f"--cpus={cpu}"], input='{"do": "hello"}\n', capture_output=True, text=True)
            check(done.returncode == 0, done.stderr)
            check(json.loads(done.stdout)[key] == value, f"only answers are on standard output: {done.stdout}")


if __name__ == "__main__":
    test_block_drops_the_first_runs_and_goes_on_with_the_next_set()
    test_answers()
    test_models()
    test_instructions_are_those_of_one_run()
    test_caller_is_bound_after_the_first_run()
    test_process()
