#!/usr/bin/env python3
"""Applies the same random schedules to the same programs in TVM and in `tilewright schedule`, and compares the results.

A developer's script: no test runs it, and nothing else needs TVM. README.md says how to install it and what the known
differences are.

  bazel build //tools:tilewright
  PYTHON tools/peer/compare.py [--seed=1] [--schedules=100] [--primitive=compute_at] [--show=different,"only ours"]

Each schedule is several calls on a program of programs.py, drawn from the seed while TVM applies them (calls.py). A
call is counted under its primitive with one of the outcomes

  same        both accept, and `tilewright equal` finds the programs equal after the call
  different   both accept, the programs are not equal
  refused     both refuse
  only ours   we refuse, TVM accepts       only TVM    TVM refuses, we accept

A schedule ends where outcomes differ; what TVM refuses is left out of what follows.
"""

import argparse
import collections
import os
import pickle
import random
import subprocess
import sys
import tempfile
import traceback

import calls
import intrins
import programs

KINDS = ["same", "different", "refused", "only ours", "only TVM"]


class Step:
    """A line of a schedule as TVM took it: `error` is None when it was accepted, `program` the result's text."""

    def __init__(self, line, primitive, error=None, program=None):
        self.line, self.primitive, self.error, self.program = line, primitive, error, program


