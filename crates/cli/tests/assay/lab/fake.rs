//! Guests that hang, panic or end, simulated by a script in place of virtme-run: only the machine is fake,
//! and no test waits for a boot.

use std::fs;
use std::time::{Duration, Instant};

use super::{Host, RELEASE, script};

/// Finds the folders that the lab shares with the guest, and the file of the console.
const PLAYER: &str = r#"for word in "$@"; do
    case $word in
    run/assay/lab=*) share=${word#*=} ;;
    file,*path=*) console=${word##*path=} ;;
    esac
done
"#;

pub(crate) fn played(by: &str) -> Host {
    let host = Host::complete();
    host.lay_out_kernel();
    script(&host.cache().join("virtme-ng/bin"), "virtme-run", &format!("{PLAYER}{by}"));
    host
}

/// Asserts that the guest's error shows the end of its console and names the file that keeps it.
fn fails(by: &str, says: &[&str]) {
    let host = played(by);
    host.refuses(&["exec", "--timeout", "2s", "--", "true"], says);
    let consoles = assay_test_support::entries(&host.cache().join("consoles"));
    assert_eq!(consoles.len(), 1, "{consoles:?}");
    assert!(fs::read_to_string(&consoles[0]).unwrap().contains("last words"));
}

#[test]
fn a_guest_that_does_not_come_up_is_ended_at_the_time_limit() {
    fails(
        "echo last words >\"$console\"; sleep 1000",
        &["did not boot within the time limit of 2 s", "last words", "console", "--timeout"],
    );
}

#[test]
fn a_command_that_hangs_is_ended_at_the_time_limit() {
    fails(
        "echo last words >\"$console\"; : >\"$share/reached\"; : >\"$share/ready\"; sleep 1000",
        &["the command did not finish within the time limit of 2 s", "last words", "--timeout"],
    );
}

#[test]
fn a_panic_is_named() {
    fails(
        "echo '[    9.1] Kernel panic - not syncing: last words' >\"$console\"
         : >\"$share/reached\"; : >\"$share/ready\"; exit 1",
        &["ended before its command finished: Kernel panic - not syncing: last words"],
    );
}

#[test]
fn a_guest_that_cannot_be_set_up_says_why() {
    fails(
        "echo last words >\"$console\"; : >\"$share/reached\"
         echo the disk 1 did not appear in the guest >\"$share/failed\"; exit 125",
        &["could not be set up: the disk 1 did not appear in the guest", "assay lab shell"],
    );
}

#[test]
fn output_and_exit_code_of_the_command_are_passed_on_and_nothing_is_left() {
    let host = played(
        ": >\"$share/reached\"; : >\"$share/ready\"
         echo out; echo err >&2; echo 7 >\"$share/exit\"",
    );
    let ended = host.lab(&["exec", "--", "some", "command"]);
    ended.assert_code(7);
    assert_eq!(ended.stdout, "out\n");
    ended.assert_says(&["6.12.9-amd64, cgroup v2, 1 node, tcg"]);
    assert!(assay_test_support::entries(&host.cache().join("guests")).is_empty());
    assert!(assay_test_support::entries(&host.cache().join("consoles")).is_empty());
}

/// Only the watch of its disk ends such a guest before the time limit, which is long.
#[test]
fn a_guest_that_fills_the_disk_of_its_host_is_ended_with_the_remedy() {
    for (writes, says) in [
        (
            "mkdir \"$share/back\"; cd \"$share/back\"; seq 100001 | xargs touch",
            ["more than 100000 names", "/run/assay/lab"],
        ),
        ("truncate -s 17M \"$console\"", ["more than 16 MiB to its console", "hint: "]),
    ] {
        let host =
            played(&format!(": >\"$share/reached\"; : >\"$share/ready\"; {writes}; sleep 1000"));
        let begun = Instant::now();
        host.refuses(&["exec", "--timeout", "900s", "--", "true"], &says);
        assert!(begun.elapsed() < Duration::from_secs(600), "{:?}", begun.elapsed());
    }
}

/// Inside other virtual machines KVM may stop at some instruction of a kernel's boot, without a word.
#[test]
fn kvm_that_hangs_is_asked_once_and_the_guest_is_emulated() {
    let host = played(
        "case \"$*\" in *--disable-kvm*) ;; *) sleep 1000 ;; esac
         : >\"$share/reached\"; : >\"$share/ready\"; echo 0 >\"$share/exit\"",
    );
    host.program("qemu-system-x86_64", "read line");
    // It has neither booted nor printed anything for 15 s; either may be noticed first.
    let says = format!("{RELEASE} is emulated: no KVM (the guest ");
    let begun = Instant::now();
    let first = host.lab(&["exec", "--", "true"]);
    first.assert_code(0);
    first.assert_says(&["asking whether KVM runs", &says]);
    let asked = begun.elapsed();
    assert!(asked < Duration::from_secs(60), "{asked:?}");
    let begun = Instant::now();
    let second = host.lab(&["exec", "--", "true"]);
    second.assert_says(&[&says]);
    assert!(!second.stderr.contains("asking") && begun.elapsed() < asked, "{}", second.stderr);
}
