"""The package on recorded runs. ASSAY_RUNS names a folder of judged runs, ASSAY_PROGRAM the program."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TREE = Path(__file__).parents[2]
sys.path.insert(0, str(TREE / "python/src"))

import polars as pl  # noqa: E402

from assay_runs import Audit, NotARun, Run, rates, shares  # noqa: E402
from assay_runs.recompute import program, recompute  # noqa: E402

RUNS = sorted(path.parent for path in Path(os.environ["ASSAY_RUNS"]).glob("*/manifest.json"))
PROGRAM = os.environ["ASSAY_PROGRAM"]


class Folder(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def copy(self, run: Path) -> Path:
        return Path(shutil.copytree(run, self.folder / "run"))


class Recomputing(Folder):
    def test_the_program_is_that_of_the_page(self) -> None:
        page = (TREE / "docs/notebook.md").read_text()
        blocks = "\n".join(rest.split("```")[0] for rest in page.split("```python\n")[1:])
        if "ASSAY_BLESS" in os.environ:
            (TREE / "python/src/assay_runs/by_hand.txt").write_text(blocks)
        self.assertEqual(program(), blocks, "ASSAY_BLESS=1 writes it again")

    def test_the_verdict_of_every_recorded_run_is_recomputed(self) -> None:
        self.assertGreaterEqual(len(RUNS), 9)
        compared = 0
        for folder in RUNS:
            with self.subTest(folder.name):
                run = Run(folder)
                found = run.recompute()
                self.assertTrue(found.agrees, found.difference)
                self.assertEqual(found.verdict, run.verdict)
                compared += found.compared
        self.assertGreater(compared, 500)

    def test_no_documents_lead_out_of_the_folder(self) -> None:
        run = self.copy(RUNS[0])
        path = run / "manifest.json"
        manifest = json.loads(path.read_text())
        for name in ["../elsewhere-0", "/elsewhere-0", "..", ".", "", 1]:
            manifest["trials"][0]["repeats"][0]["samples"] = name
            path.write_text(json.dumps(manifest))
            with self.subTest(name), self.assertRaisesRegex(NotARun, "outside of the folder"):
                recompute(run)
        path.unlink()
        path.symlink_to(RUNS[0] / "manifest.json")
        with self.assertRaisesRegex(NotARun, "no regular file"):
            recompute(run)

    def test_a_changed_digit_is_found_without_assertions_of_python(self) -> None:
        run = self.copy(next(folder for folder in RUNS if Run(folder).promises()["low"].count()))
        path = run / "verdict.json"
        verdict = json.loads(path.read_text())
        verdict["trials"][0]["promises"][0]["groups"][0]["share"] *= 1 + 1e-6
        path.write_text(json.dumps(verdict))
        text = "import sys; from pathlib import Path; from assay_runs.recompute import recompute; "
        text += "sys.exit(recompute(Path(sys.argv[1])).agrees)"
        places = {"PYTHONPATH": os.pathsep.join(sys.path)}
        ended = subprocess.run([sys.executable, "-O", "-c", text, str(run)], env=os.environ | places, check=False)
        self.assertEqual(ended.returncode, 0)

    def test_a_changed_digit_is_found(self) -> None:
        run = self.copy(next(folder for folder in RUNS if Run(folder).promises()["low"].count()))
        path = run / "verdict.json"
        verdict = json.loads(path.read_text())
        verdict["trials"][0]["promises"][0]["groups"][0]["share"] *= 1 + 1e-6
        path.write_text(json.dumps(verdict))
        found = Run(run).recompute()
        self.assertFalse(found.agrees)
        self.assertIn("share", found.difference or "")


class Frames(Folder):
    def test_promises_have_the_columns_of_the_export(self) -> None:
        exported = (TREE / "docs/exporting.md").read_text()
        promises = Run(RUNS[0]).promises()
        for column in promises.columns:
            self.assertTrue(column == "reason" or f"| `{column}` |" in exported, column)
        self.assertGreater(promises.height, 0)

    def test_every_run_opens_as_frames(self) -> None:
        for folder in RUNS:
            with self.subTest(folder.name):
                run = Run(folder)
                self.assertEqual(run.trials().height, len(run.manifest["trials"]))
                checks = run.checks()
                self.assertIn("repeats", checks["check"])
                if run.verdict == "void":
                    self.assertGreater(checks.filter(~pl.col("ok")).height + run.causes().height, 0)
                for source in run.sources():
                    self.assertIn("subject", run.samples(source).collect_schema().names())

    def test_counters_grow_and_rates_are_positive(self) -> None:
        run = Run(next(folder for folder in RUNS if "io" in Run(folder).sources()))
        found = run.rates("io", "read_bytes", "write_bytes")
        self.assertGreater(found.height, 10)
        self.assertGreaterEqual(found["rate"].min(), 0.0)

    def test_a_source_that_was_not_sampled_is_named(self) -> None:
        with self.assertRaisesRegex(NotARun, "no samples of `nothing`; it has "):
            Run(RUNS[0]).samples("nothing")

    def test_what_is_no_run_is_refused(self) -> None:
        path = self.folder / "manifest.json"
        cases = {
            "it holds no object": lambda: path.write_text("[]"),
            "Expecting value": lambda: path.write_text("no"),
            "it has schema 2": lambda: path.write_text('{"schema": 2}'),
            "it lists no trials": lambda: path.write_text('{"schema": 1}'),
            "it is no regular file": lambda: os.mkfifo(path),
            "No such file": lambda: None,
        }
        for reason, write in cases.items():
            path.unlink(missing_ok=True)
            write()
            with self.subTest(reason), self.assertRaisesRegex(NotARun, reason):
                Run(self.folder)


class OtherWriters(Folder):
    """Samples that other programs wrote again are judged alike."""

    def judged(self, write: object) -> None:
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        folder = self.copy(RUNS[0])
        before = json.loads((folder / "verdict.json").read_text())
        for path in folder.glob("samples/*/*.parquet"):
            write(path)  # type: ignore[operator]
        ended = subprocess.run([PROGRAM, "judge", str(folder)], capture_output=True, text=True, check=False)
        self.assertIn(ended.returncode, (0, 1, 3), ended.stderr)
        self.assertEqual(json.loads((folder / "verdict.json").read_text()), before)

    def test_polars(self) -> None:
        for codec in ("zstd", "snappy", "uncompressed"):
            with self.subTest(codec):
                self.judged(lambda path: pl.read_parquet(path).write_parquet(path, compression=codec))

    def test_duckdb(self) -> None:
        try:
            import duckdb
        except ImportError:
            self.skipTest("no duckdb")

        def write(path: Path) -> None:
            other = path.with_suffix(".new")
            duckdb.sql(f"COPY (FROM '{path}') TO '{other}' (FORMAT parquet, COMPRESSION {codec})")
            other.rename(path)

        for codec in ("snappy", "zstd", "uncompressed"):
            with self.subTest(codec):
                self.judged(write)

    def test_pandas(self) -> None:
        try:
            import pandas
            import pyarrow  # noqa: F401
        except ImportError:
            self.skipTest("no pandas with pyarrow")
        for codec in ("snappy", "zstd", None):
            with self.subTest(codec):
                self.judged(lambda path: pandas.read_parquet(path).to_parquet(path, compression=codec, index=False))


class Figures(unittest.TestCase):
    def drawn(self, figure: object) -> None:
        spec = figure.spec  # type: ignore[attr-defined]
        self.assertGreater(len(spec["data"]["values"]), 1)
        self.assertIn("application/vnd.vegalite.v5+json", figure._repr_mimebundle_())  # type: ignore[attr-defined]
        try:
            import vl_convert
        except ImportError:
            return
        picture = vl_convert.vegalite_to_svg(spec, vl_version="5.20")
        self.assertIn("<svg", picture)
        self.assertNotIn("NaN", picture)

    def test_shares_and_rates(self) -> None:
        for folder in RUNS:
            run = Run(folder)
            if run.promises()["group"].count():
                self.drawn(shares(run))
            if "io" in run.sources() and run.rates("io", "read_bytes").height:
                self.drawn(rates(run))

    def test_what_has_no_numbers_is_said(self) -> None:
        with self.assertRaisesRegex(ValueError, "trial 99 "):
            shares(Run(RUNS[0]), trial=99)
        with self.assertRaisesRegex(ValueError, "no figure of `x`"):
            rates(Run(RUNS[0]), "x")


class Audits(Folder):
    def test_an_audit_of_this_host_opens_as_frames(self) -> None:
        audit = Audit.of_this_host(PROGRAM)
        self.assertEqual(audit.findings().height, len(audit.document["findings"]))
        self.assertEqual(audit.effective().height, len(audit.document["effective"]))
        path = self.folder / "audit.json"
        path.write_text(json.dumps(audit.document))
        self.assertTrue(Audit.open(path).findings().equals(audit.findings()))

    def test_what_is_no_audit_is_refused(self) -> None:
        with self.assertRaisesRegex(NotARun, "no document of `assay audit --json`"):
            Audit.open(RUNS[0] / "manifest.json")
        with self.assertRaisesRegex(NotARun, "no-such-snapshot"):
            Audit.of_this_host(PROGRAM, "no-such-snapshot")

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
        schema = json.loads((TREE / "python/tests/captured/sarif-2.1.0.json").read_text())
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


class Exports(Folder):
    """Documents for other tools, by their schemas and parsers."""

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
        schema = xmlschema.XMLSchema(str(TREE / "python/tests/captured/junit-10.xsd"))
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
            promises = Run(run).promises().select("trial", "promise").n_unique()
            self.assertEqual(len(verdicts), promises)


class Package(Folder):
    def test_it_is_a_wheel_for_any_machine_made_without_a_compiler(self) -> None:
        try:
            from flit_core.buildapi import build_wheel
        except ImportError:
            self.skipTest("no flit_core")
        project = Path(shutil.copytree(TREE / "python", self.folder / "python"))
        before = Path.cwd()
        os.chdir(project)
        try:
            name = build_wheel(str(self.folder))
        finally:
            os.chdir(before)
        self.assertTrue(name.endswith("-py3-none-any.whl"), name)
        place = self.folder / "installed"
        shutil.unpack_archive(self.folder / name, place, "zip")
        probe = "import assay_runs.recompute as r; assert r.__file__.startswith(%r); print(len(r.program()))"
        command = [sys.executable, "-c", probe % str(place)]
        ended = subprocess.run(command, env={"PYTHONPATH": str(place)}, capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertGreater(int(ended.stdout), 10_000)

    def test_types_hold(self) -> None:
        try:
            import mypy.api  # noqa: F401
        except ImportError:
            self.skipTest("no mypy")
        command = [sys.executable, "-m", "mypy", "--cache-dir", str(self.folder)]
        ended = subprocess.run(command, cwd=TREE / "python", capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 0, ended.stdout)


if __name__ == "__main__":
    unittest.main()
