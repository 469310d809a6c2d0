//! Settings of the host: written through the ledger for the duration of a repeat, read back, and read again
//! at its end; and dropping caches, which cannot be restored.

use std::path::Path;
use std::time::{Duration, Instant};

use assay_host::facts::Available;
use assay_host::knob::SideEffect;
use assay_record::run_folder::{Dropped, SettingReading};
use assay_study::plan::{SettingPlan, Trial};
use assay_sys::kernel::parse::{choice, keyed};
use assay_sys::kernel::{Error, Root, filesystem, signal};

use crate::runner::context::Context;

/// File that drops caches (Documentation/admin-guide/sysctl/vm.rst).
const DROP: &str = "/proc/sys/vm/drop_caches";

/// Writes every setting of the trial and returns the previous values.
pub(crate) fn set_up(
    context: &mut Context,
    trial: &Trial,
) -> Result<Vec<Available<String>>, Error> {
    let before = read(&context.root, trial);
    for plan in trial.settings.iter().filter(|plan| !plan.record.implied) {
        set(context, plan)?;
    }
    Ok(before)
}

fn set(context: &mut Context, plan: &SettingPlan) -> Result<(), Error> {
    let (root, ledger) = (&context.root, &mut context.ledger);
    let (path, value) = (Path::new(&plan.record.path), &plan.record.written);
    match plan.setting().map(|setting| (setting.effect, setting.rival())) {
        Some((SideEffect::Zeroes(_), Some(rival))) => {
            ledger.write_one_of(root, path, value, Path::new(&rival.path()))
        }
        Some((SideEffect::Recomputes(other), _)) => {
            // Restored after this one: the kernel's own value must be written first.
            ledger.keep_file(root, Path::new(other))?;
            ledger.write_file(root, path, value)
        }
        _ => ledger.write_file(root, path, value),
    }
}

/// Reads every setting of the trial; of a list of choices the active one.
pub(crate) fn read(root: &Root, trial: &Trial) -> Vec<Available<String>> {
    let read = |plan: &SettingPlan| match root.read(&plan.record.path) {
        Ok(text) => Available::Value(choice::active(&text).to_owned()),
        Err(error) => Available::NotAvailable(error.to_string()),
    };
    trial.settings.iter().map(read).collect()
}

/// Combines the readings before, after writing and at the end.
pub(crate) fn readings(
    trial: &Trial,
    before: Vec<Available<String>>,
    at_start: Vec<Available<String>>,
    at_end: Vec<Available<String>>,
) -> Vec<SettingReading> {
    let values = before.into_iter().zip(at_start).zip(at_end);
    let settings = trial.settings.iter().zip(values);
    settings
        .map(|(plan, ((before, at_start), at_end))| SettingReading {
            setting: plan.record.setting.clone(),
            found: before,
            at_start,
            at_end,
            drift: None,
        })
        .collect()
}

/// Time limit for writing back all dirty pages of a host.
const LONGEST_SYNC: Duration = Duration::from_secs(900);

/// Writes back dirty pages, drops caches, and returns how much was freed.
pub(crate) fn drop_caches(root: &Root, what: u8) -> Result<Dropped, Error> {
    let began = Instant::now();
    if root.is_real() {
        let goes_on = |elapsed| elapsed < LONGEST_SYNC && !signal::interrupted_twice();
        if !filesystem::sync_all(goes_on) {
            let hint = format!(
                "not done after {:?}: a disk hangs, or there is no room for a thread",
                began.elapsed()
            );
            return Err(Error::unexpected("sync before a write to", Path::new(DROP), hint));
        }
    }
    let before_bytes = cached(root);
    root.write(DROP, &what.to_string())?;
    Ok(Dropped {
        what,
        seconds: began.elapsed().as_secs_f64(),
        before_bytes,
        after_bytes: cached(root),
    })
}

/// Size of the page cache and of the kernel's reclaimable objects.
fn cached(root: &Root) -> Available<u64> {
    let text = match root.read("/proc/meminfo") {
        Ok(text) => text,
        Err(error) => return Available::NotAvailable(error.to_string()),
    };
    let amount = |key| keyed::kibibytes(&text, key);
    match amount("Cached").zip(amount("SReclaimable")) {
        Some((cached, slab)) => Available::Value(cached + slab),
        None => Available::NotAvailable("/proc/meminfo has no such fields".to_owned()),
    }
}

#[cfg(test)]
mod tests;
