//! A lab that is killed or interrupted late in the life of its guest leaves neither a machine nor, after the next
//! lab, a folder.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use assay_lab::Cache;
use assay_test_support::{HostSnapshot, entries, skip};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rustix::process::Signal;

use super::shared::{PATIENCE, why_not};
use crate::bench::Bench;
use crate::kills::{draw::seed, times};
use crate::running::{KILLED, Running};

const TEST: &str = "labs killed late";

/// What the guest does: it writes to its disk and leaves results.
const WORK: &str = "echo begun; dd if=/dev/zero of=$ASSAY_LAB_DISK_1 bs=1M count=32 2>/dev/null; sleep 0.5
                    mkdir -p /run/assay/lab/back && head -c 9000000 /dev/zero >/run/assay/lab/back/result; sync";

fn start(bench: &Bench) -> Running {
    let mut command = bench.program();
    command.env("TMPDIR", bench.path("temporary"));
    command.args(["lab", "exec", "--kernel", "debian-6.1", "--accelerator", "tcg"]).args([
        "--timeout",
        "20min",
        "--disk",
        "virtio:64MiB",
        "--",
        "sh",
        "-c",
        WORK,
    ]);
    Running::start(command, bench.folder(), bench.out())
}

fn wait_for_work(bench: &Bench, lab: &mut Running) {
    let output = bench.path("stdout");
    let has_begun = |_: &Running| fs::read_to_string(&output).unwrap().contains("begun");
    lab.wait_until("the work of the guest", has_begun);
}

/// Processes that name the folders of this lab's guests: QEMU and what starts it.
fn machines(lab: u32) -> Vec<PathBuf> {
    let folders = format!("/guests/{lab}-");
    let names = |process: &PathBuf| {
        let words = fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(&folders)
    };
    entries("/proc".as_ref()).into_iter().filter(names).collect()
}

fn folders(lab: u32) -> Vec<PathBuf> {
    let mut all = entries(&Cache::usual().path().join("guests"));
    let prefix = format!("{lab}-");
    all.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with(&prefix));
    all
}

/// A boot takes half a minute of two CPUs, so that only `ASSAY_TEST_KILLS` asks for some.
#[test]
fn late_kills_leave_no_machine_and_no_folder() {
    if times() < 2 {
        return skip(TEST, "ASSAY_TEST_KILLS=5 asks for them");
    }
    if let Some(why) = why_not("debian-6.1") {
        return skip(TEST, &format!("no guest: {why}"));
    }
    let (bench, before) = (Bench::aside(), HostSnapshot::take());
    let temporary = bench.path("temporary");
    fs::create_dir(&temporary).unwrap();
    let seed = seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let mut whole = start(&bench);
    wait_for_work(&bench, &mut whole);
    let begun = Instant::now();
    whole.end(PATIENCE).assert_code(0);
    let length = begun.elapsed();
    let mut killed = Vec::new();
    for number in 0..2 * times() {
        let signal = if number % 4 == 3 { Signal::TERM } else { Signal::KILL };
        let mut lab = start(&bench);
        wait_for_work(&bench, &mut lab);
        let pause = length.mul_f64(random.random_range(0.0..1.0));
        sleep(pause);
        let id = lab.pid().as_raw_nonzero().get().unsigned_abs();
        let is_alive = !lab.has_ended();
        let had = machines(id).len();
        if is_alive {
            lab.signal(signal);
        }
        let code = lab.end(KILLED).status;
        let when = format!("seed {seed}, {signal:?} after {pause:?} of {length:?}, {code}");
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until && !machines(id).is_empty() {
            sleep(Duration::from_millis(20));
        }
        assert!(machines(id).is_empty(), "{when}: {:?}", machines(id));
        eprintln!("{when}: {had} processes before, {} folders after", folders(id).len());
        assert!(signal == Signal::KILL || folders(id).is_empty(), "{when}: {:?}", folders(id));
        assert_eq!(HostSnapshot::differences_since(&before), "", "{when}");
        bench.assert_nothing_is_left(&when);
        killed.push((id, is_alive));
    }
    // The next lab removes what the killed ones could not.
    bench.assay(["lab", "exec", "--kernel", "debian-6.1", "--timeout", "1s", "--", "true"]);
    let left: Vec<PathBuf> = killed.iter().flat_map(|(id, _)| folders(*id)).collect();
    assert!(left.is_empty(), "seed {seed}: {left:?}");
    assert!(entries(&temporary).is_empty(), "seed {seed}: {:?}", entries(&temporary));
    let count = killed.iter().filter(|(_, is_alive)| *is_alive).count();
    eprintln!("{count} of {} labs killed late, seed {seed}: nothing is left", killed.len());
    assert!(count >= times(), "seed {seed}: too many had ended before");
}
