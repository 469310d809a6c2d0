"""The files for other tools: the action, manifests, the role, the bill of materials."""

import gzip
import hashlib
import io
import json
import re
import subprocess
import tarfile
import tempfile
import tomllib
import unittest
from pathlib import Path
from typing import Any

TREE = Path(__file__).parents[4]
CAPTURED = Path(__file__).parent / "captured"

try:
    import fastjsonschema
    from ruamel.yaml import YAML
except ImportError:
    raise unittest.SkipTest("no fastjsonschema and ruamel.yaml; `scripts/setup report` installs them") from None


def documents(path: str) -> list[Any]:
    return list(YAML(typ="safe").load_all((TREE / path).read_text()))


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Action(unittest.TestCase):
    def test_it_follows_the_schema(self) -> None:
        [action] = documents("action.yml")
        valid = fastjsonschema.compile(json.loads((CAPTURED / "github-action.json").read_text()))
        valid(action)
        with self.assertRaises(fastjsonschema.JsonSchemaException):
            valid({**action, "runs": {"using": "no such way"}})

    def test_every_input_reaches_the_script_as_a_variable_only(self) -> None:
        [action] = documents("action.yml")
        [step] = action["runs"]["steps"]
        self.assertNotIn("${{", step["run"])
        given = " ".join(step["env"].values())
        for name in action["inputs"]:
            self.assertIn("${{ inputs.%s }}" % name, given)
        script = (TREE / "packaging/github/action").read_text()
        for name in step["env"]:
            self.assertIn(name, script)
        for name, output in action["outputs"].items():
            self.assertIn(f"{name}=", script)
            self.assertEqual(output["value"], "${{ steps.assay.outputs.%s }}" % name)

    def test_inputs_are_documented(self) -> None:
        [action] = documents("action.yml")
        page = (TREE / "docs/ci.md").read_text()
        for name in action["inputs"]:
            self.assertIn(f"| `{name}` |", page)

    def test_the_projects_own_jobs_start_what_exists(self) -> None:
        jobs = [*documents(".github/workflows/ci.yml"), *documents(".github/workflows/release.yml")]
        steps = [step for job in jobs for one in job["jobs"].values() for step in one["steps"]]
        targets = re.findall(r"\bmake ([a-z-]+)", " ".join(step.get("run", "") for step in steps))
        makefile = (TREE / "Makefile").read_text()
        self.assertEqual(sorted(targets), ["check", "release", "test"])
        for target in targets:
            self.assertRegex(makefile, rf"(?m)^{target}:")


class SchemaStore(unittest.TestCase):
    def test_the_schema_takes_every_shipped_study_and_no_unknown_key(self) -> None:
        schema = json.loads((TREE / "packaging/schemastore/assay-study.json").read_text())
        self.assertEqual(schema["$schema"], "http://json-schema.org/draft-07/schema#")
        self.assertNotIn("$defs", json.dumps(schema))
        valid = fastjsonschema.compile(schema)
        studies = sorted((TREE / "studies").glob("*.toml"))
        self.assertGreater(len(studies), 10)
        for path in studies:
            with self.subTest(path.name):
                study = tomllib.loads(path.read_text())
                valid(study)
                with self.assertRaises(fastjsonschema.JsonSchemaException):
                    valid(study | {"titel": "x"})
                group = study["groups"][0] | {"knobs": {"cpu.wieght": 100}}
                with self.assertRaises(fastjsonschema.JsonSchemaException):
                    valid(study | {"groups": [group]})

    def test_its_entry_in_the_catalogue_has_what_others_have(self) -> None:
        entry = json.loads((TREE / "packaging/schemastore/catalog-entry.json").read_text())
        self.assertEqual(sorted(entry), ["description", "fileMatch", "name", "url"])
        self.assertEqual(entry["fileMatch"], ["*.assay.toml"])
        schema = json.loads((TREE / "packaging/schemastore/assay-study.json").read_text())
        self.assertEqual(schema["$id"], entry["url"])


