"""Reading the documents of a folder that may come from anywhere."""

import json
import stat
from pathlib import Path
from typing import Any

# No document of a run is larger, except for samples.
LARGEST = 256 << 20


class NotARun(Exception):
    """The folder, or the file, is not what it should be."""


def document(path: Path) -> dict[str, Any]:
    """A JSON document with `schema` 1. A link, a pipe and a file that is too large are refused."""
    try:
        status = path.lstat()
    except OSError as wrong:
        raise NotARun(f"cannot read {path}: {wrong.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise NotARun(f"cannot read {path}: it is no regular file")
    if status.st_size > LARGEST:
        raise NotARun(f"cannot read {path}: {status.st_size} bytes are more than {LARGEST}")
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as wrong:
        raise NotARun(f"cannot read {path}: {wrong}") from None
    if not isinstance(found, dict):
        raise NotARun(f"cannot read {path}: it holds no object")
    if found.get("schema") != 1:
        raise NotARun(f"cannot read {path}: it has schema {found.get('schema')!r}, and this version knows 1")
    return found


def available(value: Any) -> Any:
    """The value of `{"value": ..}`; None for `{"not_available": why}`."""
    return value.get("value") if isinstance(value, dict) else value
