"""Documents for other tools, by their schemas and parsers, of every recorded run and of an audit.
ASSAY_RUNS is a folder of judged runs, ASSAY_PROGRAM names the program."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

CAPTURED = Path(__file__).parent / "captured"
PROGRAM = os.environ["ASSAY_PROGRAM"]
RUNS = sorted(Path(os.environ["ASSAY_RUNS"]).iterdir())


class Documents(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def host(self) -> Path:
        """A host in a folder, with a limit above its two CPUs and a name that no URI may hold."""
        folder = self.folder / "host"
        mounts = f"29 1 0:26 / {folder}/sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
        files = {
            "proc/self/mountinfo": mounts,
            "sys/devices/system/cpu/online": "0-1\n",
            "sys/fs/cgroup/cgroup.controllers": "cpu\n",
            "sys/fs/cgroup/cgroup.subtree_control": "cpu\n",
            "sys/fs/cgroup/a b#c%/cpu.max": "1600000 100000\n",
        }
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return folder

    def test_sarif_follows_its_schema(self) -> None:
        try:
            import fastjsonschema
        except ImportError:
            self.skipTest("no fastjsonschema")
        schema = json.loads((CAPTURED / "sarif-2.1.0.json").read_text())
        valid = fastjsonschema.compile(schema)
        for root in ("/", str(self.host())):
            path = self.folder / "found.sarif"
            command = [PROGRAM, "audit", "--root", root, "--sarif", str(path)]
            subprocess.run(command, capture_output=True, check=True)
            found = json.loads(path.read_text())
            valid(found)
            results = found["runs"][0]["results"]
            self.assertTrue(root == "/" or "A-ABOVE-HOST" in {one["ruleId"] for one in results}, results)
            with self.assertRaises(fastjsonschema.JsonSchemaException):
                valid(found | {"version": "2.0"})

    def exported(self, run: Path, form: str) -> Path:
        path = self.folder / "document"
        command = [PROGRAM, "export", str(run), "--to", form, "--out", str(path)]
        subprocess.run(command, capture_output=True, check=True)
        return path

    def test_junit_follows_its_schema(self) -> None:
        try:
            import xmlschema
        except ImportError:
            self.skipTest("no xmlschema")
        schema = xmlschema.XMLSchema(str(CAPTURED / "junit-10.xsd"))
        for run in RUNS:
            schema.validate(str(self.exported(run, "junit")))

    def test_openmetrics_is_parsed_and_has_one_verdict_a_promise(self) -> None:
        try:
            from prometheus_client.openmetrics.parser import text_string_to_metric_families
        except ImportError:
            self.skipTest("no prometheus_client")
        for run in RUNS:
            text = self.exported(run, "openmetrics").read_text()
            families = {family.name: family for family in text_string_to_metric_families(text)}
            verdicts = [sample for sample in families["assay_promise"].samples if sample.value == 1]
            trials = json.loads((run / "verdict.json").read_text())["trials"]
            promises = sum(len(trial["promises"]) for trial in trials)
            self.assertEqual(len(verdicts), promises)