class Cluster(unittest.TestCase):
    def test_the_daemon_set_selects_its_pods_and_only_reads(self) -> None:
        namespace, daemons = documents("packaging/kubernetes/assay-audit.yaml")
        self.assertEqual((namespace["kind"], daemons["kind"]), ("Namespace", "DaemonSet"))
        self.assertEqual(daemons["apiVersion"], "apps/v1")
        self.assertEqual(daemons["metadata"]["namespace"], namespace["metadata"]["name"])
        template = daemons["spec"]["template"]
        self.assertEqual(daemons["spec"]["selector"]["matchLabels"], template["metadata"]["labels"])
        volumes = {volume["name"] for volume in template["spec"]["volumes"]}
        containers = template["spec"]["initContainers"] + template["spec"]["containers"]
        self.assertEqual([one["name"] for one in containers], ["audit", "watch"])
        for container in containers:
            for mount in container["volumeMounts"]:
                self.assertIn(mount["name"], volumes)
                self.assertTrue(mount["readOnly"])
            context = container["securityContext"]
            self.assertTrue(context["readOnlyRootFilesystem"])
            self.assertFalse(context["allowPrivilegeEscalation"])
            self.assertEqual(context["capabilities"]["drop"], ["ALL"])
            self.assertNotIn("privileged", context)

    def test_manifests_follow_the_schemas_of_kubernetes(self) -> None:
        try:
            import kubernetes_validate
        except ImportError:
            self.skipTest("no kubernetes_validate")
        for manifest in documents("packaging/kubernetes/assay-audit.yaml"):
            kubernetes_validate.validate(manifest, "1.31", strict=True)

    def test_the_role_installs_and_names_every_task(self) -> None:
        [tasks] = documents("packaging/ansible/roles/assay/tasks/main.yml")
        [defaults] = documents("packaging/ansible/roles/assay/defaults/main.yml")
        used = set(re.findall(r"assay_[a-z_]+", json.dumps(tasks)))
        self.assertEqual(used, set(defaults))
        for task in tasks:
            modules = set(task) - {"name", "when"}
            self.assertEqual(len(modules), 1, task)
            self.assertTrue(modules.pop().startswith("ansible.builtin."), task)

    def test_the_unit_starts_what_the_package_has(self) -> None:
        unit = (TREE / "packaging/systemd/assay-audit.service").read_text()
        self.assertIn("ExecStart=/usr/bin/assay audit", unit)
        self.assertIn("usr/bin/assay", (TREE / "scripts/package").read_text())


class Posts(unittest.TestCase):
    def test_each_is_short_and_has_a_picture(self) -> None:
        pages = sorted((TREE / "packaging/posts").glob("*.html"))
        self.assertEqual(len(pages), 3)
        for page in pages:
            text = page.read_text()
            shown = re.sub(r"<style>.*?</style>|<title>.*?</title>|<[^>]+>", " ", text, flags=re.S)
            self.assertLessEqual(len(shown.split()), 400, page.name)
            self.assertIn("<svg", text)
            self.assertNotIn("http", text)


class Image(unittest.TestCase):
    def test_its_parts_are_what_they_name_and_the_same_twice(self) -> None:
        program = Path("/bin/busybox")
        if not program.is_file():
            self.skipTest("no static program to put in: Debian's package is busybox-static")
        with tempfile.TemporaryDirectory() as place:
            images = []
            for name in ("one", "two"):
                image = Path(place) / name
                words = [TREE / "scripts/image", program, image, "localhost/test:1"]
                said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
                self.assertEqual(said, "localhost/test:1\n")
                images.append(image.read_bytes())
        self.assertTrue(images[0] == images[1], "the same program gives another image")
        with tarfile.open(fileobj=io.BytesIO(images[0])) as image:
            files = {one.name: image.extractfile(one).read() for one in image if one.isfile()}

        def part(of: dict[str, Any]) -> bytes:
            data = files["./blobs/" + of["digest"].replace(":", "/")]
            self.assertEqual((of["digest"], of["size"]), (digest(data), len(data)))
            return data

        [index] = json.loads(files["./index.json"])["manifests"]
        manifest = json.loads(part(index))
        config = json.loads(part(manifest["config"]))
        [layer] = manifest["layers"]
        contents = gzip.decompress(part(layer))
        self.assertEqual(config["rootfs"]["diff_ids"], [digest(contents)])
        with tarfile.open(fileobj=io.BytesIO(contents)) as root:
            inside = {one.name: one.mode for one in root if one.isfile()}
        self.assertEqual(inside, {"." + config["config"]["Entrypoint"][0]: 0o755})


class BillOfMaterials(unittest.TestCase):
    def test_it_has_every_locked_crate_that_is_linked_and_no_other(self) -> None:
        ended = subprocess.run([TREE / "scripts/sbom"], capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            self.skipTest(f"no crates: {ended.stderr.splitlines()[-1:]}")
        bill = json.loads(ended.stdout)
        components = {one["bom-ref"]: one for one in bill["components"]}
        names = {one["name"] for one in components.values()}
        # Linked, bundled in reports, and used by tests alone.
        self.assertTrue({"serde", "parquet", "vega", "assay-sys", "assay-load"} <= names)
        self.assertFalse({"proptest", "insta", "vt100", "assay-test-support"} & names)
        for one in components.values():
            self.assertTrue(one["licenses"][0]["expression"], one)
            own = one["name"].startswith("assay-")
            self.assertEqual("hashes" in one, not own, one)
        refs = set(components) | {bill["metadata"]["component"]["bom-ref"]}
        for one in bill["dependencies"]:
            self.assertTrue({one["ref"], *one["dependsOn"]} <= refs, one)


if __name__ == "__main__":
    unittest.main()
