//! Resolved scripts, and the mistakes of invalid ones.

use std::path::PathBuf;

use super::super::language::{format_mistakes, parse};
use super::super::{classic, flow::kind::Kind};
use super::*;

fn workload_with(text: &str, overrides: &Overrides) -> Workload {
    let script =
        parse(text).unwrap_or_else(|mistakes| panic!("{}", format_mistakes("x", &mistakes)));
    resolve(&script, overrides)
        .unwrap_or_else(|mistakes| panic!("{}", format_mistakes("x", &mistakes)))
}

fn workload(text: &str) -> Workload {
    workload_with(text, &Overrides::default())
}

fn mistakes(text: &str) -> String {
    format_mistakes("x.f", &resolve(&parse(text).unwrap(), &Overrides::default()).unwrap_err())
}

const SET: &str = "define fileset name=s,path=/tmp,entries=10,dirwidth=20,size=1k\n";

fn thread(operations: &str) -> String {
    format!("{SET}define process name=p {{ thread name=t {{ {operations} }} }}\nrun 1")
}

#[test]
fn the_classic_workloads_have_the_published_parameters() {
    for (name, files, threads, operations, prealloc) in [
        ("fileserver", 10_000, 50, 11, 80),
        ("varmail", 1000, 16, 13, 80),
        ("webserver", 1000, 100, 31, 100),
        ("webproxy.f", 10_000, 100, 20, 80),
    ] {
        let workload = workload(&classic::text(name).unwrap());
        let set = &workload.sets[0];
        assert_eq!((set.entries, set.prealloc), (files, prealloc), "{name}");
        assert_eq!(workload.thread_count(), threads, "{name}");
        assert_eq!(workload.lines.len(), operations, "{name}");
        assert_eq!(workload.buffers(), threads * (10 << 20), "{name}");
        let last = workload.steps.last().unwrap();
        assert_eq!(*last, Step::Run { seconds: 60, period: None }, "{name}");
    }
}

#[test]
fn variables_of_the_command_line_override_the_script() {
    let overrides = Overrides {
        variables: vec![
            ("nfiles".to_owned(), "2k".to_owned()),
            ("dir".to_owned(), "/mnt".to_owned()),
        ],
        run: Some(7),
        seed: None,
    };
    let workload = workload_with(&classic::text("varmail").unwrap(), &overrides);
    assert_eq!(workload.sets[0].entries, 2048);
    assert_eq!(workload.sets[0].root(), PathBuf::from("/mnt/bigfileset"));
    assert_eq!(workload.steps.last(), Some(&Step::Run { seconds: 7, period: None }));
}

#[test]
fn a_later_set_applies_since_values_are_looked_up_at_run_time() {
    let text = format!(
        "set $n=1\n{}",
        thread("flowop hog name=h,value=$n").replace("run 1", "set $n=9\nrun 1")
    );
    assert_eq!(workload(&text).processes[0].threads[0].operations[0].value.get(), 9);
}

#[test]
fn composite_operations_expand_with_their_locals() {
    let text = format!(
        "define flowop name=inner,$set {{ flowop openfile name=o,filesetname=$set,fd=1 }}\n\
         define flowop name=outer,$times=2,$which {{\n\
           flowop inner name=i,iters=$times,$set=$which\n flowop hog name=h,value=$times }}\n{}",
        thread("flowop outer name=a,$which=s flowop outer name=b,$times=5,$which=s")
    );
    let workload = workload(&text);
    let names: Vec<&str> = workload.lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["a", "a.i", "a.i.o", "a.h", "b", "b.i", "b.i.o", "b.h"]);
    let operations = &workload.processes[0].threads[0].operations;
    assert_eq!(operations[0].inner[0].iters.get(), 2, "the default of the definition");
    assert_eq!(operations[1].inner[0].iters.get(), 5);
    assert_eq!(operations[1].inner[0].inner[0].set, Some(0));
    assert_eq!(operations[0].kind, Kind::Composite);
}

#[test]
fn targets_are_resolved_by_name() {
    let text =
        thread("flowop block name=b flowop wakeup name=w,target=b flowop opslimit name=l,target=w");
    let workload = workload(&text);
    let operations = &workload.processes[0].threads[0].operations;
    assert_eq!((&operations[1].targets, &operations[2].targets), (&vec![0], &vec![1]));
}

