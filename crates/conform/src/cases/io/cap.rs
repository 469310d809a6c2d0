//! io.max, or blkio.throttle on v1: of direct and of buffered I/O, and on disks that are made out of another one. These
//! have no queue of requests of their own: what is read from them is throttled before it is handed down.

use std::time::Instant;

use assay_host::ledger::Layer;

use super::*;

const THROTTLE: Topic = IO.documented_in(
    "Documentation/admin-guide/cgroup-v2.rst, io.max; cgroup-v1/blkio-controller.rst, \
     Throttling/Upper limit policy",
);
/// "The io controller, in conjunction with the memory controller, implements control of page cache writeback IOs."
const WRITEBACK: Topic =
    IO.documented_in("Documentation/admin-guide/cgroup-v2.rst, Writeback").needing(&[
        Need::OnV2("io"),
        Need::OnV2("memory"),
        Need::Root,
        Need::Loop,
        Need::File("io.max"),
    ]);

pub(crate) const CASES: &[Case] = &[
    THROTTLE.case(
        "max-caps-bytes",
        "A group reads no more bytes per second than io.max allows.",
        |fixture| two(fixture, BYTES, |capped, free| judge_cap(capped, free, "1 MiB/s")),
    ),
    THROTTLE.case(
        "max-caps-written-bytes",
        "A group writes no more bytes per second, with direct I/O, than io.max allows.",
        |fixture| {
            two(fixture, WRITTEN, |capped, free| judge_cap(capped, free, "1 MiB/s of writes"))
        },
    ),
    WRITEBACK.case(
        "max-caps-buffered-writes",
        "What a group writes through the page cache reaches the disk no faster than io.max allows.",
        |fixture| {
            // With a limit of 1 MiB/s, then without: in this order, since a disk is written back for the
            // group that owns the first page to become dirty (__inode_attach_wb of fs/fs-writeback.c). That
            // is one which nobody has read: udev reads the first and the last of each new disk.
            let disk = blank(fixture)?;
            let mut probe = fixture.start_in("a", "memory")?;
            let mut with = |limit: &str| -> Result<f64, Error> {
                fixture.write("a", "io.max", &format!("{} wbps={limit}", disk.numbers))?;
                let began = Instant::now();
                // Until all of it was on the disk; never if the probe has ended.
                let written = probe.ask(&format!("write {BUFFERED} {} {UNREAD}", disk.node))?;
                Ok(written.map_or(f64::INFINITY, |_| began.elapsed().as_secs_f64()))
            };
            let held = with("1048576")?;
            Ok(judge_buffered(held, with("max")?))
        },
    ),
    THROTTLE.case(
        "max-caps-requests",
        "A group makes no more requests per second than io.max allows.",
        |fixture| two(fixture, REQUESTS, |capped, free| judge_cap(capped, free, "100 requests/s")),
    ),
    THROTTLE.case(
        "max-leaves-siblings-alone",
        "A limit of one group does not apply to its sibling.",
        |fixture| two(fixture, BYTES, judge_sibling),
    ),
    THROTTLE.case(
        "max-far-above-use-does-nothing",
        "A group below its limit is not slowed down.",
        |fixture| {
            // A reader of 40 blocks per second, with a limit a thousand times as high.
            let disk = blank(fixture)?;
            fixture.make("a")?;
            BYTES.set(fixture, "a", &disk, 1 << 30)?;
            let mut probe = [reader(fixture, "a", &disk, "block=16384 pace=40")?];
            start_reading(&mut probe)?;
            fixture.pause(0.3)?;
            let got = |windows: &[Window]| {
                Interval::of_windows(windows, |window| window.grew[0] / window.seconds / 40.0)
            };
            let mut counts = || Ok(vec![count(&mut probe[0])?]);
            let limited = got(&fixture.windows(6, 0.5, &mut counts)?);
            let evidence =
                format!("limit 1 GiB/s, reading 0.6 MiB/s: the group got {limited} of that");
            if limited.verdict_within(0.85, 1.15) == Verdict::Kept {
                return Ok(Outcome::kept(evidence));
            }
            BYTES.lift(fixture, "a", &disk)?;
            fixture.pause(0.3)?;
            let free = got(&fixture.windows(6, 0.5, &mut counts)?);
            let without = format!("without a limit it got {free}");
            Ok(judge_slow(limited, free).with(evidence).with(without))
        },
    ),
    THROTTLE.case(
        "max-caps-a-mapped-disk",
        "A group reads no more bytes per second from a disk of the device mapper than io.max allows.",
        |fixture| caps_on_top(fixture, Layer::DeviceMapper),
    ),
    THROTTLE.case(
        "max-of-a-mapped-disk-leaves-the-disk-below-alone",
        "A limit on a disk of the device mapper does not apply to the disk below it.",
        |fixture| leaves_below(fixture, Layer::DeviceMapper),
    ),
    THROTTLE.case(
        "max-caps-an-md-array",
        "A group reads no more bytes per second from an md array than io.max allows.",
        |fixture| caps_on_top(fixture, Layer::Md),
    ),
    THROTTLE.case(
        "max-of-an-md-array-leaves-its-disk-alone",
        "A limit on an md array does not apply to the disk that it consists of.",
        |fixture| leaves_below(fixture, Layer::Md),
    ),
];

