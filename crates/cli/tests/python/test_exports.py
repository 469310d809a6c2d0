"""Documents for other tools, by their schemas and parsers, of every recorded run.
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

    def exported(self, run: Path, form: str) -> Path:
        path = self.folder / "document"
        command = [PROGRAM, "report", str(run), "--as", form, "--out", str(path)]
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