#[test]
fn prealloc_is_a_percentage_or_true() {
    for (attribute, percent) in
        [("prealloc=80", 80), ("prealloc", 100), ("prealloc=true", 100), ("paralloc", 0)]
    {
        let text = format!("define fileset name=s,path=/tmp,entries=1,dirwidth=2,{attribute}");
        assert_eq!(workload(&text).sets[0].prealloc, percent, "{attribute}");
    }
}

#[test]
fn a_run_has_a_time_unless_it_ends_by_itself() {
    let seconds = |text: &str| match workload(text).steps.last() {
        Some(Step::Run { seconds, .. }) => *seconds,
        other => panic!("{other:?}"),
    };
    assert_eq!(seconds("run"), 60);
    assert_eq!(seconds("set mode quit firstdone\nrun"), 0);
    assert_eq!(seconds("set $runtime=5\nrun $runtime"), 5);
    let periods = workload("psrun -2 9").steps[0].clone();
    let period = Some(Period { seconds: 2, clears: true });
    assert_eq!(periods, Step::Run { seconds: 9, period });
}

#[test]
fn semantic_mistakes_have_position_and_remedy() {
    for (text, position, what) in [
        (thread("flowop raed name=r"), "2:41", "did you mean `read`?"),
        (thread("flowop openfile name=o,filesetname=t"), "2:64", "unknown file set `t`"),
        (thread("flowop openfile name=o,fd=1"), "2:41", "`o` has no file set"),
        (thread("flowop fsync name=f,fd=128"), "2:61", "0 to 127"),
        (thread("flowop read name=r,filesetname=s"), "2:41", "moves 0 bytes"),
        (thread("flowop read name=r,filesetname=s,iosize=$io"), "2:74", "$io has no value"),
        (thread("flowop hog value=3"), "2:41", "`name` is missing"),
        (thread("flowop wakeup name=w,target=x"), "2:62", "no operation here is named `x`"),
        (thread("flowop hog name=h,value=many"), "2:59", "cannot be `many`"),
        (
            "set $d=cvar(type=cvar-gamma,parameters=mean:3;gamma:1)\n\
             define fileset name=a,path=/tmp,entries=3,dirwidth=1,dirdepthrv=$d"
                .to_owned(),
            "2:1",
            "write dirwidth=20",
        ),
        ("define fileset name=a,path=/tmp,dirwidth=3".to_owned(), "1:1", "no files"),
        ("define fileset path=/tmp,entries=1,dirwidth=3".to_owned(), "1:1", "`name` is missing"),
        ("define file name=\"../a\",path=/tmp".to_owned(), "1:1", "not a valid name of a file set"),
        ("set $x=cvar(type=cvar-gama)".to_owned(), "1:13", "did you mean `cvar-gamma`?"),
        (
            "set $x=cvar(type=cvar-gamma,parameters=men:3)".to_owned(),
            "1:29",
            "did you mean `mean`?",
        ),
        ("set $x=randvar(type=tabular,randtable={{50,1,2}})".to_owned(), "1:29", "totals 50 %"),
        ("enable multi master=a,client=b".to_owned(), "1:1", "not supported"),
        ("echo \"$nope\"".to_owned(), "1:1", "$nope has no value"),
    ] {
        let reported = mistakes(&text);
        assert!(
            reported.contains(&format!("x.f:{position}: ")) && reported.contains(what),
            "{text}\n{reported}"
        );
    }
}

#[test]
fn unknown_attributes_do_not_hide_other_mistakes() {
    let reported = mistakes(&thread("flowop raed name=r flowop hog name=h,valeu=3"));
    assert!(
        reported.contains("did you mean `read`?") && reported.contains("did you mean `value`?"),
        "{reported}"
    );
}

#[test]
fn a_recursive_operation_is_a_mistake() {
    let text = format!("define flowop name=a {{ flowop a name=x }}\n{}", thread("flowop a name=y"));
    assert!(mistakes(&text).contains("contains itself"));
}