/// The capped quantity and its limit per second.
#[derive(Debug, Clone, Copy)]
struct Cap {
    /// The key in io.max.
    key: &'static str,
    /// The v1 file.
    file: &'static str,
    limit: u64,
    /// Cost of one block.
    block: u64,
    words: &'static str,
}

const BYTES: Cap = Cap {
    key: "rbps",
    file: "blkio.throttle.read_bps_device",
    limit: 1 << 20,
    block: 32 << 10,
    words: "block=32768 depth=2",
};

const WRITTEN: Cap = Cap {
    key: "wbps",
    file: "blkio.throttle.write_bps_device",
    words: "block=32768 depth=2 write=1",
    ..BYTES
};

const REQUESTS: Cap = Cap {
    key: "riops",
    file: "blkio.throttle.read_iops_device",
    limit: 100,
    block: 1,
    words: "block=4096 depth=2",
};

impl Cap {
    fn set(&self, fixture: &Fixture, group: &str, disk: &Disk, limit: u64) -> Result<(), Error> {
        if fixture.is_v2() {
            let line = format!("{} {}={limit}", disk.numbers, self.key);
            return fixture.write(group, "io.max", &line);
        }
        fixture.write(group, self.file, &format!("{} {limit}", disk.numbers))
    }

    fn lift(&self, fixture: &Fixture, group: &str, disk: &Disk) -> Result<(), Error> {
        let (file, none) = fixture.by_version(
            (self.file, format!("{} 0", disk.numbers)),
            ("io.max", format!("{} {}=max", disk.numbers, self.key)),
        );
        fixture.write(group, file, &none)
    }

    /// A reader's rate relative to the limit.
    fn part(&self, windows: &[Window], index: usize) -> Interval {
        let scale = self.block as f64 / self.limit as f64;
        Interval::of_windows(windows, |window| window.grew[index] * scale / window.seconds)
    }
}

/// Judges a capped group and an uncapped one that read the same disk, both relative to the limit.
fn two(
    fixture: &mut Fixture,
    cap: Cap,
    judge: impl Fn(Interval, Interval) -> Outcome,
) -> Result<Outcome, Stop> {
    let disk = blank(fixture)?;
    two_readers(fixture, cap, [("capped", &disk), ("free", &disk)], judge)
}