class Peer:
    """TVM, in a child process for each schedule: it crashes on some."""

    def __init__(self):
        import tvm
        from tvm import s_tir
        self.tvm, self.s_tir = tvm, s_tir
        for name, text in intrins.Texts().items():
            functions = tvm.script.from_source("# from tvm.script import tirx as T\n@I.ir_module\nclass Module:\n" +
                                               text.replace("\n", "\n    "))
            s_tir.TensorIntrin.register(name, functions[name + "_desc"], functions[name + "_impl"])

    def Parse(self, text):
        parsed = self.tvm.script.from_source(text)
        return parsed if isinstance(parsed, self.tvm.ir.IRModule) else self.tvm.IRModule({"main": parsed})

    def InChild(self, work):
        """The entries that `work` yields, read from a child process; Step("crashed") last if it crashed."""
        sys.stdout.flush()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            messages = os.dup(2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            try:
                with os.fdopen(write, "wb") as pipe:
                    for entry in work():
                        pickle.dump(entry, pipe)
                        pipe.flush()
            except BaseException:
                os.write(messages, traceback.format_exc().encode())
            os._exit(0)
        os.close(write)
        entries = []
        with os.fdopen(read, "rb") as pipe:
            while True:
                try:
                    entries.append(pickle.load(pipe))
                except EOFError:
                    break
        os.waitpid(child, 0)
        return entries

    def Draw(self, module, rng, primitives, length):
        """Steps of a random schedule; before each call it yields the line, so that a crash leaves a trace."""
        schedule = self.s_tir.Schedule(module)
        done = []

        def Apply(line, primitive=None):
            done.append(Step(line, primitive))
            names["sch"] = schedule
            try:
                exec(line, names)
                done[-1].program = schedule.mod.script()
            except Exception as error:  # ScheduleError, and internal errors that stand for refusals
                done[-1].error = f"{type(error).__name__}: {' '.join(str(error).split())[-400:]}"
                raise calls.CannotDraft() from error

        drafter = calls.Drafter(rng, schedule, Apply)
        names = drafter.names
        for _ in range(length):
            try:
                if rng.random() < 0.3 and "work_on" not in primitives:
                    Apply(calls.CALLS["work_on"][0](drafter), "work_on")
            except calls.CannotDraft:
                done.clear()
            primitive = rng.choice(primitives)
            for _ in range(3):
                try:
                    draft, results = calls.CALLS[primitive]
                    call = draft(drafter)
                except calls.CannotDraft:
                    yield from done
                    done.clear()
                    continue
                yield from done
                done.clear()
                yield Step(call, primitive, error="crashed")  # what is to be believed if nothing follows
                try:
                    ApplyCall(Apply, drafter, call, results, primitive)
                except calls.CannotDraft:
                    pass
                yield from done
                internal = done[-1].error and "ScheduleError" not in done[-1].error
                done.clear()
                if internal:
                    return
                break

    def Replay(self, module, lines):
        def Work():
            names = {"sch": self.s_tir.Schedule(module)}
            for line in lines:
                yield Step(line, "", "crashed")
                try:
                    exec(line, names)
                    yield Step(line, "", None, names["sch"].mod.script())
                except Exception as error:
                    yield Step(line, "", f"{type(error).__name__}: {' '.join(str(error).split())[-400:]}")
        return self.InChild(Work)


def ApplyCall(apply, drafter, call, results, primitive):
    """The call with names for its results. What queries give is marked by annotations, so that it is compared."""
    if results in ("", "work_on"):
        return apply(call, primitive)
    name = drafter.Fresh("x")
    apply(f"{name} = {call}", primitive)
    mark = f"{primitive}{drafter.count}"
    if primitive in ("get_block", "sample_compute_location"):
        value = drafter.names[name]
        if drafter.schedule.get_sref(value) is not None and "Root" not in str(value):
            apply(f'sch.annotate({name}, "{mark}", 1)', primitive)
    elif primitive.startswith("get_"):
        for k in range(len(drafter.names[name])):
            apply(f'sch.annotate({name}[{k}], "{mark}", {k})', primitive)
    elif primitive.startswith("sample_"):
        block, _, _ = drafter.AnyBlock()
        apply(f'sch.annotate({drafter.AsBlock(block)}, "{mark}", {name})', primitive)
    elif results == "block" or results == "loop":
        if drafter.rng.random() < 0.2:
            apply(f'sch.annotate({name}, "{mark}", 1)', primitive)


class Tilewright:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.intrins = self.Write("intrins.py", "from tvm.script import tirx as T\n" + "".join(intrins.Texts().values()))

    def Write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def Run(self, *args):
        return subprocess.run([self.binary, *args], capture_output=True, text=True)

    def Schedule(self, text, lines, each_step=False):
        """(programs after each line or the last one, None) or (those before it, (number of the line, message))."""
        program, script = self.Write("ours.py", text), self.Write("schedule.py", "\n".join(lines) + "\n")
        done = self.Run("schedule", program, "--script=" + script, "--intrin=" + self.intrins,
                        *(["--each-step"] if each_step else []))
        results = EachStep(done.stdout, text, len(lines)) if each_step else [done.stdout]
        if done.returncode == 0:
            return results, None
        if done.returncode != 1:
            return results, (-1, f"exit status {done.returncode}: {done.stderr}")
        first = done.stderr.split("\n", 1)[0]
        line = first.removeprefix(script + ":").split(":", 1)[0]
        return results, (int(line) - 1 if line.isdigit() else -1, first.removeprefix(script + ":"))

    def Equal(self, ours, theirs):
        done = self.Run("equal", self.Write("result_ours.py", ours), self.Write("result_tvm.py", theirs))
        return done.returncode == 0, done.stdout + done.stderr


def EachStep(printed, before, count):
    """The program after each line of a schedule, from what --each-step prints."""
    after = {}
    for piece in printed.split("# line ")[1:]:
        head, _, body = piece.partition("\n")
        if "(changes nothing)" not in head:
            after[int(head.split(":", 1)[0]) - 1] = "\n".join(line[2:] for line in body.split("\n"))
    results = []
    for number in range(count):
        before = after.get(number, before)
        results.append(before)
    return results


def Compare(ours, text, steps):
    """Yields (step, outcome, detail, lines before) of the counted steps."""
    accepted = [step for step in steps if step.error is None]
    lines = [step.line for step in accepted]
    good = len(lines)
    results, error = ours.Schedule(text, lines)
    detail, outcome = "", "same"
    if error or (accepted and not ours.Equal(results[0], accepted[-1].program)[0]):
        results, error = ours.Schedule(text, lines, each_step=True)
        good = error[0] if error else len(lines)
        if error:
            outcome, detail = "only ours", error[1]
        # The first step whose result differs.
        low, high = 0, good
        if good and not ours.Equal(results[good - 1], accepted[good - 1].program)[0]:
            while low < high:
                middle = (low + high) // 2
                if ours.Equal(results[middle], accepted[middle].program)[0]:
                    low = middle + 1
                else:
                    high = middle
            good, outcome = low, "different"
            detail = ours.Equal(results[good], accepted[good].program)[1] + "\n" + accepted[good].program
    number = 0
    for step in steps:
        if step.error is None:
            if number == good:
                yield step, outcome, detail, lines[:number]
                return
            yield step, "same", "", lines[:number]
            number += 1
        elif step.primitive:
            _, error = ours.Schedule(text, lines[:number] + [step.line])
            if error is None:
                yield step, "only TVM", step.error, lines[:number]
            elif error[0] == number:
                yield step, "refused", f"ours: {error[1]}\nTVM: {step.error}", lines[:number]


def WithoutMarks(steps):
    """Drops the marks "crashed" that a later step of the same line replaces."""
    kept = []
    for k, step in enumerate(steps):
        replaced = any(step.line in later.line for later in steps[k + 1:k + 3]) if step.error == "crashed" else False
        if not replaced:
            kept.append(step)
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="bazel-bin/tools/tilewright")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schedules", type=int, default=100)
    parser.add_argument("--length", type=int, default=5, help="calls of a schedule, at most")
    parser.add_argument("--primitive", help="only these, separated by commas (others come before them)")
    parser.add_argument("--family", help="only programs of this family")
    parser.add_argument("--show", default="", help="outcomes to show in full, separated by commas; or all")
    args = parser.parse_args()
    shown = KINDS if args.show == "all" else args.show.split(",")
    wanted = args.primitive.split(",") if args.primitive else [name for name in calls.CALLS if name != "work_on"]
    usual = [name for name in calls.CALLS if not name.startswith(("get_", "sample_", "enter", "work"))]
    counts, seen = collections.defaultdict(collections.Counter), set()
    with tempfile.TemporaryDirectory() as folder:
        peer, ours = Peer(), Tilewright(args.binary, folder)
        print(f"seed {args.seed}, TVM {peer.tvm.__version__}")
        rng = random.Random(args.seed)
        module = None
        for number in range(args.schedules):
            if number % 8 == 0:
                while True:
                    family, text = programs.RandomProgram(rng)
                    if not args.family or family == args.family:
                        break
                module = peer.Parse(text)
            draw = random.Random(rng.random())
            length = draw.randrange(1, args.length + 1)
            pool = wanted if draw.random() < 0.5 or not args.primitive else wanted * 10 + usual
            steps = WithoutMarks(peer.InChild(lambda: peer.Draw(module, draw, pool, length)))
            for step, outcome, detail, before in Compare(ours, text, steps):
                key = hash((text, tuple(before), step.line))
                if not step.primitive:
                    if outcome in ("same", "refused"):
                        continue
                    step.primitive = step.line.split("sch.", 1)[1].split("(")[0].replace("sblock", "block")
                if key in seen:
                    continue
                seen.add(key)
                counts[step.primitive][outcome] += 1
                if outcome in shown and (step.primitive in wanted):
                    print(f"---- {step.primitive}: {outcome} ({family})\n{text}\n" + "\n".join(before + [step.line]) + f"\n{detail}", flush=True)
    Table(counts)


def Table(counts):
    print(f"{'primitive':24}" + "".join(f"{kind:>11}" for kind in KINDS) + f"{'accepted':>11}{'equal':>8}")
    for primitive in sorted(counts):
        row = counts[primitive]
        accepted = row["same"] + row["different"] + row["only ours"]
        equal = f"{100 * row['same'] / accepted:.1f}%" if accepted else "-"
        print(f"{primitive:24}" + "".join(f"{row[kind]:11}" for kind in KINDS) + f"{accepted:11}{equal:>8}")


if __name__ == "__main__":
    sys.exit(main())
