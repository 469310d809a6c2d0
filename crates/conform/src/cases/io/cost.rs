//! iocost with a model of one hundred reads and ten writes a second, as throtl/008 of blktests has it.

use super::*;

pub(crate) const CASES: &[Case] = &[
    COST.case(
        "iocost-serves-what-its-model-allows",
        "With min = max = 100 and a model of 100 reads a second, 90 to 110 are served.",
        |fixture| rates(fixture, READS, true),
    ),
    COST.case(
        "iocost-that-is-off-limits-nothing",
        "The same model with enable=0 limits no reads.",
        |fixture| rates(fixture, READS, false),
    ),
    COST.case(
        "iocost-serves-writes-as-its-model-allows",
        "With min = max = 100 and a model of 10 writes a second, 8 to 12 are served.",
        |fixture| rates(fixture, WRITES, true),
    ),
    COST.case(
        "iocost-that-is-off-limits-no-writes",
        "The same model with enable=0 limits no writes.",
        |fixture| rates(fixture, WRITES, false),
    ),
];

/// What the model allows a second of one kind, and the bounds of throtl/008 around it.
#[derive(Debug, Clone, Copy)]
struct Rate {
    words: &'static str,
    allowed: f64,
    least: f64,
    most: f64,
    /// Arguments of the probe. iocost holds up the thread that asks for more than the model allows (`ioc_rqos_throttle` of
    /// block/blk-iocost.c), and blocks are counted in between: the more at once, the coarser.
    probe: &'static str,
}

const READS: Rate =
    Rate { words: "reads", allowed: 100.0, least: 90.0, most: 110.0, probe: "block=4096 depth=4" };

const WRITES: Rate = Rate {
    words: "writes",
    allowed: 10.0,
    least: 8.0,
    most: 12.0,
    probe: "block=4096 depth=4 write=1",
};

/// Writes both files of iocost for a disk: `qos` after `enable=`, and a linear model.
pub(super) fn configure(
    fixture: &mut Fixture,
    disk: &Disk,
    enable: bool,
    model: &str,
) -> Result<(), Stop> {
    let Some(mount) = fixture.tree.mount("io").map(Path::to_owned) else {
        return Err(Stop::not_available("no hierarchy has the controller io"));
    };
    let (root, numbers) = (fixture.root, disk.numbers);
    let mut write = |file: &str, value: String, inverse: String| -> Result<(), Error> {
        fixture.ledger.write_with_inverse(root, &mount.join(file), &value, &inverse)
    };
    let on = format!("{numbers} enable={} ctrl=user min=100.00 max=100.00", u8::from(enable));
    write("io.cost.qos", on, format!("{numbers} enable=0"))?;
    // The model disappears with the device.
    let model = format!("{numbers} ctrl=user model=linear {model}");
    write("io.cost.model", model, format!("{numbers} ctrl=auto"))?;
    Ok(())
}

/// Judges what is served of this kind, with a model that is enabled or not.
fn rates(fixture: &mut Fixture, rate: Rate, enable: bool) -> Result<Outcome, Stop> {
    let disk = paced(fixture, "none", &[])?;
    let model =
        "rbps=1048576000 rseqiops=100 rrandiops=100 wbps=1048576000 wseqiops=10 wrandiops=10";
    configure(fixture, &disk, enable, model)?;
    fixture.make("a")?;
    let mut probe = [reader(fixture, "a", &disk, rate.probe)?];
    start_reading(&mut probe)?;
    // What is in flight at the start is a budget of its own.
    fixture.pause(1.5)?;
    let windows = fixture.windows(6, 0.6, || Ok(vec![count(&mut probe[0])?]))?;
    Ok(if enable { judge_on(&windows, rate) } else { judge_off(&windows, rate) })
}

fn served(windows: &[Window]) -> Interval {
    Interval::of_windows(windows, |window| window.grew[0] / window.seconds)
}

fn judge_on(windows: &[Window], rate: Rate) -> Outcome {
    let served = served(windows);
    let evidence =
        format!("a model of {} {} a second: {served:.1} were served", rate.allowed, rate.words);
    // A machine too busy for them serves fewer, never more.
    let verdict = match served.verdict_within(rate.least, rate.most) {
        Verdict::Broken if served.low <= rate.most => Verdict::Undecided,
        verdict => verdict,
    };
    let broken = "more was served than the model allows";
    Outcome::decided(verdict, evidence, broken, "the rate is not near that of the model")
}

fn judge_off(windows: &[Window], rate: Rate) -> Outcome {
    let served = served(windows);
    let evidence = format!(
        "the same model with enable=0: {served:.1} {} a second, the model has {}",
        rate.words, rate.allowed
    );
    let verdict = match served.verdict_within(2.0 * rate.allowed, f64::INFINITY) {
        Verdict::Kept => Verdict::Kept,
        _ if served.verdict_within(rate.least, rate.most) == Verdict::Kept => Verdict::Broken,
        _ => Verdict::Undecided,
    };
    let broken = "a model that is switched off limits";
    Outcome::decided(verdict, evidence, broken, "the disk is hardly faster than the model")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rate: f64) -> Vec<Window> {
        (0..6).map(|_| Window { seconds: 1.0, grew: vec![rate] }).collect()
    }

    #[test]
    fn a_model_that_does_not_limit_or_limits_when_off_is_broken() {
        assert_eq!(judge_on(&at(101.0), READS).verdict, Verdict::Kept);
        assert_eq!(judge_on(&at(4000.0), READS).verdict, Verdict::Broken);
        assert_eq!(judge_on(&at(60.0), READS).verdict, Verdict::Undecided);
        assert_eq!(judge_off(&at(4000.0), READS).verdict, Verdict::Kept);
        assert_eq!(judge_off(&at(100.0), READS).verdict, Verdict::Broken);
        assert_eq!(judge_off(&at(60.0), READS).verdict, Verdict::Undecided);
    }

    #[test]
    fn writes_that_are_served_like_reads_are_broken() {
        assert_eq!(judge_on(&at(10.0), WRITES).verdict, Verdict::Kept);
        // A model whose reads are taken for writes, too.
        assert_eq!(judge_on(&at(100.0), WRITES).verdict, Verdict::Broken);
        assert_eq!(judge_off(&at(10.0), WRITES).verdict, Verdict::Broken);
        assert_eq!(judge_off(&at(900.0), WRITES).verdict, Verdict::Kept);
    }
}