/// Limits the group of the first reader on its disk, and judges both relative to the limit.
fn two_readers(
    fixture: &mut Fixture,
    cap: Cap,
    readers: [(&str, &Disk); 2],
    judge: impl Fn(Interval, Interval) -> Outcome,
) -> Result<Outcome, Stop> {
    fixture.make_each(&["capped", "free"])?;
    let start = |(group, disk): &(&str, &Disk)| reader(fixture, group, disk, cap.words);
    let mut probes = readers.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let (group, disk) = readers[0];
    cap.set(fixture, group, disk, cap.limit)?;
    start_reading(&mut probes)?;
    // A new limit starts with the budget of one time slice.
    fixture.pause(0.5)?;
    let counts = || probes.iter_mut().map(count).collect();
    fixture.settle(6, &[0.5], counts, |windows| judge(cap.part(windows, 0), cap.part(windows, 1)))
}

/// A busy host makes a group slower than its limit, never faster.
fn judge_cap(capped: Interval, free: Interval, limit: &str) -> Outcome {
    let evidence = format!(
        "limit {limit}: the capped group got {capped} of that a second, the one without a limit \
         {free}"
    );
    let (verdict, undecided) = match capped.verdict_within(0.0, 1.1) {
        _ if capped.high < 0.6 => (Verdict::Undecided, "the group was far slower than its limit"),
        verdict => (verdict, "its rate varies too much around the limit"),
    };
    Outcome::decided(verdict, evidence, "the group got more than its limit", undecided)
        .void_if(free.mean < 2.0, "it would not have been faster without a limit")
}

/// The sibling must be well above the limit; a host too busy for that shows nothing.
fn judge_sibling(capped: Interval, free: Interval) -> Outcome {
    let evidence = format!(
        "a group capped at 1 MiB/s got {capped} of that, its sibling without a limit {free} of it"
    );
    let slow = "the sibling was not much faster than the limit";
    Outcome::decided(free_of_limit(free), evidence, "the sibling was capped too", slow)
}

/// Whether a rate, relative to a limit, shows that the limit does not apply to it.
fn free_of_limit(rate: Interval) -> Verdict {
    match rate.verdict_within(0.8, 1.2) {
        _ if rate.low > 2.0 => Verdict::Kept,
        Verdict::Kept => Verdict::Broken,
        _ => Verdict::Undecided,
    }
}

/// What a group got of what it wanted that got too little with its limit, and without it.
fn judge_slow(limited: Interval, free: Interval) -> Outcome {
    if free.mean < 0.85 {
        Outcome::void("it could not read as much without a limit, either")
    } else if limited.high < 0.5 {
        Outcome::broken("the group was throttled far below its limit")
    } else {
        Outcome::undecided("its rate varies too much")
    }
}

/// Four seconds at the limit of 1 MiB/s.
const BUFFERED: u64 = 4 << 20;

/// In the middle of the disk.
const UNREAD: u64 = SIZE / 2;

/// A busy host makes both slower, never faster.
fn judge_buffered(held: f64, free: f64) -> Outcome {
    let evidence = format!(
        "4 MiB written through the page cache and synchronized in {held:.2} s with a limit of 1 MiB/s, in \
         {free:.2} s without"
    );
    Outcome::holds(held > 3.0, evidence)
        .void_if(free > 2.0, "it would not have been faster without a limit")
}

/// A disk made by this layer, and the one below it.
fn stacked(fixture: &mut Fixture, layer: Layer) -> Result<[Disk; 2], Stop> {
    if let Some(why) = layer.lacking(fixture.root) {
        return Err(Stop::not_available(why));
    }
    let below = fixture.blank_disk(SIZE)?;
    // The kernel takes no array with the whole name of the case's groups.
    let name = std::process::id().to_string();
    let node = fixture.ledger.stack_disk(fixture.root, layer, &name, &below.name)?;
    Ok([Disk::at(&node)?, Disk::at(&below.node)?])
}

