#!/usr/bin/env python3
"""Programs as TVM prints them.

    print_programs.py --out=FOLDER            # writes FOLDER/*.py, distinct programs that TVM prints
    bazel run //tools/peer:read_programs -- FOLDER/*.py

The programs are operators of topi in several types and shapes (symbolic ones too), Relax operators after legalization,
the tensor intrinsics of every target, all of them scheduled (at random, by dlight, by MetaSchedule), and each scheduled
program after every pass of TVM's lowering. Every case runs in a child process: TVM crashes on some.
"""

import argparse
import hashlib
import os
import random
import re
import sys

import operators

try:
    import tvm
    import tvm_ffi
    from tvm import s_tir, tirx
except ImportError:
    tvm = None

TIMEOUT = 100  # seconds for one case


# ---- Schedules

def Blocks(sch):
    return [name for name in re.findall(r'T\.sblock\("(\w+)"\)', sch.mod.script()) if name != "root"]


def RandomSchedule(function, seed):
    """Applies primitives at random; what is refused is left out."""
    rng = random.Random(seed)
    sch = s_tir.Schedule(function)
    for _ in range(rng.randrange(2, 9)):
        names = Blocks(sch)
        if not names:
            break
        name = rng.choice(names)
        step = rng.choice(["split", "split", "fuse", "reorder", "vectorize", "parallel", "unroll", "cache_read",
                           "cache_write", "compute_at", "reverse_compute_at", "inline", "rfactor", "decompose", "bind",
                           "annotate", "blockize", "layout", "storage_align", "partition", "pad", "reindex",
                           "decompose_padding", "annotate_block", "set_scope", "unit"])
        try:
            before = sch.copy()
            ApplyStep(sch, sch.get_sblock(name), step, rng)
        except Exception:  # refused; some primitives leave a broken program behind
            sch = before
    return sch.mod


