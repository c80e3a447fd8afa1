#!/usr/bin/env python3
"""Applies the same random schedules to the same programs in TVM and in `tilewright schedule`, and compares the results.

A developer's script: no test runs it, and nothing else needs TVM. README.md says how to install it and what the known
differences are.

  bazel build //tools/peer:judge
  PYTHON tools/peer/compare.py [--seed=1] [--schedules=100] [--primitive=compute_at] [--show=different,"only ours"]
  PYTHON tools/peer/compare.py --accepted=200      until that many calls of each primitive were accepted by TVM

Each schedule is several calls on a program of programs.py, drawn from the seed while TVM applies them (calls.py). A
call is counted under its primitive with one of the outcomes

  same        both accept, and `tilewright equal` finds the programs equal after the call
  different   both accept, the programs are not equal
  only ours   we refuse, TVM accepts
  explained   one of these, of a kind that explained.py recognizes and docs/peer_differences.md describes
  refused     both refuse
  only TVM    TVM refuses, we accept
  accepted on purpose  one of these, of a kind that is described

A schedule ends where outcomes differ; what TVM refuses is left out of what follows.
"""

import argparse
import collections
import hashlib
import json
import os
import pickle
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback

import calls
import explained
import intrins
import programs

KINDS = ["same", "explained", "different", "only ours", "refused", "only TVM", "accepted on purpose"]
ACCEPTED = KINDS[:4]  # by TVM


INDEX_TABLE = re.compile(r"(index_var_\d+ = T.sblock_alloc_buffer\(.*), strides=\(1,\)")
QUERY = re.compile(r"^[a-z0-9, ]+ = sch\.get_")  # changes no program


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
                if primitive or not QUERY.search(line):
                    done[-1].program = Text(schedule)
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
                    yield Step(line, "", None, Text(names["sch"]))
                except Exception as error:
                    yield Step(line, "", f"{type(error).__name__}: {' '.join(str(error).split())[-400:]}")
        return self.InChild(Work)


def Text(schedule):
    """The program. cache_index gives its tables one stride, whatever their rank: such a text cannot be read."""
    return INDEX_TABLE.sub(r"\1", schedule.mod.script())


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
    """`judge`, which applies schedules in a process of its own; started again if it dies."""

    def __init__(self, binary, folder):
        self.binary, self.process = binary, None
        self.intrins = os.path.join(folder, "intrins.py")
        with open(self.intrins, "w") as f:
            f.write("from tvm.script import tirx as T\n" + "".join(intrins.Texts().values()))

    def Ask(self, request):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen([self.binary, self.intrins], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            text=True)
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if answer:
            return json.loads(answer)
        return {"error": f"exit status {self.process.wait()}"}


def Compare(ours, text, steps):
    """Yields (step, outcome, detail, lines before) of the counted steps."""
    accepted = [step for step in steps if step.error is None]
    lines = [step.line for step in accepted]
    tries, number = [], 0
    for step in steps:
        number += step.error is None
        if step.error is not None and step.primitive:
            tries.append({"after": number, "line": step.line})
    answer = ours.Ask({"program": text, "lines": lines, "results": [step.program for step in accepted], "tries": tries})
    if "error" in answer:
        print(f"---- judge failed: {answer['error']}\n{text}\n" + "\n".join(step.line for step in steps), flush=True)
        return
    refusals, number = iter(answer["tries"]), 0
    for step in steps:
        if step.error is None:
            if number == answer["same"]:
                yield step, answer["outcome"], answer["detail"], lines[:number]
                return
            yield step, "same", "", lines[:number]
            number += 1
        elif step.primitive:
            refusal = next(refusals)
            if refusal is None:
                yield step, "only TVM", step.error, lines[:number]
            else:
                yield step, "refused", f"ours: {refusal}\nTVM: {step.error}", lines[:number]


def WithoutMarks(steps):
    """Drops the marks "crashed" that a later step of the same line replaces."""
    kept = []
    for k, step in enumerate(steps):
        replaced = any(step.line in later.line for later in steps[k + 1:k + 3]) if step.error == "crashed" else False
        if not replaced:
            kept.append(step)
    return kept


def Shortened(outcome, detail):
    """What differences of one kind have in common: names and numbers of the case left out."""
    lines = [line for line in detail.split("\n") if line]
    if not lines:
        return ""
    if outcome == "only TVM":
        found = re.search(r"Error message: ?(.*)|ScheduleError: ?(.*)", lines[0])
        return next((part for part in found.groups() if part), lines[0])[-160:] if found else lines[0][:160]
    return re.sub(r"\d+", "N", lines[0])[:160]