/// Two groups that read the disk on top, one of them capped there.
fn caps_on_top(fixture: &mut Fixture, layer: Layer) -> Result<Outcome, Stop> {
    let [top, _] = stacked(fixture, layer)?;
    two_readers(fixture, BYTES, [("capped", &top), ("free", &top)], |capped, free| {
        judge_cap(capped, free, "1 MiB/s on the disk on top")
    })
}

/// One group that is capped on the disk on top, and reads both.
fn leaves_below(fixture: &mut Fixture, layer: Layer) -> Result<Outcome, Stop> {
    let [top, below] = stacked(fixture, layer)?;
    two_readers(fixture, BYTES, [("capped", &top), ("capped", &below)], judge_below)
}

fn judge_below(top: Interval, below: Interval) -> Outcome {
    let evidence = format!(
        "a group capped at 1 MiB/s on the disk on top got {top} of that there, and {below} of it from \
         the disk below"
    );
    let slow = "the disk below was not much faster than the limit";
    let too = "the limit applies to the disk below, too";
    Outcome::decided(free_of_limit(below), evidence, too, slow)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: Interval = Interval { low: 0.5, mean: 1.1, high: 1.7 };

    fn near(mean: f64) -> Interval {
        Interval { low: mean * 0.98, mean, high: mean * 1.02 }
    }

    #[test]
    fn exceeding_the_limit_is_broken_and_a_slow_disk_is_void() {
        assert_eq!(judge_cap(near(1.0), near(40.0), "1 MiB/s").verdict, Verdict::Kept);
        assert_eq!(judge_cap(near(20.0), near(20.0), "1 MiB/s").verdict, Verdict::Broken);
        assert_eq!(judge_cap(near(0.5), near(0.6), "1 MiB/s").verdict, Verdict::Void);
        assert_eq!(judge_cap(WIDE, near(40.0), "1 MiB/s").verdict, Verdict::Undecided);
        assert_eq!(
            judge_cap(near(0.0), near(40.0), "1 MiB/s").verdict,
            Verdict::Undecided,
            "stopped"
        );
    }

    #[test]
    fn a_capped_sibling_and_throttling_far_below_the_limit_are_broken() {
        assert_eq!(judge_sibling(near(1.0), near(40.0)).verdict, Verdict::Kept);
        assert_eq!(judge_sibling(near(1.0), near(1.0)).verdict, Verdict::Broken);
        assert_eq!(judge_sibling(near(1.0), WIDE).verdict, Verdict::Undecided);
        assert_eq!(judge_slow(near(0.05), near(1.0)).verdict, Verdict::Broken);
        assert_eq!(judge_slow(near(0.6), near(1.0)).verdict, Verdict::Undecided);
        assert_eq!(judge_slow(near(0.05), near(0.1)).verdict, Verdict::Void, "a busy host");
    }

    #[test]
    fn buffered_writes_that_pass_the_limit_are_broken() {
        assert_eq!(judge_buffered(3.9, 0.1).verdict, Verdict::Kept);
        assert_eq!(judge_buffered(0.2, 0.1).verdict, Verdict::Broken);
        assert_eq!(judge_buffered(5.0, 4.0).verdict, Verdict::Void);
    }

    #[test]
    fn a_limit_that_is_ignored_on_top_or_acts_below_is_broken() {
        let capped = |capped, free| judge_cap(near(capped), near(free), "1 MiB/s").verdict;
        assert_eq!(capped(1.0, 40.0), Verdict::Kept);
        // Handed down past the limit, or counted once for each part that a request is split into.
        assert_eq!(capped(40.0, 40.0), Verdict::Broken);
        assert_eq!(capped(2.0, 40.0), Verdict::Broken);
        assert_eq!(judge_below(near(1.0), near(40.0)).verdict, Verdict::Kept);
        assert_eq!(judge_below(near(1.0), near(1.0)).verdict, Verdict::Broken);
        assert_eq!(judge_below(near(1.0), near(1.6)).verdict, Verdict::Undecided);
    }
}
