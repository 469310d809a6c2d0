//! Wrong usage: exit code 2, an error that says what to write instead, nothing made.

use std::fs;

use crate::bench::Bench;
use crate::study::Weights;

/// Command lines about studies and results, and what stderr says of them.
const REFUSED: &[(&str, &[&str])] = &[
    ("", &["Usage"]),
    ("reprot .", &["reprot", "'report'"]),
    ("run io-weight --duration 1ms", &["1ms", "at least 1 s"]),
    ("run io-weight --duration 20", &["--duration", "20"]),
    ("run io-weight --repeats 0", &["--repeats"]),
    ("run io-weight --repeat 2", &["hint: a similar argument exists: '--repeats'"]),
    ("run io-weight --sett groups=4", &["--sett", "--set"]),
    ("run io-weight --baseline nothing", &["No such file"]),
    ("run io-wieght", &["no shipped study is called `io-wieght`", "`io-weight`"]),
    ("run --list io-wieght", &["no shipped study is called `io-wieght`", "hint: "]),
    ("run absent.toml", &["cannot read absent.toml", "assay run --list"]),
    ("check nothing-like-it", &["assay run --list"]),
    // What may disturb others needs a yes where nobody can be asked.
    ("run cpu-weight", &["hint: --yes"]),
    ("tune io-weight", &["hint: --yes"]),
    ("conform cpu/a-storm-of-wakeups-leaves-siblings-the-cpu", &["hint: --yes"]),
    ("conform --kernel host", &["hint: --yes"]),
    ("conform cpus", &["`cpus`", "pids"]),
    ("conform --patience 0", &[]),
    // A study that is not found is looked for under its ending.
    ("check mine", &["did you mean the file `mine.toml`?"]),
    ("check own", &["did you mean the file `own.assay.toml`?"]),
    ("check ./mine", &["cannot read ./mine", "`./mine.toml`?"]),
    ("check studies", &["studies is a folder: name a study file in it"]),
    ("check .", &[". is a folder"]),
    ("check cpu-weight --set cpu.weight=abc", &["is a knob: change it in `knobs`"]),
    ("check cpu-weight --set gruops=4", &["gruops", "groups"]),
    ("check cpu-weight --set groups=four", &["four"]),
    ("check cpu-weight --set groups=", &["has no value after its `=`", "--set FACTOR=VALUE"]),
    ("check cpu-weight --set =4", &["has no factor before its `=`"]),
    ("check cpu-weight --set groups", &["has no `=`", "--set FACTOR=VALUE"]),
    ("check plain.fio", &["has no `cgroup_weight`", "(task1, task2)", "--weights 1:3:5"]),
    ("check plain.fio --weights 1:2:3", &["3 weights", "2 groups: task1, task2"]),
    ("check plain.fio --weights 1:x", &["such as `1:3:5`"]),
    ("check plain.fio --weights 1:2 --erase ext4", &["--erase", "`/dev/x`"]),
    ("check io-weight --weights 1:2", &["--weights is for a fio job file"]),
    ("judge absent", &["No such file or directory", "runs/<time>-<study>"]),
    ("judge run/manifest.json", &["it is a file: name the folder of a run"]),
    ("judge .", &["it holds no manifest.json", "it holds runs", "./run"]),
    ("judge studies", &["it holds no manifest.json", "runs/<time>-<study>"]),
    ("report", &["required"]),
    ("report absent", &["cannot open absent", "hint: "]),
    ("report --as csv", &["required"]),
    ("report nothing --as csv", &["No such file"]),
    ("compare", &["name two runs"]),
    ("compare only-one", &["name two runs"]),
    ("compare a b --within 0%", &["a margin must be above 0 %"]),
    ("compare --baseline nothing here", &["No such file"]),
    ("compare --baseline nothing", &["there is no folder `runs/`"]),
    ("explain a-ancester", &["did you mean `A-ANCESTOR`?"]),
    ("explain c-nosuchcode", &["unknown code", "A-ALONE"]),
    ("fleet collect new --collect-from studies nosuch", &["cannot open nosuch: No such file"]),
    // Options for other cases are refused and not ignored.
    ("tune", &["<STUDY>"]),
    ("tune --yes io-weight-scaling", &["6 trials", "hint: ", "--set groups=4"]),
    ("tune --yes silent.toml", &["has no promise about a single trial"]),
    ("tune io-weight --vary speed", &["iodepth"]),
    ("tune --yes io-weight --set groups=4 --fix schedular", &["did you mean `scheduler`?"]),
    ("check variable.fio", &["variable.fio: line 5: the variable `ASSAY_TEST_SIZE` is not set"]),
    ("diagnose absent --yes", &["No such file", "hint: "]),
    ("exec", &[]),
    ("exec --set memory.mxa=1M -- true", &["`memory.mxa`", "did you mean `memory.max`"]),
    ("exec --set cpu.weight=0 -- true", &["cpu.weight=0", "from 1 to 10000"]),
    ("exec --set memory.max=lots -- true", &["memory.max=lots", "64 MiB"]),
    ("exec --set memory.max -- true", &["has no `=`"]),
    ("exec --set io.weight=100 -- true", &["--disk"]),
    ("exec --disk no-such-disk -- true", &["no such disk"]),
    ("exec --place memory=interleaved:0 -- true", &["interleaved", "weighted-interleave"]),
    ("tune --iocost loop --repeats 3", &["cannot be used with", "--repeats"]),
    ("tune --yes cpu-weight --iocost loop", &["the study has no disk", "hint: "]),
    ("tune --yes --iocost loop:64MiB --erase ext4", &["`/dev/x`"]),
    ("tune --yes --iocost nvme:1GiB", &["assay lab run"]),
    ("tune --yes --iocost loop --settings 2", &["--settings"]),
];

