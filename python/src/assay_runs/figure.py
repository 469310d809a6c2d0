"""The main figures of the report, as Vega-Lite, which notebooks draw without a package of their own."""

import json
from dataclasses import dataclass
from typing import Any

import polars as pl

from .run import Run

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
MEDIA_TYPE = "application/vnd.vegalite.v5+json"

# The name of a measure, the source and the counters that it is made of, and a factor to the unit of the axis.
MEASURES: dict[str, tuple[str, list[str], float, str]] = {
    "io.bytes": ("io", ["read_bytes", "write_bytes"], 1e-6, "MB/s"),
    "io.ios": ("io", ["read_ios", "write_ios"], 1.0, "requests/s"),
    "cpu.time": ("cpu", ["usage_ns"], 1e-9, "CPUs"),
}


@dataclass(frozen=True)
class Figure:
    """A figure: its specification with its data."""

    spec: dict[str, Any]

    def to_json(self) -> str:
        """The specification as JSON, for any program that draws Vega-Lite."""
        return json.dumps(self.spec)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {MEDIA_TYPE: self.spec, "text/plain": f"a figure: {self.spec['title']}"}


def shares(run: Run, trial: int = 0, promise: int = 0) -> Figure:
    """What each group was promised, and what it got, with the interval."""
    rows = run.promises().filter(
        (pl.col("trial") == trial) & (pl.col("promise") == promise) & pl.col("group").is_not_null()
    )
    if rows.is_empty():
        raise ValueError(f"trial {trial} of {run.name} has no numbers for promise {promise}")
    measure, verdict = rows["measure"][0], rows["promise_verdict"][0]
    columns = ("group", "expected", "seen", "low", "high", "group_verdict")
    values = rows.select(columns).to_dicts()
    top = max(value for row in values for value in (row["expected"], row["seen"], row["high"]) if value is not None)
    for row in values:
        # An end that is unbounded is drawn at the end of the axis.
        row["low"] = 0.0 if row["low"] is None else row["low"]
        row["high"] = top if row["high"] is None else row["high"]
    group = {"field": "group", "type": "nominal", "sort": None, "title": None}
    verdicts = ["kept", "undecided", "broken", "void"]
    color = {
        "field": "group_verdict",
        "type": "nominal",
        "title": "verdict",
        "scale": {"domain": verdicts, "range": ["#2b7a3d", "#b8860b", "#b3261e", "#777777"]},
    }
    along = {"type": "quantitative", "title": f"{measure}: promised (tick), seen with its interval"}
    return Figure(
        {
            "$schema": SCHEMA,
            "title": f"{run.manifest['title']}: {verdict}",
            "data": {"values": values},
            "encoding": {"y": group},
            "layer": [
                {"mark": "rule", "encoding": {"x": along | {"field": "low"}, "x2": {"field": "high"}, "color": color}},
                {"mark": "point", "encoding": {"x": along | {"field": "seen"}, "color": color}},
                {"mark": {"type": "tick", "thickness": 2}, "encoding": {"x": along | {"field": "expected"}}},
            ],
        }
    )


def rates(run: Run, measure: str = "io.bytes", trial: int = 0, repeat: int = 0, every_s: float = 0.5) -> Figure:
    """What each group got over time."""
    if measure not in MEASURES:
        raise ValueError(f"no figure of `{measure}`: {', '.join(MEASURES)}")
    source, counters, factor, unit = MEASURES[measure]
    rows = run.rates(source, *counters).filter((pl.col("trial") == trial) & (pl.col("repeat") == repeat))
    step = (pl.col("seconds") / every_s).floor() * every_s
    means = rows.group_by("subject", step.alias("seconds")).agg((pl.col("rate").mean() * factor).alias("rate"))
    return Figure(
        {
            "$schema": SCHEMA,
            "title": f"{run.manifest['title']}: {measure}",
            "data": {"values": means.sort("subject", "seconds").to_dicts()},
            "mark": {"type": "line", "interpolate": "step-after"},
            "encoding": {
                "x": {"field": "seconds", "type": "quantitative", "title": "seconds since all groups ran"},
                "y": {"field": "rate", "type": "quantitative", "title": unit},
                "color": {"field": "subject", "type": "nominal", "title": "group"},
            },
        }
    )
