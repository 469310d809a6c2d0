"""A run folder."""

from pathlib import Path
from typing import Any

import polars as pl

from .folder import NotARun, available, document
from .recompute import Recomputed, recompute

KEYS: dict[str, Any] = {"trial": pl.UInt32, "repeat": pl.UInt32}

PROMISES: dict[str, Any] = {
    "trial": pl.UInt32,
    "promise": pl.UInt32,
    "measure": pl.String,
    "is": pl.String,
    "to": pl.String,
    "within": pl.Float64,
    "confidence": pl.Float64,
    "promise_verdict": pl.String,
    "reason": pl.String,
    "group": pl.String,
    "knob": pl.Float64,
    "expected": pl.Float64,
    "seen": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "rate": pl.Float64,
    "group_verdict": pl.String,
}

CHECKS: dict[str, Any] = {"trial": pl.UInt32, "check": pl.String, "ok": pl.Boolean, "evidence": pl.String}

CAUSES: dict[str, Any] = {
    "trial": pl.UInt32,
    "promise": pl.UInt32,
    "code": pl.String,
    "summary": pl.String,
    "strength": pl.String,
}


class Run:
    """A run folder as `assay run` wrote it, or `assay judge`. It is only read."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.manifest = document(self.folder / "manifest.json")
        trials = self.manifest.get("trials")
        if not isinstance(trials, list):
            raise NotARun(f"cannot read {self.folder / 'manifest.json'}: it lists no trials")
        self._trials: list[dict[str, Any]] = trials

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.resolve().name

    @property
    def judgement(self) -> dict[str, Any]:
        """verdict.json. A run that nobody has judged has none; `assay judge RUN` writes it."""
        return document(self.folder / "verdict.json")

    @property
    def verdict(self) -> str:
        """kept, broken, undecided or void."""
        return str(self.judgement["verdict"])

    def trials(self) -> pl.DataFrame:
        """One row a trial, one column a factor."""
        judged = self._judged_trials()
        rows = []
        for number, trial in enumerate(self._trials):
            factors = {name: level for name, level in trial["factors"].items()}
            found = judged[number] if number < len(judged) else {}
            counts = {"verdict": found.get("verdict"), "repeats": found.get("repeats"), "window_s": found.get("window_s")}
            rows.append({"trial": number} | factors | counts)
        return pl.DataFrame(rows, infer_schema_length=None, strict=False)

    def promises(self) -> pl.DataFrame:
        """One row a promise and group, with the columns of the table `promises` of `assay export`."""
        rows = []
        for number, trial in enumerate(self._judged_trials()):
            for index, promise in enumerate(trial["promises"]):
                shared = {name: promise.get(name) for name in ("measure", "within", "confidence", "reason")}
                shared |= {"trial": number, "promise": index, "promise_verdict": promise["verdict"]}
                shared |= {name: text(promise.get(name)) for name in ("is", "to")}
                for group in promise["groups"] or [{}]:
                    rows.append(shared | of_group(group))
        return pl.DataFrame(rows, schema=PROMISES)

    def checks(self) -> pl.DataFrame:
        """Every validity check of every trial, with its evidence."""
        trials = enumerate(self._judged_trials())
        rows = [{"trial": number} | check for number, trial in trials for check in trial["validity"]]
        return pl.DataFrame([{name: row.get(name) for name in CHECKS} for row in rows], schema=CHECKS)

    def causes(self) -> pl.DataFrame:
        """The causes of promises that are not kept."""
        rows = []
        for number, trial in enumerate(self._judged_trials()):
            for index, promise in enumerate(trial["promises"]):
                for cause in promise.get("causes") or []:
                    row = {name: cause.get(name) for name in ("code", "summary", "strength")}
                    rows.append({"trial": number, "promise": index} | row)
        return pl.DataFrame(rows, schema=CAUSES)

    def sources(self) -> list[str]:
        """The sources that were sampled, such as `cpu` and `io`."""
        return sorted({path.stem for path in (self.folder / "samples").glob("*/*.parquet")})

    def samples(self, source: str) -> pl.LazyFrame:
        """The samples of one source over all trials and repeats, as they were read: counters are cumulative.
        `seconds` counts from the moment all groups of the repeat ran."""
        frames = []
        for trial, repeat, record in self._repeats():
            path = self.folder / "samples" / Path(record["samples"]).name / f"{source}.parquet"
            if not path.is_file() or path.is_symlink():
                continue
            begun = max(record["released_ns"], record["all_released_ns"])
            seconds = (pl.col("time_ns").cast(pl.Int64) - begun) * 1e-9
            keys = [pl.lit(value).cast(kind).alias(name) for (name, kind), value in zip(KEYS.items(), (trial, repeat))]
            frames.append(pl.scan_parquet(path).select(*keys, seconds.alias("seconds"), pl.all()))
        if not frames:
            raise NotARun(f"{self.folder} has no samples of `{source}`; it has {', '.join(self.sources()) or 'none'}")
        return pl.concat(frames, how="diagonal")

    def rates(self, source: str, *counters: str) -> pl.DataFrame:
        """What the counters together grew by in a second, between one reading of a subject and the next."""
        keys = ["trial", "repeat", "subject"]
        total = pl.sum_horizontal(pl.col(counter).cast(pl.Float64) for counter in counters)
        rows = self.samples(source).with_columns(total=total).sort("trial", "repeat", "time_ns")
        grown = pl.col("total").diff().over(keys)
        passed = pl.col("time_ns").cast(pl.Int64).diff().over(keys) * 1e-9
        rates = rows.with_columns(rate=grown / passed).filter(passed > 0)
        return rates.select(*keys, "seconds", "rate").collect()

    def recompute(self) -> Recomputed:
        """Computes the verdict again from the samples, by the program of docs/notebook.md, and compares it with
        verdict.json, number by number."""
        return recompute(self.folder)

    def _judged_trials(self) -> list[dict[str, Any]]:
        trials: list[dict[str, Any]] = self.judgement["trials"]
        return trials

    def _repeats(self) -> list[tuple[int, int, dict[str, Any]]]:
        return [
            (number, index, record)
            for number, trial in enumerate(self._trials)
            for index, record in enumerate(trial["repeats"])
        ]


def of_group(group: dict[str, Any]) -> dict[str, Any]:
    renamed = {"group": "name", "expected": "expected_share", "seen": "share", "group_verdict": "verdict"}
    same = {name: name for name in ("knob", "low", "high", "rate")}
    return {column: available(group.get(name)) for column, name in (renamed | same).items()}


def text(value: Any) -> str | None:
    return None if value is None else str(value)
