"""The rule of docs/judging.md for means, computed without Assay: `rule.py RUN SAMPLES.csv`.

RUN is a run folder with manifest.json; what was promised to each group is taken from its verdict.json. SAMPLES.csv is
what `assay report RUN --as csv` wrote. For every promise on bytes, requests or CPU time it prints a line of JSON.
"""

import csv
import json
import math
import sys
from collections import defaultdict
from pathlib import Path

FEWEST, KEPT, BROKEN = 8, 0.01 / 4, 0.005 / 4
COUNTERS = {"io.bytes": ("io", ["read_bytes", "write_bytes"]), "io.ios": ("io", ["read_ios", "write_ios"]), "cpu.time": ("cpu", ["usage_ns"])}


def root(f, low, high):
    """Where the falling f is zero."""
    for _ in range(300):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return (low + high) / 2


def beta(x, a, b):
    """The regularized incomplete beta function, by its continued fraction (Abramowitz and Stegun 26.5.8)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(1 - x)) / a
    fraction = 1.0
    for m in range(400, 0, -1):
        even, odd = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        fraction = 1 + even / (1 + odd / fraction)
    return front / (1 - (a + b) * x / (a + 1) / fraction)


def gamma(x, a):
    """The regularized lower incomplete gamma function, by its series."""
    term = total = 1 / a if x > 0 else 0.0
    for k in range(1, 2000):
        term *= x / (a + k)
        total += term
    return total * math.exp(a * math.log(x) - x - math.lgamma(a)) if x > 0 else 0.0


def t(wrong, freedom):
    """Student's t that is exceeded with this probability."""
    return root(lambda t: beta(freedom / (freedom + t * t), freedom / 2, 0.5) / 2 - wrong, 0.0, 1e4)


def bounds(numbers, slices, piece, wrong):
    """Of the mean of one group's numbers; of few slices those of a count (Garwood)."""
    n, mean = len(numbers), sum(numbers) / len(numbers)
    if n < FEWEST:
        return 0.0, math.inf
    if slices >= 10 or piece <= 0:
        half = t(wrong, n - 1) * math.sqrt(sum((y - mean) ** 2 for y in numbers) / (n - 1) / n)
        return max(mean - half, 0.0), mean + half
    events, unit = mean * n / piece, piece / n
    low = root(lambda x: wrong - gamma(x, events), 0.0, 1e3) if events > 0 else 0.0
    return low * unit, root(lambda x: 1 - wrong - gamma(x, events + 1), 0.0, 1e3) * unit


def another(inside, of):
    """Another start is inside with at least this probability, at 95 % (Clopper and Pearson)."""
    return root(lambda p: 0.05 - beta(p, inside, of - inside + 1), 0.0, 1.0) if inside else 0.0


def grid(series, start, end):
    """What each group got in each step of the time that all readings have in common."""
    start, end = max(start, *(rows[0][0] for rows in series)), min(end, *(rows[-1][0] for rows in series))
    step = 100_000_000
    for rows in series:
        times = [time for time, _ in rows if time <= end]
        gap = sorted(b - a for a, b in zip(times, times[1:]))[(len(times) - 1) // 2]
        step = max(step, gap - gap // 20)
    steps = (end - start) // step
    columns = []
    for rows in series:
        values, at = [], 1
        for time in range(start, start + steps * step + 1, step):
            while at + 1 < len(rows) and rows[at][0] < time:
                at += 1
            (t0, v0), (t1, v1) = rows[at - 1], rows[at]
            values.append(v0 + (v1 - v0) * min(max(time - t0, 0) / max(t1 - t0, 1), 1.0))
        columns.append([b - a for a, b in zip(values, values[1:])])
    return columns, step * 1e-9


def start_of(repeat, series, warm_up, shares):
    """The numbers of one start: of each group over the window, over all of it with the warm-up, its slices, and one slice."""
    common = max(repeat["released_ns"], repeat["all_released_ns"])
    end = max(repeat["stopped_ns"], common)
    length = (end - common) * 1e-9
    fixed, cut = (0.0, min(0.2 * length, 0.5)) if warm_up == "auto" else (min(warm_up["seconds"], length), 0.0)
    columns, step = grid(series, common + int(fixed * 1e9), end)
    first = min(math.ceil(cut / step), len(columns[0]) - 1)
    judged = [column[first:] for column in columns]
    whole = [sum(map(sum, part)) if shares else len(part[0]) * step for part in (judged, columns)]
    slices = [sum(c) ** 2 / sum(x * x for x in c) if any(c) else 0.0 for c in judged]
    return [sum(c) / whole[0] for c in judged], [sum(c) / whole[1] for c in columns], slices, max(map(max, judged)) / whole[0], len(columns[0]) * step


def main(run, samples):
    manifest, verdict = (json.loads((Path(run) / name).read_text()) for name in ("manifest.json", "verdict.json"))
    readings = defaultdict(lambda: defaultdict(dict))
    with open(samples, newline="") as file:
        for row in csv.DictReader(file):
            if row["value"]:
                key = int(row["trial"]), int(row["repeat"]), row["source"], row["subject"]
                readings[key][int(row["time_ns"])][row["counter"]] = int(row["value"])
    for number, (trial, judged) in enumerate(zip(manifest["trials"], verdict["trials"])):
        counted = [number - 1 for number in judged["rounds"]]
        # Those that a check leaves out. They must not decide.
        left_out = [i for i, one in enumerate(trial["repeats"]) if not one.get("fault") and i not in counted]
        for promise, found in zip(trial["promises"], judged["promises"]):
            if promise["measure"] not in COUNTERS or not found["groups"] or not counted:
                continue
            source, counters = COUNTERS[promise["measure"]]
            scale = 1e-9 if promise["measure"] == "cpu.time" else 1
            groups, promised = [one["name"] for one in found["groups"]], [one["expected_share"] for one in found["groups"]]
            low, high = 1 - promise["within"], 1 + promise["within"]
            low, high = (0, high) if found["is"].startswith("at_most") else (low, math.inf) if found["is"].startswith("at_least") else (low, high)
            shares = not found["is"].startswith("at_")

            def start(i):
                rows = [sorted((at, sum(values[c] for c in counters) * scale) for at, values in readings[number, i, source, group].items()) for group in groups]
                return start_of(trial["repeats"][i], rows, trial["warm_up"], shares) if all(rows) else None

            def is_inside(start):
                return all(low <= y / p <= high for y, p in zip(start[1], promised))

            def decide(starts):
                piece, out, kept, broken = max(start[3] for start in starts), [], True, False
                for g, p in enumerate(promised):
                    numbers, slices = [start[0][g] for start in starts], sum(start[2][g] for start in starts)
                    a, b = bounds(numbers, slices, piece, KEPT)
                    x, y = bounds(numbers, slices, piece, BROKEN / len(groups))
                    kept, broken = kept and low <= a / p and b / p <= high, broken or x / p > high or y / p < low
                    out.append([groups[g], sum(numbers) / len(numbers), a, None if math.isinf(b) else b])
                return "broken" if broken else "kept" if kept else "undecided", out

            starts, others = [start(i) for i in counted], [start(i) for i in left_out]
            known = [one for one in others if one]
            word, out = decide(starts)
            if decide(starts + known)[0] != word or word == "kept" and len(known) < len(others):
                word = "undecided"
            inside, of = sum(map(is_inside, starts)), len(starts) + sum(not one or not is_inside(one) for one in others)
            print(json.dumps({"trial": number, "measure": promise["measure"], "is": found["is"], "verdict": word, "inside": inside, "of": of, "another_at_least": another(inside, of), "groups": out}))


main(*sys.argv[1:])
