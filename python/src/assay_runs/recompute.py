"""A verdict computed again, by the program that docs/notebook.md explains."""

import contextlib
import io
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from .folder import NotARun, document


@dataclass(frozen=True)
class Recomputed:
    """What the program found."""

    agrees: bool
    """Whether every number and word is that of verdict.json, to nine digits."""
    verdict: str | None
    """The verdict by this computation; None if it ended at a difference."""
    compared: int
    """How many numbers and words were compared."""
    difference: str | None
    """The first difference."""
    lines: list[str]
    """What it printed: one line a group and promise."""


def program() -> str:
    """The program, the code blocks of docs/notebook.md."""
    return files(__package__).joinpath("by_hand.txt").read_text()


def check(folder: Path) -> None:
    """Refuses a folder whose documents would lead the program to files elsewhere, or to a pipe."""
    document(folder / "verdict.json")
    path = folder / "manifest.json"
    try:
        names = [repeat["samples"] for trial in document(path)["trials"] for repeat in trial["repeats"]]
    except (KeyError, TypeError) as wrong:
        raise NotARun(f"cannot read {path}: it lists no repeats of trials ({wrong!r})") from None
    for name in names:
        if not isinstance(name, str) or name in ("", ".", "..") or "/" in name:
            raise NotARun(f"cannot read {path}: it names samples outside of the folder: {name!r}")


def recompute(folder: Path) -> Recomputed:
    """Runs it on a run folder."""
    check(folder)
    # The program reads the folder `run` of the current directory.
    source = program().replace('run = Path("run")', "run = Path(RUN)")
    names: dict[str, Any] = {"__name__": "by_hand", "RUN": str(folder)}
    printed, difference = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(printed):
            # Its comparisons are assertions, which `python -O` would otherwise leave out: all would seem to agree.
            exec(compile(source, "docs/notebook.md", "exec", dont_inherit=True, optimize=0), names)  # noqa: S102
    except AssertionError as found:
        difference = str(found)
    whole = names.get("whole")
    return Recomputed(
        agrees=difference is None,
        verdict=None if difference else str(whole),
        compared=int(names.get("compared", 0)),
        difference=difference,
        lines=printed.getvalue().splitlines(),
    )
