//! Settings by property, and refused values.

use super::*;
use crate::ycsb::measure::Kind;
use crate::ycsb::shipped;

fn read(text: &str) -> Result<Settings, Failure> {
    let mut properties = Properties::default();
    properties.load("file", text.as_bytes())?;
    Settings::read(&properties, Phase::Run, Binding::Basic)
}

fn refused(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn every_shipped_workload_is_read() {
    for letter in 'a'..='f' {
        let text = shipped::workload(&format!("workload{letter}")).unwrap();
        let settings = read(&text).unwrap();
        assert_eq!((settings.operations, settings.workload.records), (1000, 1000));
    }
}

#[test]
fn defaults_are_those_of_ycsb() {
    let settings = read("recordcount=10").unwrap();
    assert_eq!((settings.threads, settings.operations, settings.tick), (1, 0, None));
    assert_eq!(settings.workload.shape.names.len(), 10);
    assert!((settings.workload.shape.mean_bytes() - 1140.0).abs() < 1e-9);
    assert_eq!(settings.measuring.rules.kind, Kind::Hdr);
    assert_eq!(settings.measuring.presentation.percentiles, [50.0, 95.0, 99.0]);
    assert_eq!(read("").unwrap().workload.records, NO_RECORDCOUNT);
}

const NO_RECORDCOUNT: u64 = 2_147_483_647;

#[test]
fn a_target_is_divided_among_the_threads() {
    let settings = read("recordcount=10\noperationcount=100\ntarget=500\nthreadcount=2").unwrap();
    assert_eq!(settings.tick, Some(4_000_000));
    assert_eq!(read("threadcount=8\noperationcount=3").unwrap().threads, 3);
}

#[test]
fn mistakes_are_refused_with_position_and_remedy() {
    for (text, part) in [
        ("requestdistribution=zipfan", "file:1:21: `requestdistribution=zipfan`"),
        ("\nfieldlengthdistribution=normal", "file:2:25"),
        ("scanlengthdistribution=constant", "`uniform`, `zipfian`"),
        ("minscanlength=7\nmaxscanlength=3", "expected at most 3"),
        ("recordcount=5\ninsertstart=3\ninsertcount=3", "recordcount must be at least"),
        ("workload=site.ycsb.RestWorkload", "only `site.ycsb.workloads.CoreWorkload`"),
        ("measurementtype=hdr", "`hdrhistogram+raw`"),
        ("hdrhistogram.percentiles=50,x", "expected numbers from 0 to 100"),
        ("hotspotdatafraction=2\nrequestdistribution=hotspot", "from 0 to 1"),
        ("recordcount=2\nrequestdistribution=hotspot", "one of the two parts is empty"),
        ("dataintegrity=true\nfieldlengthdistribution=uniform", "needs `fieldlengthdistribution="),
        ("fieldlengthdistribution=histogram\nfieldlengthhistogram=/absent", "cannot be read"),
        ("threadcount=0", "above 0"),
        ("readproportion=-1", "of at least 0"),
        ("hdrhistogram.fileoutput=true", "not written here"),
    ] {
        let message = refused(text);
        assert!(message.contains(part), "{text:?}: {message}");
    }
}

#[test]
fn rocksdb_needs_its_directory() {
    let properties = Properties::default();
    let error = Settings::read(&properties, Phase::Load, Binding::Rocksdb).unwrap_err();
    assert!(error.to_string().contains("-p rocksdb.dir=DIR"), "{error}");
}
