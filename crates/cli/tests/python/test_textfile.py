"""The file of `assay audit watch --textfile`: by the parser of its format, and by Prometheus with the queries of the dashboard.
ASSAY_PROGRAM names the program."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    from prometheus_client.parser import text_string_to_metric_families
except ImportError:
    raise unittest.SkipTest("no prometheus_client; `scripts/setup report` installs it") from None

TREE = Path(__file__).parents[4]
PROGRAM = os.environ["ASSAY_PROGRAM"]
PATIENCE_S = 60.0


@contextmanager
def running(command: list[str], folder: Path) -> Iterator[Path]:
    """A program in its folder, and the file of its messages."""
    log = folder / "log"
    with log.open("wb") as file, (folder / "out").open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=file, stdin=subprocess.DEVNULL)
        try:
            yield log
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def found(log: Path, pattern: str) -> str:
    """What the program said, awaited."""
    matched = awaited(lambda: re.search(pattern, log.read_text()))
    return str(matched[1])


def awaited(get: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while not (value := get()):
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)
    return value


def fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
        return str(answer.read().decode())


class Page(unittest.TestCase):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)
        watch = self.folder / "watch"
        watch.mkdir()
        self.file = watch / "metrics.txt"
        self.enterContext(running([PROGRAM, "audit", "watch", "--interval", "200ms", "--textfile", str(self.file)], watch))
        awaited(self.file.exists)

    def test_it_is_the_format_of_prometheus_and_holds_what_the_audit_found(self) -> None:
        families = {one.name: one for one in text_string_to_metric_families(self.file.read_text())}
        for name, family in families.items():
            self.assertTrue(family.documentation.endswith("."), name)
        kinds = {name: family.type for name, family in families.items()}
        self.assertEqual(set(kinds.values()), {"counter", "gauge"})
        self.assertEqual({kinds["assay_watch_changes"], kinds["assay_watch_cpu_seconds"]}, {"counter"})
        rules = {sample.labels["rule"]: sample.value for sample in families["assay_audit_findings"].samples}
        audit = json.loads(subprocess.run([PROGRAM, "audit", "-ojson"], capture_output=True, check=True).stdout)
        codes = [finding["code"] for finding in audit["findings"]]
        self.assertGreaterEqual(set(rules), set(codes))
        # Groups come and go between the two; that all numbers are of one host is enough.
        self.assertAlmostEqual(sum(rules.values()), len(codes), delta=max(5, len(codes) // 2))
        self.assertAlmostEqual(families["assay_audit_timestamp_seconds"].samples[0].value, time.time(), delta=60)

    def test_prometheus_answers_every_query_of_the_dashboard(self) -> None:
        program = os.environ.get("ASSAY_PROMETHEUS") or shutil.which("prometheus")
        if program is None:
            self.skipTest("no prometheus (Debian: the package of that name)")
        # In place of node_exporter, which adds the file to its page as it is.
        served = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(self.file.parent)]
        pages = self.folder / "pages"
        pages.mkdir()
        self.enterContext(running(served, pages))
        address = "127.0.0.1:" + awaited(lambda: re.search(r"port (\d+)", (pages / "out").read_text()))[1]
        server = self.folder / "server"
        server.mkdir()
        config = {
            "global": {"scrape_interval": "500ms", "scrape_timeout": "400ms"},
            "scrape_configs": [{"job_name": "assay", "metrics_path": "/metrics.txt", "static_configs": [{"targets": [address]}]}],
        }
        # JSON is YAML.
        (server / "prometheus.yml").write_text(json.dumps(config))
        options = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:0"]
        log = self.enterContext(running([program, *options], server))
        self.api = "http://" + found(log, r'msg="Listening on" address=(\S+)') + "/api/v1/query?"
        awaited(lambda: len(self.asked("assay_watch_looks_total[1m]")) and self.samples() >= 4)
        dashboard = json.loads((TREE / "packaging/grafana/assay.json").read_text())
        queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
        self.assertGreater(len(queries), 15)
        for query in queries:
            with self.subTest(query):
                filled = query.replace("$instance", ".*").replace("$__rate_interval", "1m").replace("$__range", "1m")
                self.assertNotIn("$", filled)
                # What is compared with zero may leave nothing.
                self.assertTrue(self.asked(filled) or query.endswith(" > 0"), "it has no result")

    def samples(self) -> int:
        return len(self.asked("assay_watch_looks_total[1m]")[0]["values"])

    def asked(self, query: str) -> list[Any]:
        answer = json.loads(fetched(self.api + urllib.parse.urlencode({"query": query})))
        self.assertEqual(answer["status"], "success")
        results: list[Any] = answer["data"]["result"]
        return results


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
