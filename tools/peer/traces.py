#!/usr/bin/env python3
"""Replays traces of TVM's tuner (MetaSchedule) here, and compares the results with TVM's.

  PYTHON tools/peer/traces.py [--target=llvm,cuda] [--seeds=1] [--show]

For each of TVM's own workloads at small sizes, TVM generates its design spaces; each is sampled and post-processed. The
trace goes to us as TVM prints it: sampling calls with decisions, annotations, enter_postproc.
"""

import argparse
import collections
import os
import tempfile

import compare


def Workloads():
    from tvm.s_tir.meta_schedule.testing import te_workload as w
    return {
        "conv1d": lambda: w.conv1d_nlc(1, 64, 16, 32, 3, 2, 1),
        "conv2d": lambda: w.conv2d_nhwc(1, 14, 14, 16, 32, 3, 1, 1),
        "dilated": lambda: w.conv2d_nhwc(1, 14, 14, 16, 32, 3, 1, 1, 2),
        "grouped": lambda: w.conv2d_nhwc(1, 14, 14, 16, 32, 3, 2, 1, 1, 4),
        "conv3d": lambda: w.conv3d_ndhwc(1, 4, 8, 8, 16, 16, 3, 1, 1),
        "batch_matmul": lambda: w.batch_matmul_nkkm(1, 128, 128, 128),
        "matmul": lambda: w.matmul(128, 128, 128),
        "matmul_relu": lambda: w.matmul_relu(128, 128, 128),
        "depthwise": lambda: w.depthwise_conv2d_nhwc(1, 14, 14, 32, 3, 1, 1),
        "transposed": lambda: w.conv2d_transpose_nhwc(1, 4, 4, 32, 16, 4, 2, 1),
        "capsule": lambda: w.conv2d_capsule_nhwijc(1, 8, 8, 8, 16, 3, 2, 1),
        "norm": lambda: w.norm_bmn(1, 64, 64),
        "softmax": lambda: w.softmax_mn(64, 64),
        "conv_bn_relu": lambda: w.conv2d_nhwc_bn_relu(1, 14, 14, 16, 32, 3, 1, 1),
        "transposed_matmul": lambda: w.transpose_batch_matmul(1, 32, 4, 16),
        "pool": lambda: w.max_pool2d_nchw(1, 16, 8, 8, 1),
    }


def Targets():
    from tvm.target import Target
    return {
        "llvm": Target({"kind": "llvm", "num-cores": 16}),
        "cuda": Target({"kind": "cuda", "arch": "sm_86", "max_threads_per_block": 1024,
                        "max_shared_memory_per_block": 49152, "thread_warp_size": 32}),
    }


def Samples(module, target, seed):
    """Schedules of the design spaces of a module, post-processed."""
    from tvm import s_tir
    from tvm.s_tir import meta_schedule
    context = meta_schedule.TuneContext(mod=module, target=target, space_generator="post-order-apply",
                                        task_name="main", rand_state=seed)
    for number, design in enumerate(context.generate_design_space()):
        schedule = s_tir.Schedule(module, seed=seed * 7 + number + 1)
        try:
            design.trace.apply_to_schedule(schedule, remove_postproc=True)
            schedule.enter_postproc()
            for postproc in context.space_generator.postprocs:
                postproc.apply(schedule)
        except Exception:  # samples that TVM itself refuses
            continue
        yield schedule


def Outcome(ours, text, schedule):
    lines = str(schedule.trace).split("\n")
    answer = ours.Ask({"program": text, "lines": lines, "results": [None] * (len(lines) - 1) + [schedule.mod.script()],
                       "tries": []})
    if "error" in answer:
        return "refused", answer["error"]
    return {"same": "equal", "only ours": "refused"}.get(answer["outcome"], answer["outcome"]), answer["detail"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="bazel-bin/tools/peer/judge")
    parser.add_argument("--target", default="llvm,cuda")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="what is not equal, with its trace")
    args = parser.parse_args()
    import tvm
    from tvm import te
    with tempfile.TemporaryDirectory() as folder:
        ours = compare.Tilewright(os.path.abspath(args.binary), folder)
        for target in args.target.split(","):
            counts = collections.Counter()
            for name, workload in Workloads().items():
                function = te.create_prim_func(workload()).with_attr("global_symbol", "main")
                module = tvm.IRModule({"main": function})
                for seed in range(1, args.seeds + 1):
                    for schedule in Samples(module, Targets()[target], seed):
                        outcome, detail = Outcome(ours, module.script(), schedule)
                        counts[outcome] += 1
                        if args.show and outcome != "equal":
                            print(f"---- {target} {name}: {outcome}\n{schedule.trace}\n{detail}", flush=True)
            print(f"{target}: " + ", ".join(f"{counts[kind]} {kind}" for kind in ("equal", "different", "refused")))


if __name__ == "__main__":
    main()