def ApplyStep(sch, block, step, rng):
    loops = sch.get_loops(block)
    loop = rng.choice(loops) if loops else None
    scope = rng.choice(["global", "shared", "local", "shared.dyn", "global.texture"])
    if step == "split":
        sch.split(loop, rng.choice([[None, 4], [None, 3], [2, None, 4], [None, 16], [4, None]]),
                  preserve_unit_iters=rng.random() < 0.5)
    elif step == "fuse":
        at = rng.randrange(len(loops) - 1)
        sch.fuse(loops[at], loops[at + 1])
    elif step == "reorder":
        order = list(loops)
        rng.shuffle(order)
        sch.reorder(*order)
    elif step in ("vectorize", "parallel", "unroll"):
        getattr(sch, step)(loop)
    elif step == "bind":
        sch.bind(loop, rng.choice(["blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y", "vthread.x"]))
    elif step == "cache_read":
        sch.cache_read(block, rng.randrange(2), scope)
    elif step == "cache_write":
        sch.cache_write(block, 0, scope)
    elif step in ("compute_at", "reverse_compute_at"):
        others = sch.get_consumers(block) if step == "compute_at" else sch.get_producers(block)
        getattr(sch, step)(block, rng.choice(sch.get_loops(rng.choice(others))))
    elif step == "inline":
        rng.choice([sch.compute_inline, sch.reverse_compute_inline])(block)
    elif step == "rfactor":
        sch.rfactor(loop, 0)
    elif step == "decompose":
        sch.decompose_reduction(block, loop)
    elif step == "annotate":
        key, value = rng.choice([("pragma_auto_unroll_max_step", 16), ("pragma_unroll_explicit", 1),
                                 ("software_pipeline_stage", [0, 1]), ("software_pipeline_order", [0, 1]), ("text", "x"),
                                 ("half", 0.5), ("pragma_loop_partition_hint", 1)])
        sch.annotate(loop, key, value)
    elif step == "annotate_block":
        key, value = rng.choice([("meta_schedule.tiling_structure", "SSRSRS"), ("double_buffer_scope", 0),
                                 ("auto_copy", 1), ("warp_execution", 1), ("meta_schedule.auto_tensorize", "mma_sync"),
                                 ("hand_threaded", 0)])
        sch.annotate(block, key, value)
    elif step == "blockize":
        sch.blockize(loop)
    elif step == "layout":
        sch.transform_layout(block, rng.choice([("write", 0), ("read", 0)]), lambda *i: [i[-1] // 4, *i[:-1], i[-1] % 4])
    elif step == "storage_align":
        sch.storage_align(block, 0, -1, 32, 8)
    elif step == "partition":
        sch.loop_partition(loop, [2, None])
    elif step == "pad":
        sch.pad_einsum(block, [rng.choice([1, 8]) for _ in loops])
    elif step == "reindex":
        sch.reindex(block, (rng.choice(["read", "write"]), 0))
    elif step == "decompose_padding":
        sch.decompose_padding(block, loop)
    elif step == "set_scope":
        sch.set_scope(block, 0, scope)
    elif step == "unit":
        sch.add_unit_loop(block)


def Target(name):
    return tvm.target.Target({"llvm": {"kind": "llvm", "num-cores": 4, "mcpu": "skylake-avx512"},
                              "cuda": "nvidia/nvidia-a100"}[name])


def MetaSchedules(function, target, count):
    """Programs of MetaSchedule's design space, with sampled decisions and postprocessing where it succeeds."""
    from tvm.s_tir import meta_schedule as ms
    module = function if isinstance(function, tvm.IRModule) else tvm.IRModule({"main": function})
    context = ms.TuneContext(mod=module, target=Target(target), space_generator="post-order-apply", task_name="t")
    for sch in context.generate_design_space()[:count]:
        yield sch.mod
        if all(post.apply(sch) for post in context.space_generator.postprocs):
            yield sch.mod


def Dlight(function, target):
    from tvm.s_tir import dlight
    rules = ([dlight.gpu.Matmul(), dlight.gpu.GEMV(), dlight.gpu.LowBatchGEMV(4), dlight.gpu.Reduction(),
              dlight.gpu.RMSNorm(), dlight.gpu.Transpose(), dlight.gpu.GeneralReduction(), dlight.gpu.Fallback()]
             if target == "cuda" else [dlight.cpu.GEMV(), dlight.cpu.Reduction()])
    module = function if isinstance(function, tvm.IRModule) else tvm.IRModule({"main": function})
    with Target(target):
        for rule in rules:
            try:
                yield dlight.ApplyDefaultSchedule(rule)(module)
            except Exception:
                pass


# ---- Lowering

def LoweringPasses(target):
    s, t = s_tir.transform, tirx.transform
    passes = [("CanonicalizeLoop", s), ("LowerCrossThreadReduction", s), ("LowerInitBlock", s),
              ("PlanAndUpdateBufferAllocationLocation", s), ("ConvertBlocksToOpaque", s), ("LiftThreadBinding", s),
              ("ManifestSharedMemoryLocalStage", s), ("CompactBufferAllocation", s), ("LowerAutoCopy", s),
              ("UnifyThreadBinding", s), ("LowerMatchBuffer", s), ("StmtSimplify", s), ("InjectPermutedLayout", s),
              ("AnnotateIrregularLoop", s), ("InjectSoftwarePipeline", s), ("TransformMmaBufferLayout", s),
              ("LowerOpaqueBlock", s), ("FlattenBuffer", t), ("BF16ComputeLegalize", t), ("NarrowDataType", t, 32),
              ("LoopPartition", s), ("VectorizeLoop", t, True), ("InjectVirtualThread", s), ("InjectDoubleBuffer", s),
              ("StorageRewrite", t), ("HoistIfThenElse", s), ("UnrollLoop", t), ("RenormalizeSplitPattern", s),
              ("StmtSimplify", t), ("RemoveNoOp", t), ("RewriteUnsafeSelect", s), ("CommonSubexprElim", t)]
    device = [("BindTarget", t, target), ("FP8ComputeLegalize", t), ("LowerVtcmAlloc", s), ("AnnotateEntryFunc", t),
              ("ThreadSync", s, "shared"), ("ThreadSync", s, "shared.dyn"), ("ThreadSync", s, "warp"),
              ("InferFragment", s), ("LowerThreadAllreduce", s), ("InjectPTXAsyncCopy", s),
              ("MergeSharedMemoryAllocations", s), ("SplitHostDevice", t), ("MakePackedAPI", t),
              ("FP8StorageLegalize", t), ("BF16StorageLegalize", t), ("LowerTVMBuiltin", t), ("LowerWarpMemory", t),
              ("LowerIntrin", t)]
    for name, where, *args in passes + device:
        make = getattr(where, name, None) or getattr(t, name, None) or getattr(s, name, None)
        if make is not None:
            yield name, make(*args)


def Lowered(module, target):
    """The program after each pass that changes it."""
    if not isinstance(module, tvm.IRModule):
        module = tvm.IRModule({"main": module})
    target = tvm.target.Target(Target(target), "llvm")
    for name, step in LoweringPasses(target):
        try:
            with target:
                after = step(module)
        except Exception:  # some need what an earlier pass refused to do
            continue
        if not tvm_ffi.structural_equal(after, module):
            module = after
            yield name, module


# ---- Cases: (name, function without arguments that yields (name, program))

def Cases(scale):
    for name, make in operators.All():
        yield f"{name}", lambda make=make: [("", make())]
    scheduled = [(n, m) for n, m in operators.All() if n in operators.SCHEDULED]
    for name, make in scheduled:
        for seed in range(4 * scale):
            def Random(make=make, seed=seed, name=name):
                module = RandomSchedule(make(), f"{name} {seed}")
                yield "", module
                if seed % 2 == 0:
                    yield from Lowered(module, "cuda" if "threadIdx" in str(module) else "llvm")
            yield f"{name}-random{seed}", Random
        for target in ("llvm", "cuda"):
            def Search(make=make, target=target):
                for i, module in enumerate(MetaSchedules(make(), target, 3)):
                    yield f"{i}", module
                    if i == 1:
                        for step, lowered in Lowered(module, target):
                            yield f"{i}-{step}", lowered
            yield f"{name}-ms-{target}", Search

            def Default(make=make, target=target):
                for i, module in enumerate(Dlight(make(), target)):
                    yield f"{i}", module
                    for step, lowered in Lowered(module, target):
                        yield f"{i}-{step}", lowered
            yield f"{name}-dlight-{target}", Default
    for name, make in operators.Relax():
        yield f"relax-{name}", lambda make=make: [("", make())]
    yield "intrinsics", Intrinsics


def Intrinsics():
    import importlib
    import pkgutil
    import tvm.s_tir.tensor_intrin as package
    for module in pkgutil.iter_modules(package.__path__):
        try:
            importlib.import_module("tvm.s_tir.tensor_intrin." + module.name)
        except Exception:
            pass
    names = set()
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("tvm.s_tir.tensor_intrin."):
            names |= {value for key, value in vars(module).items() if isinstance(value, str) and not key.startswith("__")}
    for name in sorted(names):
        intrinsic = s_tir.TensorIntrin.get(name, allow_missing=True)
        if intrinsic is not None:
            yield name + "-desc", intrinsic.desc
            yield name + "-impl", intrinsic.impl


def Texts(program):
    yield "", program.script()
    yield "-plain", program.script(syntax_sugar=False)
    yield "-verbose", program.script(verbose_expr=True)


def WriteCase(folder, name, case, styles):
    """Runs in a child. Files are named by a hash of the text, so that equal programs are one file."""
    for suffix, program in case():
        for style, text in list(Texts(program))[:styles]:
            digest = hashlib.sha1(text.encode()).hexdigest()[:12]
            path = os.path.join(folder, f"{digest}.py")
            if not os.path.exists(path):
                with open(path + ".new", "w") as f:
                    f.write(f"# {name} {suffix}{style}\n{text}")
                os.rename(path + ".new", path)


def Write(folder, scale, only):
    import tvm.s_tir.tensor_intrin  # slow; the children have it
    from tvm.s_tir import dlight, meta_schedule
    os.makedirs(folder, exist_ok=True)
    failed = 0
    for number, (name, case) in enumerate(Cases(scale)):
        if only and only not in name:
            continue
        child = os.fork()
        if child == 0:
            import signal
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            signal.alarm(TIMEOUT)
            try:
                WriteCase(folder, name, case, 3 if number % 5 == 0 else 1)
                os._exit(0)
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[-160:]}", flush=True)
                os._exit(1)
        status = os.waitpid(child, 0)[1]
        if status not in (0, 256):
            print(f"{name}: crashed or timed out ({status})", flush=True)
        failed += status != 0
    count = len([f for f in os.listdir(folder) if f.endswith(".py")])
    print(f"{count} programs in {folder}; {failed} cases failed in TVM")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder of the programs")
    parser.add_argument("--scale", type=int, default=1, help="more random schedules")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    args = parser.parse_args()
    if tvm is None:
        sys.exit("the Python package tvm is not installed")
    Write(args.out, args.scale, args.only)


if __name__ == "__main__":
    main()