/// Command lines about this host.
const OF_THIS_HOST: &[(&str, &[&str])] = &[
    ("blame", &["give one of --group, --pid, --unit"]),
    ("blame --group /no/such/group", &["no group `/no/such/group`"]),
    ("blame --group /", &["name one of them"]),
    ("blame --pid 4194304", &["/proc/4194304/cgroup"]),
    ("blame --group /one --pid 1", &["cannot be used with"]),
    ("blame --set cpu.max=max --pid 1", &["--set"]),
    ("probe", &["give one of --group, --pid"]),
    ("probe --group /a --only network", &["no such controller"]),
    ("probe --group /a --unit b", &["cannot be used with"]),
    ("probe --group /", &["the root group has no limits"]),
    ("probe --group /no/such --dry-run", &["no group `/no/such`"]),
    ("record", &["--group", "COMMAND"]),
    ("record --out recorded --group /no/such/group", &["assay top"]),
    ("record --source pagetype --pid 1", &["pagetypeinfo"]),
    ("top --group /no/such/group", &["no hierarchy has a group `/no/such/group`"]),
    ("top --controller memroy", &["memory"]),
    ("audit absent.json", &["No such file", "assay audit --snapshot FILE"]),
    ("audit .", &["Is a directory", "assay audit --snapshot FILE"]),
    ("audit silent.toml", &["cannot use silent.toml", "assay audit --snapshot FILE"]),
    ("audit run", &["a run is judged by `assay judge`"]),
    ("audit --manifest silent.toml", &["cannot use silent.toml", "a Pod"]),
    ("audit --manifest no-such-file.yaml", &[]),
    ("audit --manifest kubelet.yaml", &["kubelet.yaml: it asks for no group alone", "hint: "]),
    ("audit --manifest absent.service --unit typo.service", &["typo.service was not found"]),
    ("audit --groups=/no/such", &["has a group `/no/such`", "assay top"]),
    ("audit --group /a", &[]),
    ("audit --fail-on drift", &[]),
    ("audit watch --fail-on no-effect", &[]),
    ("audit self --textfile assay.prom", &[]),
    ("audit diff a b --root /", &[]),
    ("audit diff no-such-file.json", &[]),
];

fn assert_refused(bench: &Bench, lines: &[(&str, &[&str])]) {
    for (line, says) in lines {
        let ended = bench.assay(line.split_whitespace());
        assert_eq!(ended.status.code(), Some(2), "{line}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{line}");
        ended.assert_says(says);
    }
}

#[test]
fn wrong_usage_is_refused_with_what_to_write_instead_and_nothing_is_made() {
    let bench = Bench::aside();
    let study = bench.assay(["run", "--list", "cpu-weight"]).stdout;
    bench.write("mine.toml", &study);
    bench.write("own.assay.toml", &study);
    bench.write("silent.toml", Weights::small().text().split("[[promises]]").next().unwrap());
    let jobs = "[global]\nbs=4k\nioengine=libaio\nrw=read\nsize=8M\n[task1]\n[task2]\n";
    bench.write("plain.fio", jobs);
    bench.write("variable.fio", &jobs.replace("size=8M", "size=${ASSAY_TEST_SIZE}"));
    bench.write("absent.service", "[Service]\nCPUWeight=200\n");
    let kubelet = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n";
    bench.write("kubelet.yaml", kubelet);
    fs::create_dir(bench.path("studies")).unwrap();
    fs::create_dir(bench.out()).unwrap();
    fs::write(bench.out().join("manifest.json"), "{}").unwrap();
    assert_refused(&bench, REFUSED);
    for made in ["state", "runs", "new"] {
        assert!(!bench.path(made).exists(), "{made}");
    }
    assert_refused(&bench, OF_THIS_HOST);
    assert!(!bench.path("recorded").exists());
    // Whom a manifest means and who is not there fails a job.
    let ended = bench.assay(["audit", "--manifest", "absent.service"]);
    ended.assert_code(1);
    let said = "NOT FOUND  a group of unit absent.service";
    assert!(ended.stdout.contains(said), "{}", ended.stdout);
}

#[test]
fn an_error_is_a_document_where_json_is_asked_for() {
    let bench = Bench::aside();
    for words in [&["judge", "absent", "-o", "json"][..], &["judge", "--nonsense", "-ojson"]] {
        let ended = bench.assay(words);
        ended.assert_code(2);
        let document: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!((&document["schema"], &document["code"]), (&1.into(), &2.into()));
        assert!(
            document["errors"][0]
                .as_str()
                .is_some_and(|error| ended.stderr.contains(error.lines().next().unwrap())),
            "{document:#}"
        );
    }
}

#[test]
fn the_version_names_its_commit_and_how_it_is_linked() {
    let bench = Bench::aside();
    assert_eq!(bench.assay(["-V"]).stdout, concat!("assay ", env!("CARGO_PKG_VERSION"), "\n"));
    let commit = option_env!("ASSAY_COMMIT").filter(|commit| !commit.is_empty());
    let version = bench.assay(["--version"]).stdout;
    let built = format!(
        concat!("assay ", env!("CARGO_PKG_VERSION"), " (commit {}, {}, "),
        commit.unwrap_or("not recorded"),
        std::env::consts::ARCH
    );
    assert!(version.starts_with(&built) && version.ends_with("ic)\n"), "{version}");
}
