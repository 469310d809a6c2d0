//! Verdicts about made-up hosts.

use assay_sys::escape::page::Page;

use super::*;
use crate::fairness::made_up::{Child, child, watch};

const A: usize = 1;
const B: usize = 2;

fn level(weights: [f64; 3], children: &[Child], cells: u64) -> LevelAnswer {
    judge(&watch(weights, children, cells), &Changes::new()).remove(0)
}

fn verdicts(level: &LevelAnswer) -> Vec<(&str, Verdict, Option<Basis>)> {
    level.rows.iter().map(|row| (row.group.as_str(), row.verdict, row.basis)).collect()
}

#[test]
fn a_division_of_all_cpus_is_judged_by_the_weights() {
    let fair = [child(A, 0, 25), child(A, 1, 25), child(B, 0, 75), child(B, 1, 75)];
    let kept = level([1024.0, 3072.0, 1024.0], &fair, 60);
    assert_eq!(kept.verdict, Verdict::Kept);
    assert_eq!(kept.rows[0].basis, Some(Basis::AllCpus));
    assert!((kept.contended_s - 6.0).abs() < 1e-6 && kept.others == 0.0, "{kept:?}");
    let broken = level([1024.0, 1024.0, 1024.0], &fair, 60);
    assert_eq!(broken.verdict, Verdict::Broken);
    assert!((broken.rows[0].promised.unwrap() - 0.5).abs() < 1e-9);
}

#[test]
fn where_threads_stand_unevenly_each_cpu_is_judged_too() {
    // /p/a has two of three threads on CPU 0, and the kernel two thirds of its weight there.
    let part = |group, cpu, ms, weight| Child { weight: (weight, 1024), ..child(group, cpu, ms) };
    let uneven =
        [part(A, 0, 80, 900), part(A, 1, 20, 124), part(B, 0, 20, 225), part(B, 1, 80, 496)];
    // Of all CPUs both have half, as told; now /p/a is told a third.
    let found = level([512.0, 1024.0, 1024.0], &uneven, 60);
    assert_eq!(found.verdict, Verdict::Broken);
    assert!(!found.rows[0].notes.iter().any(|note| note.contains("C-CPU-IMBALANCE")));
    // Each CPU is divided by the kernel's parts, but /p/b gets less than half of both.
    let skewed =
        [part(A, 0, 60, 600), part(A, 1, 60, 600), part(B, 0, 40, 400), part(B, 1, 40, 400)];
    let found = level([1024.0, 1024.0, 1024.0], &skewed, 60);
    assert_eq!(found.verdict, Verdict::Broken);
    assert!(found.rows[0].notes[0].contains("C-CPU-IMBALANCE"), "{found:?}");
}

/// As on 7.3.4: weights 1:1, one thread of /p/a and four of /p/b on one CPU, and twice the weight for /p/b.
#[test]
fn weights_that_count_by_threads_are_no_imbalance() {
    let on = |group, ms, weight| Child { weight: (weight, 1024), ..child(group, 0, ms) };
    let levels = watch([1024.0; 3], &[on(A, 33, 1024), on(B, 67, 2048)], 60).by(WeightMode::Concur);
    let found = judge(&levels, &Changes::new()).remove(0);
    assert_eq!(found.verdict, Verdict::Broken, "{found:?}");
    assert!(found.rows[0].notes[0].contains("C-WEIGHT-MODE"), "{found:?}");
}

#[test]
fn single_cpus_do_not_take_back_what_all_of_them_say() {
    let halves = [child(A, 0, 50), child(A, 1, 50), child(B, 0, 50), child(B, 1, 50)];
    // /p/a with about this part of its promise of all CPUs, and 0.0125 as its standard error.
    let found = |part: f64| {
        let mut levels = watch([1024.0; 3], &halves, 60);
        let cells = &mut levels.levels[0].members[0].all_cpus.cells;
        for (at, cell) in cells.iter_mut().enumerate() {
            let off = if (at / 6).is_multiple_of(2) { 0.0375 } else { -0.0375 };
            cell.got = cell.promised * (part + off);
        }
        let row = judge(&levels, &Changes::new()).remove(0).rows.remove(0);
        (row.verdict, row.basis)
    };
    assert_eq!(found(0.86), (Verdict::Undecided, Some(Basis::AllCpus)));
    assert_eq!(found(0.9), (Verdict::Kept, Some(Basis::SharedCpus)));
}

