//! iocost with a model of one hundred reads and ten writes a second, as throtl/008 of blktests has it.

use assay_kernel::Error;

use super::disk::{Disk, count, paced, reader, start_reading};
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::outcome::{Outcome, Stop, Verdict};
use crate::windows::Window;

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
    let Some(mount) = fixture.tree().mount("io").map(std::path::Path::to_owned) else {
        return Err(Stop::not_available("no hierarchy has the controller io"));
    };
    let (root, numbers) = (fixture.root().clone(), disk.numbers);
    let mut write = |file: &str, value: String, inverse: String| -> Result<(), Error> {
        fixture.ledger().write_with_inverse(&root, &mount.join(file), &value, &inverse)
    };
    let on = format!("{numbers} enable={} ctrl=user min=100.00 max=100.00", u8::from(enable));
    write("io.cost.qos", on, format!("{numbers} enable=0"))?;
    // The model disappears with the device.
    let model = format!("{numbers} ctrl=user model=linear {model}");
    write("io.cost.model", model, format!("{numbers} ctrl=auto"))?;
    Ok(())
}

fn rates(fixture: &mut Fixture, rate: Rate, enable: bool) -> Result<Vec<Window>, Stop> {
    let disk = paced(fixture, "none", &[])?;
    let model =
        "rbps=1048576000 rseqiops=100 rrandiops=100 wbps=1048576000 wseqiops=10 wrandiops=10";
    configure(fixture, &disk, enable, model)?;
    fixture.make("a")?;
    let mut probe = reader(fixture, "a", &disk, rate.probe)?;
    start_reading(&mut probe)?;
    // What is in flight at the start is a budget of its own.
    fixture.pause(1.5)?;
    Ok(fixture.windows(6, 0.6, || Ok(vec![count(&mut probe)?]))?)
}

pub(super) fn reads(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    Ok(judge(&rates(fixture, READS, true)?, READS))
}

pub(super) fn reads_off(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    Ok(judge_off(&rates(fixture, READS, false)?, READS))
}

pub(super) fn writes(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    Ok(judge(&rates(fixture, WRITES, true)?, WRITES))
}

pub(super) fn writes_off(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    Ok(judge_off(&rates(fixture, WRITES, false)?, WRITES))
}

fn served(windows: &[Window]) -> Interval {
    Interval::of_mean(&windows.iter().map(|w| w.grew[0] / w.seconds).collect::<Vec<f64>>())
}

fn judge(windows: &[Window], rate: Rate) -> Outcome {
    let served = served(windows);
    let evidence =
        format!("a model of {} {} a second: {served:.1} were served", rate.allowed, rate.words);
    match served.verdict_within(rate.least, rate.most) {
        Verdict::Kept => Outcome::kept(evidence),
        // A machine too busy for them serves fewer, never more.
        Verdict::Broken if served.low > rate.most => {
            Outcome::broken("more was served than the model allows").with(evidence)
        }
        _ => Outcome::undecided("the rate is not near that of the model").with(evidence),
    }
}

fn judge_off(windows: &[Window], rate: Rate) -> Outcome {
    let served = served(windows);
    let evidence = format!(
        "the same model with enable=0: {served:.1} {} a second, the model has {}",
        rate.words, rate.allowed
    );
    match served.verdict_within(2.0 * rate.allowed, f64::INFINITY) {
        Verdict::Kept => Outcome::kept(evidence),
        _ if served.verdict_within(rate.least, rate.most) == Verdict::Kept => {
            Outcome::broken("a model that is switched off limits").with(evidence)
        }
        _ => Outcome::undecided("the disk is hardly faster than the model").with(evidence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rate: f64) -> Vec<Window> {
        (0..6).map(|_| Window { seconds: 1.0, grew: vec![rate] }).collect()
    }

    #[test]
    fn a_model_that_does_not_limit_or_limits_when_off_is_broken() {
        assert_eq!(judge(&at(101.0), READS).verdict, Verdict::Kept);
        assert_eq!(judge(&at(4000.0), READS).verdict, Verdict::Broken);
        assert_eq!(judge(&at(60.0), READS).verdict, Verdict::Undecided);
        assert_eq!(judge_off(&at(4000.0), READS).verdict, Verdict::Kept);
        assert_eq!(judge_off(&at(100.0), READS).verdict, Verdict::Broken);
        assert_eq!(judge_off(&at(60.0), READS).verdict, Verdict::Undecided);
    }

    #[test]
    fn writes_that_are_served_like_reads_are_broken() {
        assert_eq!(judge(&at(10.0), WRITES).verdict, Verdict::Kept);
        // A model whose reads are taken for writes, too.
        assert_eq!(judge(&at(100.0), WRITES).verdict, Verdict::Broken);
        assert_eq!(judge_off(&at(10.0), WRITES).verdict, Verdict::Broken);
        assert_eq!(judge_off(&at(900.0), WRITES).verdict, Verdict::Kept);
    }
}
