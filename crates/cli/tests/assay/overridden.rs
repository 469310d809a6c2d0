//! Overrides of weights in a real run: another I/O class, a limit of one group, a group with little demand. That they are
//! recorded is tested here, whatever the load of the machine; how causes are ranked is tested in `judge`.

use crate::bench::Bench;
use crate::running::json;
use crate::study::loop_disk;

/// Two groups with unlimited demand, and three heavier ones, each with one override.
fn study() -> String {
    let disk = loop_disk(64);
    let reader = "use = \"fio\"\nargs = { rw = \"randread\", bs = \"4k\", ioengine = \"libaio\", \
                  iodepth = 8, direct = 1, size = \"1/5\"";
    let heavy = [
        ("idle", "", ", prioclass = 3"),
        ("limited", ", \"io.max\" = \"riops=300\"", ""),
        ("thinks", "", ", thinktime = 20000"),
    ];
    let heavy = heavy.map(|(name, knob, option)| {
        format!(
            "[[groups]]\nname = \"{name}\"\nknobs = {{ \"io.weight\" = 800{knob} }}\n\
             run = \"{name}\"\n[workloads.{name}]\n{reader}{option} }}\n"
        )
    });
    format!(
        "title = \"Heavy groups are overridden\"\n[design]\nrepeats = 1\nat_most = \"4 s\"\n\
         [disks.scratch]\n{disk}\n\
         [[groups]]\nname = \"task\"\ncount = 2\nknobs = {{ \"io.weight\" = [100, 200] }}\n\
         run = \"reader\"\n[workloads.reader]\n{reader} }}\n{}\
         [[promises]]\nmeasure = \"io.bytes\"\nis = \"proportional\"\nto = \"io.weight\"\n\
         within = \"10 %\"\n",
        heavy.concat()
    )
}

#[test]
fn overrides_of_weights_are_recorded_and_proven() {
    let Some(bench) = Bench::on_host("overrides of weights") else { return };
    bench.run(&bench.write("study.toml", &study()), &[]).assert_code(3);
    bench.assert_host_is_as_before("after the run");
    let verdict = json(&bench.out().join("verdict.json"));
    let trial = &verdict["trials"][0];
    let checks = trial["validity"].as_array().unwrap();
    let causes = trial["promises"][0]["causes"].as_array().unwrap();
    for (name, code, evidence) in [
        ("priority", "C-IO-PRIORITY", "`idle` has threads of the I/O class idle"),
        ("io-limit", "C-IO-LIMIT", "of `limited` allows 300 requests a second"),
        ("demand", "C-DEMAND", "`thinks` kept"),
    ] {
        let check = checks.iter().find(|check| check["check"] == name);
        let check = check.unwrap_or_else(|| panic!("no check `{name}`: {checks:#?}"));
        let recorded = check["evidence"].as_str().unwrap();
        assert!(check["ok"] == false && recorded.contains(evidence), "{check:#}");
        assert!(causes.iter().any(|cause| cause["code"] == code), "{causes:#?}");
    }
}