#[test]
fn groups_with_few_threads_are_judged_on_the_cpu_that_they_share() {
    let shared = [child(A, 0, 25), child(B, 0, 75), child(3, 1, 100)];
    let found = level([1024.0, 3072.0, 1024.0], &shared, 60);
    assert_eq!(
        verdicts(&found),
        [
            ("/p/a", Verdict::Kept, Some(Basis::SharedCpus)),
            ("/p/b", Verdict::Kept, Some(Basis::SharedCpus)),
            ("/p/c", Verdict::Void, None)
        ]
    );
}

#[test]
fn a_group_that_naps_and_one_that_is_alone_do_not_contend() {
    let naps = Child { is_there: false, ..child(A, 0, 40) };
    let found = level([1024.0; 3], &[naps, child(B, 0, 60)], 60);
    assert_eq!((found.verdict, found.contended_s), (Verdict::Void, 0.0));
    assert_eq!(found.rows[0].notes, ["nothing contended"]);
    let short = level([1024.0; 3], &[child(A, 0, 50), child(B, 0, 50)], 12);
    assert!(short.rows[0].notes[0].contains("1.2 s only"), "{short:?}");
    assert!(judge(&watch([1024.0; 3], &[child(A, 0, 50)], 60), &Changes::new()).is_empty());
}

#[test]
fn a_weight_that_changed_voids_its_level_and_another_weight_of_the_kernel_is_named() {
    let halves = [child(A, 0, 50), child(B, 0, 50)];
    let levels = watch([1024.0, 3072.0, 1024.0], &halves, 60);
    let found = judge(&levels, &Changes::new()).remove(0);
    assert!(found.rows[1].notes[0].contains("divides by 1024"), "{found:?}");
    let change = ("/p/b".to_owned(), ("3072".to_owned(), "1024".to_owned()));
    let found = judge(&levels, &Changes::from([change])).remove(0);
    assert!(found.rows.iter().all(|row| row.verdict == Verdict::Void), "{found:?}");
    assert!(found.rows[0].notes[0].contains("from 3072 to 1024"), "{found:?}");
}

#[test]
fn the_page_names_verdicts_files_and_what_was_void() {
    let halves = [child(A, 0, 50), child(B, 0, 50)];
    let page = |weights| {
        let cpu = judge(&watch(weights, &halves, 60), &Changes::new());
        text(&crate::fairness::Contention { seconds: 6.0, ..empty(cpu) })
    };
    let broken = page([1024.0, 3072.0, 1024.0]);
    assert!(broken.contains("CPU below /p: contended 6.0 of 6 s"), "{broken}");
    assert!(broken.contains("/sys/fs/cgroup/p/b/cpu.shares: 3072"), "{broken}");
    assert!(page([1024.0; 3]).contains("kept"), "{broken}");
}

#[test]
fn without_programs_the_page_says_what_was_used_and_that_nothing_is_decided() {
    let setting = |group, weight| crate::fairness::made_up::setting(group, weight);
    let settings = [setting("/p/a", 1024.0), setting("/p/b", 3072.0)];
    let counts = |used_s| crate::fairness::UsageCounts { used_s: Some(used_s), waited_s: None };
    let usage =
        crate::fairness::usage_levels(&settings, &[counts(0.0); 2], &[counts(1.5), counts(0.5)]);
    let cpu = assay_host::facts::Available::NotAvailable("EPERM\n  hint: root".to_owned());
    let found = crate::fairness::Contention { cpu, usage, seconds: 60.0, ..empty(Vec::new()) };
    let page = text(&found);
    assert!(page.contains("not decided: who wanted a CPU can't be seen without eBPF: EPERM; root"));
    assert!(page.contains("CPU below /p: used 2.0 s in 60 s"), "{page}");
    assert!(page.contains("/p/a     1024      25.0 %  75.0 %  1.5 s       -"), "{page}");
    assert!(!found.has_broken() && !page.contains("broken"));
}

fn text(found: &crate::fairness::Contention) -> String {
    let page = Page { sections: crate::fairness::sections(found, false), ..Page::default() };
    page.unwrapped()
}

fn empty(cpu: Vec<LevelAnswer>) -> crate::fairness::Contention {
    crate::fairness::Contention {
        usage: Vec::new(),
        switches: assay_host::facts::Available::Value(crate::fairness::Switches::default()),
        seconds: 0.0,
        cell_ms: 100,
        cpu: assay_host::facts::Available::Value(cpu),
        disks: assay_host::facts::Available::Value(Vec::new()),
        limits: Vec::new(),
        protection: Vec::new(),
        own_cpus: assay_host::facts::Available::Value(Vec::new()),
        not_looked_at: Vec::new(),
        cost: 0.0,
    }
}
