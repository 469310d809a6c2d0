"""The document of `assay audit --json`."""

import json
import subprocess
from pathlib import Path
from typing import Any

import polars as pl

from .folder import NotARun, available, document

FINDINGS: dict[str, Any] = {
    "code": pl.String,
    "class": pl.String,
    "group": pl.String,
    "owner": pl.String,
    "sentence": pl.String,
    "remedy": pl.String,
    "file": pl.String,
    "value": pl.String,
}

EFFECTIVE: dict[str, Any] = {
    "group": pl.String,
    "cpus": pl.Float64,
    "cpus_from": pl.String,
    "memory_max": pl.Float64,
    "memory_max_from": pl.String,
    "memory_high": pl.Float64,
    "memory_high_from": pl.String,
    "of_machine": pl.Float64,
}


class Audit:
    """What an audit of a host found."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.document = found

    @classmethod
    def open(cls, path: str | Path) -> "Audit":
        """Reads a document that `assay audit --json > FILE` wrote."""
        found = document(Path(path))
        if "findings" not in found:
            raise NotARun(f"cannot use {path}: it is no document of `assay audit --json`")
        return cls(found)

    @classmethod
    def of_this_host(cls, program: str = "assay", *arguments: str) -> "Audit":
        """Audits this host, or a snapshot that is named among the arguments."""
        ended = subprocess.run([program, "audit", "--json", *arguments], capture_output=True, text=True, check=False)
        if not ended.stdout:
            raise NotARun(ended.stderr.strip())
        return cls(json.loads(ended.stdout))

    @property
    def host(self) -> str | None:
        """The host's name."""
        name: str | None = available(self.document.get("host"))
        return name

    def findings(self) -> pl.DataFrame:
        """One row a finding, with the reading of the setting."""
        rows = []
        for finding in self.document["findings"]:
            reading = (finding["readings"] or [{}])[0]
            row = {name: finding.get(name) for name in ("code", "class", "group", "sentence", "remedy")}
            owner = finding.get("owner")
            row["owner"] = None if owner is None else json.dumps(owner)
            rows.append(row | {name: reading.get(name) for name in ("file", "value")})
        return pl.DataFrame(rows, schema=FINDINGS)

    def effective(self) -> pl.DataFrame:
        """The limits that hold for each group, and what sets them."""
        rows = []
        for group in self.document["effective"]:
            row = {"group": group["group"], "of_machine": group["of_machine"]}
            for name in ("cpus", "memory_max", "memory_high"):
                limit = group[name] or {}
                value = limit.get("value")
                row[name] = None if value is None else float(value)
                row[f"{name}_from"] = limit.get("from")
            rows.append(row)
        return pl.DataFrame(rows, schema=EFFECTIVE)
