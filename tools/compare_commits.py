#!/usr/bin/env python3
"""Measures two builds in turn and prints what differs; called by compare_commits.sh, which makes the builds.

--work has before.bin and after.bin, each with operators, tilewright and search_benchmark, and results/programs with
the programs of the shapes, named as `operators --programs` names them: GMM_1_512_512_512_f32.py.
"""
import argparse
import collections
import json
import math
import os
import re
import statistics
import subprocess
import sys

SIDES = ("before", "after")


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        sys.exit("%s\nfailed: %s" % (done.stderr[-2000:], " ".join(command)))
    return done.stdout


def blocks_of(path):
    """The basic blocks of LLVM IR, each with how often it occurs, without the names of values, labels and strings.

    Blocks that check the arguments of a call are left out: they run once, and their order changes with the ABI.
    """
    blocks, current = collections.Counter(), []

    def end_block():
        text = "\n".join(current)
        if current and "label %refused" not in text and "snprintf" not in text and "common.ret" not in current[0]:
            text = re.sub(r"%[\w.\"]+", "%v", text.split("\n", 1)[1] if "\n" in text else "")
            blocks[re.sub(r"@\d+", "@s", text)] += 1
        current.clear()

    for line in open(path, errors="replace"):
        line = line.rstrip()
        if not line or line[0] in "@;!" or line.startswith(("source_filename", "target ", "attributes")):
            continue
        if line.startswith("define") or re.match(r'^["\w.]+:', line):
            end_block()
        line = re.sub(r"\s*; preds.*|,? ![a-z.]+ !\d+| #\d+", "", line)
        current.append(line)
    end_block()
    return blocks


def instructions(blocks):
    return sum(len(text.split("\n")) * count for text, count in blocks.items())


def compare_code(work, programs):
    """Prints which programs have other code, and returns their names."""
    different = []
    print("\n## Code of the default rules, without the checks of arguments\n")
    for name in programs:
        compiled = []
        for side in SIDES:
            path = os.path.join(work, "results", "%s.%s.ll" % (name, side))
            run([os.path.join(work, side + ".bin", "tilewright"), "compile",
                 os.path.join(work, "results", "programs", name + ".py"), "-o", path])
            compiled.append(blocks_of(path))
        if compiled[0] == compiled[1]:
            continue
        different.append(name)
        print("%s: %d instructions in blocks that differ, %d before" %
              (name, instructions(compiled[1] - compiled[0]), instructions(compiled[0] - compiled[1])))
    print("%d of %d programs have equal code" % (len(programs) - len(different), len(programs)))
    return different


def report(title, samples, unit):
    """samples: name -> side -> values, the smaller the faster. Prints medians, spread and ratios."""
    print("\n## %s\n\n%-36s %12s %12s %7s %7s" % (title, unit, "before", "after", "spread", "ratio"))
    ratios = {}
    for name, sides in samples.items():
        medians = [statistics.median(sides[side]) for side in SIDES]
        best = [min(sides[side]) for side in SIDES]
        # Disturbance only adds time: the least of each side is compared, the spread says how far to trust it.
        ratios[name] = best[0] / best[1]
        spread = max(medians[i] / best[i] for i in range(2)) - 1
        print("%-36s %12.4g %12.4g %6.1f%% %7.3f" % (name, medians[0], medians[1], 100 * spread, ratios[name]))
    if not ratios:
        return print("nothing to measure")
    mean = math.exp(statistics.mean(math.log(ratio) for ratio in ratios.values()))
    worst = min(ratios, key=ratios.get)
    print("geometric mean %.3f, worst %s %.3f" % (mean, worst, ratios[worst]))


def measure_search(work, rounds):
    samples = collections.defaultdict(lambda: collections.defaultdict(list))
    for _ in range(rounds):
        for side in SIDES:
            text = run([os.path.join(work, side + ".bin", "search_benchmark"), "--benchmark_min_time=1",
                        "--benchmark_format=json"])
            for entry in json.loads(text)["benchmarks"]:
                samples[entry["name"]][side].append(entry["cpu_time"])
    report("Making and judging a candidate, CPU time of one thread", samples, "microseconds")


def measure_operator(work, name, side, flags):
    """The median time of a shape in milliseconds, or None with a line that says why there is none."""
    op, *numbers, dtype = name.split("_")
    path = os.path.join(work, "results", "times.json")
    command = [os.path.join(work, side + ".bin", "operators"), "--shape=%s:%s" % (op, ",".join(numbers)),
               "--dtype=" + dtype, "--peers=", "--json=" + path] + flags
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    results = json.load(open(path))["results"] if done.returncode == 0 else [{"error": done.stderr.strip()[-200:]}]
    if "median_ms" not in results[0]:
        return print("%s, %s: not measured: %s" % (name, side, results[0].get("error")))
    return results[0]["median_ms"]


def measure_operators(work, names, rounds, flags, title):
    """Shapes that one of the sides cannot run are named and left out."""
    samples = collections.defaultdict(lambda: collections.defaultdict(list))
    for name in names:
        for _ in range(rounds):
            times = [measure_operator(work, name, side, flags) for side in SIDES]
            if None in times:
                samples.pop(name, None)
                break
            for side, time in zip(SIDES, times):
                samples[name][side].append(time)
    report(title, samples, "milliseconds")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True)
    parser.add_argument("--parts", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--tune_seconds", type=float, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--all", action="store_true")
    flags = parser.parse_args()
    parts = flags.parts.split(",")
    programs = sorted(os.path.splitext(file)[0] for file in os.listdir(os.path.join(flags.work, "results", "programs")))
    measured = programs
    if "code" in parts or ("operators" in parts and not flags.all):
        different = compare_code(flags.work, programs)
        measured = programs if flags.all else different
    if "search" in parts:
        measure_search(flags.work, flags.rounds)
    if "operators" in parts:
        measure_operators(flags.work, measured, flags.rounds, ["--notune", "--seconds=%g" % flags.seconds],
                          "Untuned operators, median time of a call")
    if "tuned" in parts:
        measure_operators(flags.work, programs, flags.rounds, ["--seconds=%g" % flags.tune_seconds],
                          "Tuned operators, median time of a call")


main()
