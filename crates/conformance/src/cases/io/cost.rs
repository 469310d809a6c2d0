//! iocost with a model of one hundred reads a second, as throtl/008 of blktests has it.

use assay_kernel::Error;

use super::disk::{Disk, count, reader, scheduled, start_reading};
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::outcome::{Outcome, Stop, Verdict};
use crate::windows::Window;

/// Reads per second that the model allows.
const LIMIT: f64 = 100.0;

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

fn rates(fixture: &mut Fixture, enable: bool) -> Result<Vec<Window>, Stop> {
    let disk = scheduled(fixture, "none", &[])?;
    let model =
        "rbps=1048576000 rseqiops=100 rrandiops=100 wbps=1048576000 wseqiops=10 wrandiops=10";
    configure(fixture, &disk, enable, model)?;
    fixture.make("a")?;
    let mut probe = reader(fixture, "a", &disk, "block=4096 depth=64")?;
    start_reading(&mut probe)?;
    // What is in flight at the start is a budget of its own.
    fixture.pause(1.5)?;
    Ok(fixture.windows(6, 1.0, || Ok(vec![count(&mut probe)?]))?)
}

pub(super) fn limits(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    Ok(judge(&rates(fixture, true)?))
}

pub(super) fn off(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    Ok(judge_off(&rates(fixture, false)?))
}

fn rate(windows: &[Window]) -> Interval {
    Interval::of_mean(&windows.iter().map(|w| w.grew[0] / w.seconds).collect::<Vec<f64>>())
}

/// The bounds are those of throtl/008.
fn judge(windows: &[Window]) -> Outcome {
    let rate = rate(windows);
    let evidence = format!("a model of {LIMIT} reads a second: {rate:.1} were served");
    match rate.verdict_within(0.9 * LIMIT, 1.1 * LIMIT) {
        Verdict::Kept => Outcome::kept(evidence),
        // A machine too busy to read serves fewer, never more.
        Verdict::Broken if rate.low > 1.1 * LIMIT => {
            Outcome::broken("more was served than the model allows").with(evidence)
        }
        _ => Outcome::undecided("the rate is not near that of the model").with(evidence),
    }
}

fn judge_off(windows: &[Window]) -> Outcome {
    let rate = rate(windows);
    let evidence =
        format!("the same model with enable=0: {rate:.1} reads a second, the model has {LIMIT}");
    match rate.verdict_within(2.0 * LIMIT, f64::INFINITY) {
        Verdict::Kept => Outcome::kept(evidence),
        _ if (0.9..1.1).contains(&(rate.mean / LIMIT)) => {
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
        assert_eq!(judge(&at(101.0)).verdict, Verdict::Kept);
        assert_eq!(judge(&at(4000.0)).verdict, Verdict::Broken);
        assert_eq!(judge(&at(60.0)).verdict, Verdict::Undecided);
        assert_eq!(judge_off(&at(4000.0)).verdict, Verdict::Kept);
        assert_eq!(judge_off(&at(100.0)).verdict, Verdict::Broken);
        assert_eq!(judge_off(&at(60.0)).verdict, Verdict::Undecided);
    }
}