class Run:
    """Draws, compares and counts schedules."""

    def __init__(self, args, folder):
        self.args = args
        self.peer, self.ours = Peer(), Tilewright(args.binary, folder)
        self.rng = random.Random(args.seed)
        self.counts = collections.defaultdict(collections.Counter)
        self.seen = set()
        self.end = time.monotonic() + args.seconds
        self.reasons = collections.defaultdict(collections.Counter)  # by (primitive, outcome)
        self.drawn = collections.Counter()  # schedules by primitive that was wanted
        self.family, self.text, self.module = None, None, None
        self.wanted = args.primitive.split(",") if args.primitive else [name for name in calls.CALLS if name != "work_on"]
        self.shown = KINDS if args.show == "all" else args.show.split(",")
        self.usual = [name for name in calls.CALLS if not name.startswith(("get_", "sample_", "enter", "work"))]

    def Accepted(self, primitive):
        return sum(self.counts[primitive][outcome] for outcome in ACCEPTED)

    def NextProgram(self, primitive=None):
        wanted = self.args.family.split(",") if self.args.family else calls.FAMILIES_OF.get(primitive)
        family = self.rng.choice(wanted) if wanted else None  # one that is listed often is drawn often
        while True:
            self.family, self.text = programs.RandomProgram(self.rng)
            if family in (None, self.family):
                break
        self.module = self.peer.Parse(self.text)

    def OneSchedule(self, wanted):
        draw = random.Random(self.rng.random())
        length = draw.randrange(1, self.args.length + 1)
        pool = wanted if draw.random() < 0.5 or not self.args.primitive else wanted * 10 + self.usual
        steps = WithoutMarks(self.peer.InChild(lambda: self.peer.Draw(self.module, draw, pool, length)))
        for step, outcome, detail, before in Compare(self.ours, self.text, steps):
            key = hashlib.sha1(repr((self.text, before, step.line)).encode()).digest()[:8]
            if not step.primitive:
                if outcome in ("same", "refused"):
                    continue
                step.primitive = step.line.split("sch.", 1)[1].split("(")[0].replace("sblock", "block")
            if key in self.seen:
                continue
            self.seen.add(key)
            self.Count(step, outcome, detail, before)

    def Count(self, step, outcome, detail, before):
        reason = explained.Reason(step.primitive, outcome, detail)
        if reason:
            outcome = "accepted on purpose" if outcome == "only TVM" else "explained"
        self.counts[step.primitive][outcome] += 1
        if outcome not in ("same", "refused"):
            self.reasons[step.primitive, outcome][reason or Shortened(outcome, detail)] += 1
        if outcome in self.shown and step.primitive in self.wanted:
            print(f"---- {step.primitive}: {outcome} ({self.family}) {reason or ''}\n{self.text}\n" +
                  "\n".join(before + [step.line]) + f"\n{detail}", flush=True)

    def Load(self):
        if not self.args.save or not os.path.exists(self.args.save):
            return
        with open(self.args.save, "rb") as f:
            self.seen, counts, reasons = pickle.load(f)
        self.counts.update(counts)
        self.reasons.update(reasons)

    def Save(self):
        if not self.args.save:
            return
        with open(self.args.save + ".new", "wb") as f:
            pickle.dump((self.seen, dict(self.counts), dict(self.reasons)), f)
        os.replace(self.args.save + ".new", self.args.save)

    def Random(self):
        for number in range(self.args.schedules):
            if number % 8 == 0:
                self.NextProgram()
            self.OneSchedule(self.wanted)

    def UntilAccepted(self):
        """Schedules about the primitive that has the fewest accepted calls, until all have enough."""
        for number in range(self.args.schedules):
            if time.monotonic() > self.end:
                return
            left = [name for name in self.wanted if self.Accepted(name) < self.args.accepted and self.drawn[name] < self.args.give_up]
            if not left:
                return
            primitive = min(left, key=lambda name: (self.Accepted(name), self.drawn[name]))
            if number % 8 == 0 or (primitive in calls.FAMILIES_OF and self.family not in calls.FAMILIES_OF[primitive]):
                self.NextProgram(primitive)
            self.drawn[primitive] += 1
            if number % 20 == 19:
                self.Save()
            self.OneSchedule([primitive])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="bazel-bin/tools/peer/judge")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schedules", type=int, default=100000, help="at most")
    parser.add_argument("--accepted", type=int, default=0, help="go on until TVM accepted that many calls of each primitive")
    parser.add_argument("--give_up", type=int, default=1500, help="schedules of a primitive after which to go on without it")
    parser.add_argument("--length", type=int, default=5, help="calls of a schedule, at most")
    parser.add_argument("--primitive", help="only these, separated by commas (others come before them)")
    parser.add_argument("--family", help="only programs of these families")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after that time")
    parser.add_argument("--save", help="a file that keeps the counts: a later run, with another seed, goes on from them")
    parser.add_argument("--show", default="", help="outcomes to show in full, separated by commas; or all")
    args = parser.parse_args()
    if not args.accepted and args.schedules == 100000:
        args.schedules = 100
    with tempfile.TemporaryDirectory() as folder:
        run = Run(args, folder)
        run.Load()
        print(f"seed {args.seed}, TVM {run.peer.tvm.__version__}")
        try:
            run.UntilAccepted() if args.accepted else run.Random()
        except KeyboardInterrupt:
            pass
    run.Save()
    Reasons(run.reasons, run.wanted)
    Table(run.counts)


def Reasons(reasons, wanted):
    for (primitive, outcome), counted in sorted(reasons.items()):
        if primitive not in wanted:
            continue
        for reason, count in counted.most_common(8):
            print(f"{primitive:24}{outcome:>20}{count:5}  {reason}")
    print()


def Table(counts):
    print("| primitive | " + " | ".join(KINDS) + " | accepted by TVM | equal | equal or explained |")
    print("|---|" + "---|" * (len(KINDS) + 3))
    for primitive in sorted(counts):
        row = counts[primitive]
        accepted = sum(row[outcome] for outcome in ACCEPTED)
        percent = lambda part: f"{100 * part / accepted:.1f}%" if accepted else "-"
        print(f"| {primitive} | " + " | ".join(str(row[kind]) for kind in KINDS) +
              f" | {accepted} | {percent(row['same'])} | {percent(row['same'] + row['explained'])} |")


if __name__ == "__main__":
    sys.exit(main())
