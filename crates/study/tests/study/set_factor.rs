//! Factors set on the command line are checked like those of the file.

// Clippy does not recognize functions shared by tests as tests.
#![allow(clippy::unwrap_used)]

use assay_study::{
    DiskSource, Format, Scalar, Study, Templated, Tool, combinations, parse, parse_scalar,
    set_factor, set_factors, shipped, shipped_file,
};

fn study(name: &str) -> Study {
    let shipped = shipped().iter().find(|study| study.name == name).unwrap();
    parse(shipped.name, shipped.text, &shipped_file).0.unwrap()
}

fn values(text: &str) -> Vec<Scalar> {
    text.split(',').map(parse_scalar).collect()
}

#[test]
fn new_values_make_new_trials() {
    let mut study = study("io-weight");
    assert_eq!(combinations(&study).len(), 1);
    set_factor(&mut study, "groups", values("4,8,16")).unwrap();
    let counts: Vec<u32> = combinations(&study)
        .iter()
        .map(|bindings| study.groups[0].count.resolve(bindings).unwrap())
        .collect();
    assert_eq!(counts, [4, 8, 16]);
}

#[test]
fn factors_that_fit_only_together_are_set_together() {
    let mut study = study("writeback");
    let setting = |name: &str, text: &str| (name.to_owned(), values(text));
    let codes = |errors: Vec<assay_sys::diagnostic::Diagnostic>| -> Vec<&str> {
        errors.iter().map(|error| error.code).collect()
    };
    let alone = set_factors(&mut study, vec![setting("dirty_ratio", "20")]).unwrap_err();
    assert_eq!(codes(alone), ["A0440"]);
    set_factors(&mut study, vec![setting("dirty_ratio", "20"), setting("dirty_bytes", "0")])
        .unwrap();
    let wrong = vec![setting("dirty_rato", "20"), setting("dirty_bytes", "0")];
    assert_eq!(codes(set_factors(&mut study, wrong).unwrap_err()), ["A0403"]);
}

#[test]
fn an_unknown_factor_is_refused_with_a_suggestion() {
    let errors = set_factor(&mut study("io-weight"), "grups", values("4")).unwrap_err();
    assert_eq!(errors[0].code, "A0403");
    assert!(errors[0].hints[0].contains("`groups`"), "{errors:?}");
    let errors = set_factor(&mut study("io-weight-job"), "groups", values("4")).unwrap_err();
    assert!(errors[0].hints[0].contains("no factors"), "{errors:?}");
}

#[test]
fn invalid_values_are_refused_and_change_nothing() {
    let mut study = study("io-weight");
    let before = study.clone();
    for (text, code) in [("0", "A0303"), ("many", "A0412"), ("4,4", "A0308"), ("4,x", "A0307")] {
        let errors = set_factor(&mut study, "groups", values(text)).unwrap_err();
        assert!(errors.iter().any(|error| error.code == code), "{text}: {errors:?}");
    }
    let errors = set_factor(&mut study, "groups", vec![]).unwrap_err();
    assert_eq!(errors[0].code, "A0306");
    assert_eq!(study, before);
}

#[test]
fn the_shipped_studies_have_the_settings_their_comments_describe() {
    let weight = study("io-weight");
    assert_eq!(weight.disks["scratch"].source, DiskSource::Loop);
    assert_eq!(weight.disks["scratch"].queue[0].0, "iosched/low_latency");
    let (knob, ladder) = &weight.groups[0].knobs[0];
    assert_eq!((knob.as_str(), ladder.len()), ("io.weight", 4));
    let args = weight.workloads["reader"].fio().unwrap();
    let names: Vec<&str> = args.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["rw", "bs", "ioengine", "iodepth", "direct", "size"]);

    let job = study("io-weight-job");
    let disk = &job.disks["scratch"];
    assert_eq!(disk.format, Templated::Value(Format::Ext4));
    assert_eq!(disk.partitions, Templated::Value(4));
    let Tool::FioJobFile { path, text, .. } = &job.workloads["thesis"].tool else { panic!("job") };
    assert_eq!(path, "io-weight-job.fio");
    assert_eq!(text.matches("directory=/mnt/task").count(), 4);
}
