#!/usr/bin/env python3
"""The page of a run of slot.sh, made of the files that it left: no number is written by hand.

    slot_page.py FOLDER > page.md
"""

import json
import os
import sys


def read(folder, name):
    """The JSON of a step; None where it left none."""
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return None
    with open(path) as file:
        text = file.read()
    try:
        if name.endswith(".jsonl"):
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        return json.loads(text)
    except ValueError:
        return None


def number(value, digits=3):
    return "" if value is None else f"{value:.{digits}g}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n"


def steps(folder):
    rows = [(s["step"], s["status"], s["seconds"]) for s in read(folder, "steps.jsonl") or []]
    return "## Steps\n\n" + table(("step", "status", "seconds"), rows)


def kernels(folder):
    results = read(folder, "kernels.json")
    if not results:
        return ""
    rows = [(r["model"], r["dtype"], r["target"], r["compiler"], r["compiled"], len(r["refused"])) for r in results]
    return "## Kernels\n\n" + table(("model", "type", "target", "compiler", "kernels", "refused"), rows)


def projected(results):
    rows = []
    for r in results:
        run = r.get("emulated", {})
        rows.append((r["model"], r["batch"], r["dtype"], r.get("functions", ""), r.get("launches", ""),
                     number(r.get("projected_ms")), run.get("launches", ""), run.get("allocations", ""),
                     number(run.get("max_rel_error"), 2), r.get("error", "right" if run else "not emulated")))
    return ("Times are projected by the cost model; nothing was measured. \"emulated\": a run at a reduced size.\n\n" +
            table(("model", "batch", "type", "functions", "launches", "projected ms", "emulated launches", "allocations",
                   "error", "outputs"), rows))


def fastest_peers(results):
    best = {}
    for r in results:
        if r["impl"].startswith("tilewright") or "error" in r or "inexact" in r:
            continue
        key = (r["model"], r["dtype"])
        best[key] = min(best.get(key, r["median_ms"]), r["median_ms"])
    return best


def measured(results):
    best = fastest_peers(results)
    rows = []
    for r in results:
        if "error" in r:
            rows.append((r["model"], r["dtype"], r["impl"], "", "", r["error"]))
            continue
        peer = best.get((r["model"], r["dtype"]))
        ratio = number(peer / r["median_ms"]) if peer and r["impl"].startswith("tilewright") else ""
        rows.append((r["model"], r["dtype"], r["impl"], number(r["median_ms"]), ratio, number(r["max_rel_error"], 2)))
    return table(("model", "type", "by", "median ms", "ratio to the fastest peer", "error"), rows)


def models(folder):
    report = read(folder, "models.json")
    if report is None:
        return ""
    text = "## Models\n\n" + (projected if report.get("source") == "projected" else measured)(report["results"])
    return text + "".join(f"\n{peer}\n" for peer in report.get("peers", []))


def operators(folder):
    report = read(folder, "operators.json")
    if report is None:
        return ""
    rows = []
    for r in report["results"]:
        time = r.get("projected_ms") if r.get("emulated") else r.get("median_ms")
        rows.append((f"{r['op']}:{r['shape']}", r["dtype"], r["impl"], number(time and 1000 * time),
                     "projected" if r.get("emulated") else "measured", r.get("error", "")))
    return "## Operators\n\n" + table(("shape", "type", "by", "us", "time is", ""), rows)


def cases(folder):
    lines = read(folder, "cases.jsonl")
    if not lines:
        return ""
    wrong = [line for line in lines if line.get("right") is False]
    total = lines[-1]
    rows = [(line["case"], line.get("message", "")) for line in wrong]
    text = f"## Cases\n\n{total.get('done', '?')} of {total.get('cases', '?')} were run, {len(wrong)} are wrong.\n"
    return text + ("\n" + table(("case", "message"), rows) if wrong else "")


def main():
    folder = sys.argv[1]
    report = read(folder, "models.json") or read(folder, "operators.json") or {}
    head = f"# A slot on a GPU\n\nCommit {report.get('commit', 'unknown')}.\n"
    device = os.path.join(folder, "device.csv")
    if os.path.exists(device):
        head += "\n    " + "\n    ".join(open(device).read().splitlines()) + "\n"
    parts = [head] + [part(folder) for part in (steps, cases, models, operators, kernels)]
    print("\n".join(part for part in parts if part), end="")


if __name__ == "__main__":
    main()
