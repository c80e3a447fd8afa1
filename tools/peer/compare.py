#!/usr/bin/env python3
"""Applies the same random schedules to the same programs in TVM and in `tilewright schedule`, and compares the results.

A developer's script: no test runs it, and nothing else needs TVM. README.md says how to install it and what the known
differences are.

  bazel build //tools/peer:judge
  PYTHON tools/peer/compare.py [--seed=1] [--schedules=100] [--primitive=compute_at] [--show=different,"only ours"]
  PYTHON tools/peer/compare.py --accepted=200      until that many calls of each primitive were accepted by TVM

Each schedule is several calls on a program of programs.py, drawn from the seed while TVM applies them (calls.py). A
call is counted under its primitive with one of the outcomes

  same        both accept, and the programs are equal after the call
  different   both accept, the programs are not equal
  only ours   we refuse, TVM accepts
  TVM wrong   one of these, of a kind that explained.py recognizes and docs/peer_differences.md describes, where a run of
              TVM's result (meaning.h) shows it to be wrong, or TVM cannot read its own program again
  on purpose  one of these, of a kind that is described, where nothing shows TVM's result to be wrong
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

KINDS = ["same", "TVM wrong", "on purpose", "different", "only ours", "refused", "only TVM", "accepted on purpose"]
ACCEPTED = KINDS[:5]  # by TVM


ATTEMPTS = 4  # to draw a call that TVM accepts
BATCH = 8  # schedules of a program

INDEX_TABLE = re.compile(r"(index_var_\d+ = T.sblock_alloc_buffer\(.*), strides=\(1,\)")
ROUNDED_UP = re.compile(r"\((\w+) - \1 % -(\d+)\) // \2\b")
HIDDEN = "-- after unsafe_hide_buffer_access\n"
DECLARED = "-- equal once blocks declare what they touch\n"  # judge.cc

QUERY = re.compile(r"^[a-z0-9, ]+ = sch\.get_")  # changes no program


class Step:
    """A line of a schedule as TVM took it: `error` is None when it was accepted, `program` the result's text."""

    def __init__(self, line, primitive, error=None, program=None):
        self.line, self.primitive, self.error, self.program = line, primitive, error, program


class Peer:
    """TVM, in child processes: it crashes on some schedules."""

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

    def CanRead(self, text):
        def Work():
            yield self.Parse(text) is not None
        return any(self.InChild(Work, quiet=True))

    def InChild(self, work, quiet=False):
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
                if not quiet:
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
            for _ in range(ATTEMPTS):
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
                refused = done[-1].error
                done.clear()
                if refused and "ScheduleError" not in refused:
                    return  # an internal error may leave anything behind
                if not refused:
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
    """The program. cache_index gives its tables one stride, whatever their rank: such a text cannot be read. Quotients
    that are rounded up, as (n - n % -4) // 4, are (n + 3) // 4."""
    text = INDEX_TABLE.sub(r"\1", schedule.mod.script())
    return ROUNDED_UP.sub(lambda found: f"({found[1]} + {int(found[2]) - 1}) // {found[2]}", text)


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
    """Yields (step, outcome, detail, lines before, the answer) of the counted steps."""
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
                yield step, answer["outcome"], answer["detail"], lines[:number], answer
                return
            yield step, "same", "", lines[:number], {}
            number += 1
        elif step.primitive:
            refusal = next(refusals)
            if refusal is None:
                yield step, "only TVM", step.error, lines[:number], {}
            else:
                yield step, "refused", f"ours: {refusal}\nTVM: {step.error}", lines[:number], {}


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


