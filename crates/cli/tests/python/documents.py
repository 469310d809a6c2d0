"""Checks documents by their published schemas: each file of a folder by the schema that its name begins with.

Schemas are open, since fields may be added. Here they are closed: a field that is not in a schema is a mistake.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import fastjsonschema

SCHEMAS = Path(__file__).parents[4] / "docs/schema"


def closed(schema: Any) -> Any:
    """The schema without room for other fields, in the words of draft 7, which the validator knows."""
    if not isinstance(schema, dict):
        return schema
    result = dict(schema)
    for key in ("properties", "$defs"):
        if key in schema:
            result[key] = {name: closed(value) for name, value in schema[key].items()}
    for key in ("items", "additionalProperties"):
        if key in schema:
            result[key] = closed(schema[key])
    if "anyOf" in schema:
        result["anyOf"] = [closed(value) for value in schema["anyOf"]]
    if "prefixItems" in schema:
        result["items"] = [closed(value) for value in result.pop("prefixItems")]
    if "properties" in schema:
        result.setdefault("additionalProperties", False)
    if "$defs" in schema:
        result["$schema"] = "http://json-schema.org/draft-07/schema#"
    return result


def documents(path: Path) -> list[Any]:
    text = path.read_text()
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]


def mistakes(folder: Path, counts: Counter[str]) -> list[str]:
    found = []
    validators: dict[str, Any] = {}
    for path in sorted(folder.iterdir()):
        name = path.name.split(".")[0]
        if name not in validators:
            schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
            validators[name] = fastjsonschema.compile(closed(schema))
        for document in documents(path):
            counts[name] += 1
            try:
                validators[name](document)
            except fastjsonschema.JsonSchemaException as why:
                found.append(f"{path.name}: {str(why)[:400]}")
                continue
            # A validator that lets everything pass shows nothing.
            if isinstance(document, dict):
                try:
                    validators[name](document | {"no such field": 1})
                    found.append(f"{path.name}: a field that no schema has was accepted")
                except fastjsonschema.JsonSchemaException:
                    pass
    return found


if __name__ == "__main__":
    counts: Counter[str] = Counter()
    wrong = mistakes(Path(sys.argv[1]), counts)
    print(" ".join(f"{name}={count}" for name, count in sorted(counts.items())))
    sys.exit("\n".join(wrong) if wrong else 0)
