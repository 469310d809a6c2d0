//! Operations in a real directory: their counts, the resulting files, and how runs end.

use std::fs;
use std::path::Path;

use assay_sys::kernel::anonymous_memory::HugePages;
use serde_json::Value;

use super::super::control::{self, Options};
use super::super::language::{format_mistakes, parse};
use super::super::resolve::{Overrides, resolve};
use crate::failure::Failure;
use crate::generator::Report;
use crate::output::Silence;

fn run(directory: &Path, text: &str, corrected: bool) -> Result<Report, Failure> {
    let variables = vec![("dir".to_owned(), directory.display().to_string())];
    let overrides = Overrides { variables, ..Overrides::default() };
    let script =
        parse(text).unwrap_or_else(|mistakes| panic!("{}", format_mistakes("x", &mistakes)));
    let workload = resolve(&script, &overrides)
        .unwrap_or_else(|mistakes| panic!("{}", format_mistakes("x", &mistakes)));
    let (huge, script) = (HugePages::System, "test.f".to_owned());
    let options = Options { corrected, anyway: false, huge, seed: Some(1), script };
    control::run(&workload, &options, &|| Ok(0), &Silence).map(|finished| finished.report)
}

/// A script with one thread that executes these operations once, on 10 files of 3000 bytes.
fn once(prealloc: u64, more: &str, operations: &str) -> String {
    format!(
        "set mode quit firstdone\n\
         define fileset name=s,path=$dir,entries=10,dirwidth=20,size=3000,prealloc={prealloc}{more}\n\
         define process name=p {{ thread name=t,memsize=64k {{\n{operations}\n\
         flowop finishoncount name=end,value=1 }} }}\nrun 20"
    )
}

fn done(directory: &Path, text: &str) -> Value {
    run(directory, text, false).unwrap_or_else(|failure| panic!("{failure}")).json
}

fn counts(json: &Value, name: &str) -> (u64, u64) {
    let operations = json["operations"].as_array().unwrap();
    let one = operations.iter().find(|one| one["name"] == name).unwrap();
    (one["count"].as_u64().unwrap(), one["bytes"].as_u64().unwrap())
}

fn sizes(directory: &Path) -> Vec<u64> {
    let mut found_sizes = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => found_sizes.extend(sizes(&entry.path())),
            false => found_sizes.push(entry.metadata().unwrap().len()),
        }
    }
    found_sizes.sort_unstable();
    found_sizes
}

#[test]
fn all_file_operations_are_counted_and_take_effect() {
    let directory = tempfile::tempdir().unwrap();
    let text = once(
        0,
        "",
        "flowop createfile name=create,filesetname=s,fd=1\n\
         flowop writewholefile name=whole,fd=1,srcfd=1,iosize=1k\n\
         flowop appendfile name=append,fd=1,iosize=500,iters=2\n\
         flowop fsync name=fsync,fd=1\n flowop fsyncset name=fsyncset,filesetname=s\n\
         flowop statfile name=fstat,fd=1\n flowop readwholefile name=read,fd=1,iosize=64k\n\
         flowop closefile name=close,fd=1\n flowop statfile name=stat,filesetname=s\n\
         flowop createfile name=second,filesetname=s,fd=2\n flowop closefile name=close2,fd=2\n\
         flowop deletefile name=delete,fd=2",
    );
    let json = done(directory.path(), &text);
    // filebench writes whole pieces: 3000 bytes become three of 1024.
    for (name, count, bytes) in [
        ("create", 1, 0),
        ("whole", 1, 3 * 1024),
        ("append", 2, 1000),
        ("fsync", 1, 0),
        ("fsyncset", 1, 0),
        ("fstat", 1, 0),
        ("read", 1, 4072),
        ("close", 1, 0),
        ("stat", 1, 0),
        ("delete", 1, 0),
    ] {
        assert_eq!(counts(&json, name), (count, bytes), "{name}");
    }
    assert_eq!(sizes(directory.path()), [4072]);
    assert_eq!(json["summary"]["ops"], 13);
    let corrected = run(directory.path(), &text, true).unwrap();
    assert_eq!(counts(&corrected.json, "whole"), (1, 3000));
    assert!(corrected.text.contains("Corrected: writewholefile"), "{}", corrected.text);
}

#[test]
fn reads_and_writes_transfer_their_sizes_sequentially_and_at_random() {
    let directory = tempfile::tempdir().unwrap();
    let text = once(
        100,
        "",
        "flowop read name=random,filesetname=s,iosize=1000,random,iters=7,opennext\n\
         flowop openfile name=open,filesetname=s,fd=1\n\
         flowop read name=next,fd=1,iosize=1000,iters=4\n\
         flowop write name=write,fd=1,iosize=1000\n\
         flowop write name=anywhere,fd=1,iosize=500,random,dsync,iters=5\n\
         flowop aiowrite name=aio,fd=1,iosize=500,random,iters=5\n flowop aiowait name=wait\n\
         flowop appendfilerand name=rand,fd=1,iosize=100,iters=50",
    );
    let json = done(directory.path(), &text);
    // Each operation opens another slot first, which is counted, as in filebench.
    assert_eq!(counts(&json, "random"), (14, 7000));
    assert_eq!(counts(&json, "next"), (4, 3000), "the fourth reads at the end and starts over");
    assert_eq!(counts(&json, "write"), (1, 1000));
    assert_eq!(counts(&json, "anywhere"), (5, 2500));
    assert_eq!((counts(&json, "aio"), counts(&json, "wait").0), ((5, 2500), 1));
    let (count, bytes) = counts(&json, "rand");
    assert!(count == 50 && (1000..50 * 99).contains(&bytes), "{count} {bytes}");
    assert_eq!(sizes(directory.path()).iter().sum::<u64>(), 30_000 + bytes);
}