class Calls:
    """What came of each call that was counted; kept in a file, so that runs add up."""

    def __init__(self):
        self.outcomes = {}  # hash of program and schedule to (primitive, outcome)
        self.details = {}  # of those that are not the same: (detail, why TVM's is wrong, why ours is)
        self.accepted = collections.Counter()

    def Add(self, key, primitive, outcome, details):
        self.outcomes[key] = primitive, outcome
        if outcome not in ("same", "refused"):
            self.details[key] = details
        self.accepted[primitive] += outcome in ACCEPTED

    def Kind(self, key):
        """(outcome, heading in docs/peer_differences.md or None, detail): what is described counts as explained."""
        primitive, outcome = self.outcomes[key]
        detail, theirs, ours = self.details.get(key, ("", "", ""))
        reason = None if ours else explained.Reason(primitive, outcome, detail)
        if ours:
            detail = f"ours is wrong: {ours}\n{detail}"
        if theirs:
            detail = f"TVM's is wrong: {theirs}\n{detail}"
        if reason:
            outcome = "accepted on purpose" if outcome == "only TVM" else "TVM wrong" if theirs else "on purpose"
        return outcome, reason, detail

    def Load(self, path):
        with open(path, "rb") as f:
            outcomes, details = pickle.load(f)
        for key, (primitive, outcome) in outcomes.items():
            if key not in self.outcomes:
                self.Add(key, primitive, outcome, details.get(key))

    def Save(self, path):
        with open(path + ".new", "wb") as f:
            pickle.dump((self.outcomes, self.details), f)
        os.replace(path + ".new", path)


class Run:
    """Draws, compares and counts schedules."""

    def __init__(self, args, folder):
        self.args = args
        self.peer, self.ours = Peer(), Tilewright(args.binary, folder)
        self.rng = random.Random(args.seed)
        self.calls = Calls()
        self.end = time.monotonic() + args.seconds
        self.drawn = collections.Counter()  # schedules by primitive that was wanted
        self.family, self.text, self.module = None, None, None
        self.wanted = args.primitive.split(",") if args.primitive else [name for name in calls.CALLS if name != "work_on"]
        self.shown = KINDS if args.show == "all" else args.show.split(",")
        self.usual = [name for name in calls.CALLS if not name.startswith(("get_", "sample_", "enter", "work"))]

    def NextProgram(self, primitive=None):
        wanted = self.args.family.split(",") if self.args.family else calls.FAMILIES_OF.get(primitive)
        family = self.rng.choice(wanted) if wanted else None  # one that is listed often is drawn often
        while True:
            self.family, self.text = programs.RandomProgram(self.rng)
            if family in (None, self.family):
                break
        self.module = self.peer.Parse(self.text)

    def Schedules(self, about):
        """A random schedule about each primitive in `about`, in one child process: what follows a crash is left out."""
        def Work():
            for primitive, seed in seeds:
                yield None
                draw = random.Random(seed)
                length = draw.randrange(1, self.args.length + 1)
                pool = [primitive] if draw.random() < 0.5 else [primitive] * 10 + self.usual
                yield from self.peer.Draw(self.module, draw, pool, length)
        seeds = [(primitive, self.rng.random()) for primitive in about]
        steps = []
        for step in self.peer.InChild(Work) + [None]:
            if step is not None:
                steps.append(step)
            elif steps:
                self.Judge(WithoutMarks(steps))
                steps = []

    def Judge(self, steps):
        for step, outcome, detail, before, answer in Compare(self.ours, self.text, steps):
            key = hashlib.sha1(repr((self.text, before, step.line)).encode()).digest()[:8]
            if not step.primitive:
                if outcome in ("same", "refused"):
                    continue
                step.primitive = step.line.split("sch.", 1)[1].split("(")[0].replace("sblock", "block")
            if key in self.calls.outcomes:
                continue
            theirs, ours = self.WhyWrong(step, answer), answer.get("ours", "")
            # What the user asks for as unsafe is on the user's head, and the mistake that both make is described.
            if any("sch.unsafe_" in line for line in before) or ours == theirs:
                ours = ""
            if any("unsafe_hide_buffer_access" in line for line in before):
                detail += HIDDEN
            self.calls.Add(key, step.primitive, outcome, (detail, theirs, ours))
            self.Show(key, before + [step.line])

    def WhyWrong(self, step, answer):
        if answer.get("unread") and not self.peer.CanRead(step.program):
            return "TVM cannot read its program again"
        return answer.get("theirs", "")

    def Show(self, key, lines):
        primitive = self.calls.outcomes[key][0]
        outcome, reason, detail = self.calls.Kind(key)
        if outcome in self.shown and primitive in self.wanted:
            print(f"---- {primitive}: {outcome} ({self.family}) {reason or ''}\n{self.text}\n" + "\n".join(lines) + f"\n{detail}",
                  flush=True)

    def Save(self):
        if self.args.save:
            self.calls.Save(self.args.save)

    def Random(self):
        for _ in range(0, self.args.schedules, BATCH):
            self.NextProgram()
            self.Schedules([self.rng.choice(self.wanted) for _ in range(BATCH)])

    def UntilAccepted(self):
        """Schedules about the primitives that have the fewest accepted calls, until all have enough."""
        for number in range(0, self.args.schedules, BATCH):
            left = [name for name in self.wanted
                    if self.calls.accepted[name] < self.args.accepted and self.drawn[name] < self.args.give_up]
            if not left or time.monotonic() > self.end:
                return
            left.sort(key=lambda name: (self.calls.accepted[name], self.drawn[name]))
            self.NextProgram(left[0])
            fitting = [name for name in left if self.family in calls.FAMILIES_OF.get(name, [self.family])]
            about = ((fitting or left) * BATCH)[:BATCH]
            self.drawn.update(about)
            self.Schedules(about)
            if number % (8 * BATCH) == 0:
                self.Save()


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
    parser.add_argument("--table", help="only the table of what these files of --save hold, separated by commas")
    parser.add_argument("--show", default="", help="outcomes to show in full, separated by commas; or all")
    args = parser.parse_args()
    if not args.accepted and args.schedules == 100000:
        args.schedules = 100
    if args.table:
        counted = Calls()
        for path in args.table.split(","):
            counted.Load(path)
        return Report(counted)
    with tempfile.TemporaryDirectory() as folder:
        run = Run(args, folder)
        if args.save and os.path.exists(args.save):
            run.calls.Load(args.save)
        print(f"seed {args.seed}, TVM {run.peer.tvm.__version__}")
        try:
            run.UntilAccepted() if args.accepted else run.Random()
        except KeyboardInterrupt:
            pass
    run.Save()
    Report(run.calls)


