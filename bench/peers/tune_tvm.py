"""Tunes the workloads that the benchmark asked TVM for and that were not tuned yet.

    bazel run -c opt //bench:operators -- --peers=tvm --shape=GMM:1,512,512,512 --notune     remembers the workload
    PYTHON bench/peers/tune_tvm.py [--trials=128] [--match=GMM]                              tunes it
    bazel run -c opt //bench:operators -- --peers=tvm --shape=GMM:1,512,512,512              measures it

Each takes minutes on a machine that should do nothing else.
"""

import argparse
import glob
import json
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def tune(path, trials):
    import tvm
    from tvm.s_tir import meta_schedule as ms

    from peer_tvm import in_tvm_dialect
    with open(os.path.join(path, "program.py")) as file:
        function = tvm.script.from_source(in_tvm_dialect(file.read()))
    with open(os.path.join(path, "workload.json")) as file:
        threads = json.load(file)["threads"]
    module = tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
    buffers = function.params
    cpu = tvm.get_global_func("target.llvm_get_system_cpu")()
    target = tvm.target.Target({"kind": "llvm", "mcpu": cpu, "num-cores": threads})
    start = time.time()
    database = ms.tune_tir(mod=module, target=target, work_dir=os.path.join(path, "work"), max_trials_global=trials)
    tvm.compile(best_program(database), target=target).export_library(os.path.join(path, "library.tmp.so"))
    with open(os.path.join(path, "tuning.json"), "w") as file:
        json.dump({"seconds": time.time() - start, "trials": trials, "output_type": str(buffers[-1].dtype),
                   "shapes": [[int(extent) for extent in buffer.shape] for buffer in buffers]}, file)
    shutil.rmtree(os.path.join(path, "work"), ignore_errors=True)
    os.rename(os.path.join(path, "library.tmp.so"), os.path.join(path, "library.so"))


def best_program(database):
    """That of the fastest record."""
    from tvm import s_tir
    seconds = lambda record: sum(float(time) for time in record.run_secs) / len(record.run_secs)
    record = min((record for record in database.get_all_tuning_records() if record.run_secs), key=seconds)
    schedule = s_tir.Schedule(record.workload.mod)
    record.trace.apply_to_schedule(schedule, remove_postproc=False)
    return schedule.mod


def main():
    from serve import Refused  # noqa: F401, serve.py is importable as peer_tvm wants it
    from peer_tvm import folder
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=128)
    parser.add_argument("--match", default="", help="part of a workload's name, such as GMM:1,512,512,512:f32")
    args = parser.parse_args()
    for path in sorted(glob.glob(os.path.join(folder(), "*"))):
        with open(os.path.join(path, "workload.json")) as file:
            name = json.load(file)["name"]
        if os.path.exists(os.path.join(path, "library.so")) or args.match not in name:
            continue
        print("tuning", name, flush=True)
        tune(path, args.trials)


if __name__ == "__main__":
    main()
