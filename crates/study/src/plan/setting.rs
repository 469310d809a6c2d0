//! Host settings of a trial, checked against this host.

use crate::{Bindings, DropCaches, Study};
use assay_host::facts::{Available, HostFacts};
use assay_host::knob::{HostSetting, host_setting};
use assay_record::run_folder::SettingRecord;

use crate::plan::refusal::Refusal;

/// A host setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingPlan {
    /// In the form of the record.
    pub record: SettingRecord,
    /// The current value; of choices, the active one.
    pub found: String,
}

impl SettingPlan {
    /// Its entry in the table of settings.
    #[must_use]
    pub fn setting(&self) -> Option<&'static HostSetting> {
        host_setting(&self.record.setting)
    }
}

pub(crate) fn plan_settings(
    study: &Study,
    facts: &HostFacts,
    factors: &Bindings,
    refusals: &mut Vec<Refusal>,
) -> Vec<SettingPlan> {
    let requested: Vec<(&HostSetting, String)> = study
        .settings
        .values
        .iter()
        .filter_map(|(name, value)| {
            // The checker has resolved and checked every value.
            let setting = host_setting(name)?;
            Some((setting, setting.normal(&value.resolve(factors).ok()?.to_string()).ok()?))
        })
        .collect();
    let mut plans = Vec::new();
    for (setting, value) in &requested {
        let rival_is_set =
            requested.iter().any(|(other, text)| Some(other.name) == rival(setting) && text != "0");
        match plan(setting, value, rival_is_set, facts) {
            Ok(plan) => plans.push(plan),
            Err(refusal) => refusals.push(refusal),
        }
    }
    plans
}

fn rival(setting: &HostSetting) -> Option<&'static str> {
    setting.rival().map(|rival| rival.name)
}

fn plan(
    setting: &HostSetting,
    value: &str,
    rival_is_set: bool,
    facts: &HostFacts,
) -> Result<SettingPlan, Refusal> {
    let name = setting.name;
    let current = match facts.settings.get(name) {
        Some(Available::Value(text)) => text,
        Some(Available::NotAvailable(why)) => {
            let remedy = "remove it, or run on a kernel that has it (`assay lab run --kernel`)";
            return Err(Refusal::new(format!("`{name}` cannot be set: {why}"), remedy));
        }
        None => {
            let what = format!("`{name}` cannot be set: the facts of this host do not contain it");
            return Err(Refusal::new(what, "collect the facts with this version"));
        }
    };
    if let Some(offered) = choices(current)
        && !offered.contains(&value)
    {
        let what =
            format!("`{name}` cannot be `{value}`: this kernel offers {}", offered.join(", "));
        return Err(Refusal::new(what, "write one of these"));
    }
    let current = active(current);
    // Only its rival can make it 0, and the study does not set the rival.
    if value == "0" && setting.rival().is_some() && !rival_is_set && current != "0" {
        let rival = rival(setting).unwrap_or_default();
        let what = format!("`{name}` cannot be 0 while it is in effect; its value is {current}");
        return Err(Refusal::new(
            what,
            format!("set `{rival}` too: one of the two is always in effect"),
        ));
    }
    if let Available::NotAvailable(why) = &facts.root
        && current != value
    {
        let what =
            format!("`{name}` needs root, because {} belongs to root; {why}", setting.path());
        return Err(Refusal::new(what, "run the same command with sudo, or remove it"));
    }
    let record = SettingRecord {
        setting: name.to_owned(),
        asked: value.to_owned(),
        path: setting.path(),
        written: value.to_owned(),
        implied: value == "0" && rival_is_set,
    };
    Ok(SettingPlan { record, found: current })
}

/// The choices of `always [madvise] never` or `up smp (concur) max tasks`; `None` for a value without choices.
fn choices(text: &str) -> Option<Vec<&str>> {
    let words = || text.split_whitespace();
    words()
        .any(|word| marked(word).is_some())
        .then(|| words().map(|word| marked(word).unwrap_or(word)).collect())
}

/// The choice in brackets, or the whole text.
fn active(text: &str) -> String {
    text.split_whitespace().find_map(marked).unwrap_or(text.trim()).to_owned()
}

/// The word in brackets, or in parentheses as in debugfs.
fn marked(word: &str) -> Option<&str> {
    let inside = |open, close| word.strip_prefix(open)?.strip_suffix(close);
    inside('[', ']').or_else(|| inside('(', ')'))
}

/// The value to write to drop_caches before each repeat; `None` if nothing is dropped.
pub(crate) fn plan_drop(
    study: &Study,
    facts: &HostFacts,
    factors: &Bindings,
    refusals: &mut Vec<Refusal>,
) -> Option<u8> {
    let scalar = study.settings.drop_caches.as_ref()?.resolve(factors).ok()?;
    let Some(DropCaches::Write(what)) = DropCaches::from_scalar(&scalar) else { return None };
    if let Available::NotAvailable(why) = &facts.root {
        let text =
            format!("`drop_caches` needs root: /proc/sys/vm/drop_caches belongs to root; {why}");
        refusals.push(Refusal::new(text, "run the same command with sudo, or remove it"));
    }
    Some(what)
}