def Report(counted):
    """The kinds of what is not the same, and the table of README.md."""
    reasons, counts = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    for key, (primitive, _) in counted.outcomes.items():
        outcome, reason, detail = counted.Kind(key)
        counts[primitive][outcome] += 1
        counts[primitive]["declared"] += outcome in ACCEPTED and DECLARED in detail
        if outcome not in ("same", "refused"):
            reasons[primitive, outcome][reason or Shortened(outcome, detail)] += 1
    for (primitive, outcome), kinds in sorted(reasons.items()):
        for reason, count in kinds.most_common(8):
            print(f"{primitive:24}{outcome:>20}{count:5}  {reason}")
    print()
    Table(counts)


def Table(counts):
    print("| primitive | " + " | ".join(KINDS) + " | accepted by TVM | equal | equal where TVM is right | "
          "equal but for undeclared regions |")
    print("|---|" + "---|" * (len(KINDS) + 4))
    for primitive in sorted(set(counts) - {"work_on"}):
        row = counts[primitive]
        accepted = sum(row[outcome] for outcome in ACCEPTED)
        percent = lambda of: f"{100 * row['same'] / of:.1f}%" if of else "-"
        print(f"| {primitive} | " + " | ".join(str(row[kind]) for kind in KINDS) +
              f" | {accepted} | {percent(accepted)} | {percent(accepted - row['TVM wrong'])} | {row['declared'] or ''} |")


if __name__ == "__main__":
    sys.exit(main())