#[test]
fn leaf_directories_are_created_listed_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    let text = once(
        0,
        ",leafdirs=5",
        "flowop makedir name=make,filesetname=s,iters=5\n flowop listdir name=list,filesetname=s\n\
         flowop removedir name=remove,filesetname=s,iters=3",
    );
    let json = done(directory.path(), &text);
    assert_eq!((counts(&json, "make").0, counts(&json, "remove").0), (5, 3));
    let (count, bytes) = counts(&json, "list");
    // `.`, `..` and at least one numbered entry, each with 279 bytes more.
    assert!(count == 1 && bytes >= 280 + 281 + 287, "{bytes}");
}

#[test]
fn a_file_open_elsewhere_is_neither_deleted_nor_counted() {
    let directory = tempfile::tempdir().unwrap();
    let text = once(
        0,
        "",
        "flowop createfile name=c,filesetname=s,fd=1\n flowop deletefile name=d,filesetname=s,iters=3",
    );
    assert_eq!(counts(&done(directory.path(), &text), "d").0, 0);
    assert_eq!(sizes(directory.path()).len(), 1);
}

#[test]
fn operations_that_cannot_continue_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let timeout = |operations: &str| once(0, "", operations).replace("firstdone", "timeout");
    for (text, what) in [
        (
            timeout("flowop openfile name=o,filesetname=s,fd=1"),
            "flowop o-1 could not obtain a file",
        ),
        (timeout("flowop closefile name=c,fd=3"), "already closed fd 3"),
        (timeout("flowop hog name=h,value=1 flowop fsync name=f,fd=3"), "fsync a closed fd 3"),
        (
            timeout("flowop createfile name=c,filesetname=s,fd=1,iters=2"),
            "create without closing on fd 1",
        ),
        (
            once(100, "", "flowop read name=r,filesetname=s,iosize=1m"),
            "raise memsize of the thread",
        ),
        (
            once(100, "", "flowop read name=r,filesetname=s,iosize=8k,random"),
            "8192 bytes at once in a file of 3000",
        ),
    ] {
        let failure = run(directory.path(), &text, false).unwrap_err();
        assert!(failure.to_string().contains(what), "{failure}\n{text}");
        assert_eq!(failure.exit_code(), 5);
    }
}

#[test]
fn threads_wait_for_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let text = "set mode quit firstdone\n\
        define process name=a { thread name=t { flowop sempost name=post,target=wait,value=1\n\
          flowop finishoncount name=never,value=1000000 } }\n\
        define process name=b { thread name=t { flowop semblock name=wait,value=10\n\
          flowop finishoncount name=end,value=5,target=wait } }\nrun 20";
    let json = done(directory.path(), text);
    assert_eq!(counts(&json, "wait").0, 5);
    // Process b needs 50 posts; it may end the run before the last ones have been counted.
    assert!(counts(&json, "post").0 >= 49);
    let text = "set mode quit firstdone\n\
        define process name=a { thread name=t { flowop wakeup name=wake,target=sleep } }\n\
        define process name=b { thread name=t { flowop block name=sleep\n\
          flowop finishoncount name=end,value=3,target=sleep } }\nrun 20";
    assert_eq!(counts(&done(directory.path(), text), "sleep").0, 3);
}

#[test]
fn events_limit_the_rate_of_operations() {
    let directory = tempfile::tempdir().unwrap();
    for limit in ["eventlimit name=l", "opslimit name=l,target=s", "iopslimit name=l,target=w"] {
        let text = format!(
            "eventgen rate=100\n\
             define fileset name=s,path=$dir,entries=5,dirwidth=20,size=1k,prealloc\n\
             define process name=p {{ thread name=t,memsize=4k {{\n\
             flowop statfile name=s,filesetname=s\n flowop write name=w,filesetname=s,iosize=1k,random\n\
             flowop {limit} }} }}\nrun 1"
        );
        let (count, _) = counts(&done(directory.path(), &text), "s");
        assert!((10..=300).contains(&count), "{limit}: {count}");
    }
}

#[test]
fn waiting_and_computing_are_counted_but_not_as_io() {
    let directory = tempfile::tempdir().unwrap();
    let text = "set mode quit alldone\n\
        define process name=p,instances=2 { thread name=t,memsize=4k,instances=2 {\n\
        flowop hog name=hog,value=1000 flowop delay name=delay,value=0\n\
        flowop finishoncount name=end,value=3,target=hog } }\nrun";
    let json = done(directory.path(), text);
    assert_eq!(counts(&json, "hog").0, 12, "three of each of four threads");
    assert_eq!((json["summary"]["ops"].as_u64(), json["threads"].as_u64()), (Some(0), Some(4)));
}

#[test]
fn periods_are_shown_and_may_be_reset() {
    let directory = tempfile::tempdir().unwrap();
    let text = |period: &str| {
        format!(
            "enable lathist\ndefine process name=p {{ thread name=t {{ flowop delay name=d,value=0 }} }}\n\
             psrun {period} 2"
        )
    };
    let count = |json: &Value| json["operations"][0]["count"].as_u64().unwrap();
    let report = run(directory.path(), &text("1"), false).unwrap();
    assert!(report.json["periods"].as_array().unwrap().len() == 1, "{}", report.text);
    assert!(count(&report.json) > count(&report.json["periods"][0]));
    assert_eq!(report.text.matches("Per-Operation Breakdown").count(), 2);
    assert!(report.text.contains("\t[ 0 "), "{}", report.text);
    let cleared = run(directory.path(), &text("-1"), false).unwrap().json;
    assert!(cleared["elapsed_s"].as_f64().unwrap() < 1.9, "{cleared}");
}
