#!/usr/bin/env python3
"""Makes docs/results.md from JSON files that the benchmarks wrote.

  bench/report/results_page.py FILE.json... > docs/results.md

One section a file: machine, commit, command, and of operators for every data type the number of shapes, the geometric mean
and the least of peer time over this compiler's time, against each peer and against the fastest of them; of models a line for
each with times, load times and peak memory of this compiler and its peers.
The JSON files themselves are kept outside of the repository's history.
"""

import collections
import json
import math
import sys

HEAD = """# Results

Made by `bench/report/results_page.py` from JSON files of `//bench:operators` and `//bench:models`; [measuring.md](measuring.md) says how the
figures come about. A ratio is the time of the peer over the time of this compiler on the same data in the same run: above
1 this compiler is faster. Every result was checked in that run.
"""


def GeometricMean(ratios):
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))


def Fastest(entries):
    """Median of the fastest variant of each implementation that ran, was right, and is to be compared."""
    times = {}
    for entry in entries:
        if any(reason in entry for reason in ("error", "inexact", "not_compared")):
            continue
        if entry.get("checked") and entry.get("median_ms"):
            impl = entry["impl"]
            times[impl] = min(times.get(impl, math.inf), entry["median_ms"])
    return times


def Ratios(results):
    """{dtype: {peer: [(ratio, "OP shape")]}}; the peer "fastest" is the fastest of all."""
    groups = collections.defaultdict(list)
    for entry in results:
        groups[(entry["dtype"], entry["op"], str(entry["shape"]))].append(entry)
    table = collections.defaultdict(lambda: collections.defaultdict(list))
    for (dtype, op, shape), entries in groups.items():
        times = Fastest(entries)
        ours = times.pop("tilewright", None)
        if ours is None or not times:
            continue
        for peer, peer_time in times.items():
            table[dtype][peer].append((peer_time / ours, f"{op} {shape}"))
        table[dtype]["fastest"].append((min(times.values()) / ours, f"{op} {shape}"))
    return table


def OperatorLines(results):
    lines = ["| type | peer | shapes | geometric mean | least | where |", "|---|---|---|---|---|---|"]
    for dtype, peers in Ratios(results).items():
        for peer, ratios in sorted(peers.items(), key=lambda item: (item[0] == "fastest", item[0])):
            if peer == "fastest" and len(peers) == 2:
                continue
            least, where = min(ratios)
            lines.append(f"| {dtype} | {peer} | {len(ratios)} | {GeometricMean([r for r, _ in ratios]):.2f} | "
                         f"{least:.2f} | {where} |")
    return lines


def ModelLines(results):
    lines = ["| model | by | median ms | ratio | load ms | peak MiB | kernels |", "|---|---|---|---|---|---|---|"]
    groups = collections.defaultdict(list)
    for entry in results:
        groups[(entry["model"], str(entry["dims"]))].append(entry)
    for (model, _), entries in groups.items():
        times = Fastest(entries)
        for entry in entries:
            if entry["impl"] not in times:
                continue
            ratio = f"{times[entry['impl']] / times['tilewright']:.2f}" if "tilewright" in times else ""
            lines.append(f"| {model} | {entry['impl']} {entry['version']} | {entry['median_ms']:.1f} | {ratio} | "
                         f"{entry['load_ms']:.0f} | {entry['peak_mib']:.0f} | {entry['kernels'] or ''} |")
    return lines


def Section(path):
    with open(path) as file:
        run = json.load(file)
    if not run.get("results"):
        return ""
    name = path.split("/")[-1].removesuffix(".json")
    machine = run.get("machine", {})
    lines = [f"\n## {name}\n", f"Machine: {machine.get('cpu', machine.get('model', 'not recorded'))}, "
             f"{machine.get('threads', machine.get('cores', '?'))} threads. Commit {run.get('commit', 'not recorded')}.\n",
             f"    {run.get('command', 'command not recorded')}\n"]
    if "op" in run["results"][0]:
        lines += OperatorLines(run["results"])
    elif "model" in run["results"][0]:
        lines += ModelLines(run["results"])
    else:
        return ""
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(HEAD + "".join(Section(path) for path in sys.argv[1:]), end="")


if __name__ == "__main__":
    main()
