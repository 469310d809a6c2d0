//! The running kernel takes the programs, and what cannot be loaded is named.

use std::time::{Duration, Instant};

use assay_bpf::{BFQ, BFQ_MANY, BLAME, CONTENDED, CONTENDED_DISK, DISK, DISK_MANY, Programs};
use assay_sys::kernel::Root;
use assay_test_support::{Need, host_lock, put};

#[test]
fn the_kernel_takes_every_program_and_they_stay_silent_until_switched_on() {
    let Some(_lock) = host_lock("eBPF programs", &[Need::Controller("cpu")]) else { return };
    let cpus = 256;
    let programs = Programs::load_sized(&Root::real(), BLAME, &[("cpus", cpus), ("slots", cpus)]);
    let programs = programs.unwrap_or_else(|error| panic!("{error}"));
    // `first` of each CPU: the clock of its first event.
    let has_events = || {
        let memory = programs.map("cpus").unwrap().all().unwrap();
        memory.chunks_exact(memory.len() / cpus as usize).any(|cpu| cpu[..8] != [0; 8])
    };
    std::thread::sleep(Duration::from_millis(50));
    assert!(!has_events());
    // `struct settings` of `programs/blame/memory.h`: a process in slot 1 with class 7.
    let mut on = [1, std::process::id(), 0x1007, 1, cpus, 0, 0, 0].map(u32::to_ne_bytes).concat();
    on.resize(on.len() + 512, 0);
    programs.map("settings").unwrap().set(&[0; 4], &on).unwrap();
    let begun = Instant::now();
    while !has_events() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no switch of any thread");
        std::thread::sleep(Duration::from_millis(1));
    }
    let missing = programs.map("no_such_map").unwrap_err();
    assert!(missing.to_string().contains("no_such_map"), "{missing}");
    let missing = Programs::load_sized(&Root::real(), BLAME, &[("no_such_map", 1)]).unwrap_err();
    assert!(missing.to_string().contains("no_such_map"), "{missing}");
}

/// Loads objects of which nothing counts before it is switched on.
fn load(objects: &[(&'static [u8], &str)]) {
    for (object, name) in objects {
        let programs = Programs::load(&Root::real(), object);
        let programs = programs.unwrap_or_else(|error| panic!("{name}: {error}"));
        let memory = programs.map(".bss").unwrap().get(&[0; 4]).unwrap();
        assert!(memory.iter().all(|byte| *byte == 0), "{name}");
    }
}

#[test]
fn the_kernel_takes_the_programs_for_disks_and_for_groups_that_contend() {
    let Some(_lock) = host_lock("eBPF programs", &[Need::Controller("cpu")]) else { return };
    let contended = [(CONTENDED, "contended"), (CONTENDED_DISK, "contended_disk")];
    load(&contended);
    load(&[(DISK, "disk"), (DISK_MANY, "disk_many")]);
}

/// Where BFQ is a module its structures are not among the kernel's types.
#[test]
fn the_kernel_takes_the_programs_for_bfq() {
    let Some(_lock) = host_lock("eBPF programs", &[Need::Controller("io")]) else { return };
    load(&[(BFQ, "bfq"), (BFQ_MANY, "bfq_many")]);
}

#[test]
fn a_kernel_without_types_is_named_with_the_option_that_it_lacks() {
    let tree = tempfile::tempdir().unwrap();
    let error = Programs::load(&Root::at(tree.path()), BLAME).unwrap_err();
    assert!(error.to_string().contains("CONFIG_DEBUG_INFO_BTF"), "{error}");
}

#[test]
fn damaged_types_and_objects_are_errors() {
    let tree = tempfile::tempdir().unwrap();
    put(tree.path(), "sys/kernel/btf/vmlinux", "no types");
    let error = Programs::load(&Root::at(tree.path()), BLAME).unwrap_err();
    assert!(error.to_string().contains("vmlinux"), "{error}");
    let error = Programs::load(&Root::real(), &BLAME[..1000]).unwrap_err();
    assert!(error.to_string().contains("eBPF object"), "{error}");
}
