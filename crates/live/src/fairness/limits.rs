//! Whether limits were reached: bound, touched, or never came near.

use assay_audit::{LimitOf, LimitSetting, Reading};
use assay_host::facts::owner::Owner;
use serde::Serialize;

/// Use from this part of a limit on touches it.
const NEAR: f64 = 0.9;

/// A limit of a rate has no counter that says that it held requests back. Rates from this part on are called bound.
const AT_RATE: f64 = 0.97;

/// Whether a limit acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitState {
    /// It held the group back.
    Bound,
    /// The group came near it.
    Touched,
    /// It did not.
    NeverNear,
    /// The counters are missing.
    NotAvailable,
}

impl LimitState {
    /// Its words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Bound => "bound",
            Self::Touched => "touched",
            Self::NeverNear => "never came near",
            Self::NotAvailable => "not available",
        }
    }
}

/// The counters of a limit at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Counts {
    /// How often it held the group back; periods of the quota, failed charges, events.
    pub hits: Option<u64>,
    /// Periods of the quota in which the group ran.
    pub periods: Option<u64>,
    /// Throttled time in seconds, of all CPUs.
    pub held_s: Option<f64>,
    /// What is used now: bytes, tasks.
    pub level: Option<f64>,
    /// What has been used so far: seconds of CPU, bytes, requests.
    pub total: Option<f64>,
}

/// A limit that is watched.
#[derive(Debug, Clone)]
pub struct LimitWatch {
    /// The limit.
    pub setting: LimitSetting,
    /// What `hits`, `periods` and `held_s` grew by so far.
    hits: Option<u64>,
    periods: Option<u64>,
    held_s: Option<f64>,
    /// The counters last seen.
    last: Counts,
    last_s: f64,
    most: Option<f64>,
}

/// What became of a limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LimitRow {
    /// The group.
    pub group: String,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// The file with the limit.
    pub reading: Reading,
    /// What it is of.
    pub of: LimitOf,
    /// Whether it acted.
    pub state: LimitState,
    /// The largest part of the limit that was used, between or at two looks.
    pub most: Option<f64>,
    /// How often it held the group back.
    pub hits: Option<u64>,
    /// Of how many periods of the quota.
    pub periods: Option<u64>,
    /// Throttled time in seconds, of all CPUs.
    pub held_s: Option<f64>,
}

impl LimitWatch {
    /// Begins with the counters of this moment.
    #[must_use]
    pub fn new(setting: LimitSetting, at_s: f64, counts: Counts) -> Self {
        let mut watch = Self {
            setting,
            hits: counts.hits.map(|_| 0),
            periods: counts.periods.map(|_| 0),
            held_s: counts.held_s.map(|_| 0.0),
            last: counts,
            last_s: at_s,
            most: None,
        };
        watch.use_up(counts.level);
        watch
    }

    /// Adds the counters of a later moment.
    pub fn add(&mut self, at_s: f64, counts: Counts) {
        self.use_up(counts.level);
        let seconds = at_s - self.last_s;
        if let (Some(before), Some(now), true) = (self.last.total, counts.total, seconds > 0.0) {
            self.use_up(Some(grown_s(before, now) / seconds));
        }
        self.count(&counts);
        self.last_s = at_s;
    }

    /// Sums up what the counters grew by. A group that is gone at one look may be back at the next one, so its last counters
    /// stay; but not `total`, which is a rate only between two looks.
    fn count(&mut self, now: &Counts) {
        let last = self.last;
        self.hits = sum(self.hits, last.hits, now.hits);
        self.periods = sum(self.periods, last.periods, now.periods);
        if let (Some(before), Some(after)) = (last.held_s, now.held_s) {
            self.held_s = Some(self.held_s.unwrap_or(0.0) + grown_s(before, after));
        }
        self.last = Counts {
            hits: now.hits.or(last.hits),
            periods: now.periods.or(last.periods),
            held_s: now.held_s.or(last.held_s),
            ..*now
        };
    }

    fn use_up(&mut self, used: Option<f64>) {
        if let Some(used) = used.filter(|_| self.setting.amount > 0.0) {
            let part = used / self.setting.amount;
            self.most = Some(self.most.map_or(part, |most| most.max(part)));
        }
    }

    /// What became of it.
    #[must_use]
    pub fn row(&self) -> LimitRow {
        LimitRow {
            group: self.setting.group.clone(),
            owner: self.setting.owner.clone(),
            reading: self.setting.reading.clone(),
            of: self.setting.of.clone(),
            state: self.state(),
            most: self.most,
            hits: self.hits,
            periods: self.periods,
            held_s: self.held_s,
        }
    }

    fn state(&self) -> LimitState {
        let is_rate = matches!(self.setting.of, LimitOf::Disk(_));
        match (self.hits, self.most) {
            (Some(hits), _) if hits > 0 => LimitState::Bound,
            (_, Some(most)) if is_rate && most >= AT_RATE => LimitState::Bound,
            (_, Some(most)) if most >= NEAR => LimitState::Touched,
            (_, Some(_)) => LimitState::NeverNear,
            (_, None) => LimitState::NotAvailable,
        }
    }
}

/// What a counter grew by so far, with the growth between two looks. One that is smaller than before began anew with its
/// group, as that of a service that was restarted does: then all that it says is new.
fn sum(so_far: Option<u64>, before: Option<u64>, now: Option<u64>) -> Option<u64> {
    let (Some(before), Some(now)) = (before, now) else { return so_far };
    let grown = now.checked_sub(before).unwrap_or(now);
    Some(so_far.unwrap_or(0).saturating_add(grown))
}

/// The growth of a counter that is no integer; see [`sum`].
fn grown_s(before: f64, now: f64) -> f64 {
    if now < before { now } else { now - before }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(of: LimitOf, amount: f64) -> LimitSetting {
        let reading = Reading { file: "/g/limit".to_owned(), value: amount.to_string() };
        let (group, directory) = ("/g".to_owned(), "/g".to_owned());
        LimitSetting { group, owner: None, reading, of, amount, is_v2: true, directory }
    }

    fn quota(throttled: u64, seconds: f64) -> LimitRow {
        let counts = |hits, total| Counts {
            hits: Some(hits),
            periods: Some(hits + 50),
            held_s: Some(0.0),
            total: Some(total),
            level: None,
        };
        let mut watch = LimitWatch::new(setting(LimitOf::Cpu, 0.5), 10.0, counts(7, 3.0));
        watch.add(15.0, counts(7 + throttled, 3.0 + seconds));
        watch.row()
    }

    #[test]
    fn a_quota_is_bound_by_its_counter_and_touched_by_use() {
        let bound = quota(40, 2.5);
        assert_eq!(
            (bound.state, bound.hits, bound.periods),
            (LimitState::Bound, Some(40), Some(40))
        );
        assert_eq!(quota(0, 2.4).state, LimitState::Touched);
        let far = quota(0, 0.5);
        assert_eq!((far.state, far.most), (LimitState::NeverNear, Some(0.2)));
    }

    #[test]
    fn a_group_that_was_restarted_counts_from_zero() {
        let counts = |hits, held_s, total| Counts {
            hits: Some(hits),
            periods: Some(10 * hits),
            held_s: Some(held_s),
            total: Some(total),
            level: None,
        };
        let mut watch = LimitWatch::new(setting(LimitOf::Cpu, 0.5), 0.0, counts(100, 8.0, 50.0));
        watch.add(5.0, counts(110, 9.0, 50.5));
        watch.add(10.0, counts(4, 0.5, 2.5));
        watch.add(15.0, Counts::default());
        watch.add(20.0, counts(5, 0.75, 2.5));
        let row = watch.row();
        assert_eq!((row.state, row.hits, row.periods), (LimitState::Bound, Some(15), Some(150)));
        assert_eq!((row.held_s, row.most), (Some(1.75), Some(1.0)));
    }

    #[test]
    fn memory_is_judged_by_its_highest_use() {
        let counts = |level| Counts { hits: Some(3), level: Some(level), ..Counts::default() };
        let mut watch = LimitWatch::new(setting(LimitOf::Memory, 100.0), 0.0, counts(20.0));
        watch.add(5.0, counts(95.0));
        watch.add(10.0, counts(10.0));
        assert_eq!((watch.row().state, watch.row().most), (LimitState::Touched, Some(0.95)));
    }

    #[test]
    fn a_rate_at_its_limit_is_bound_and_missing_counters_are_no_zero() {
        let of = assay_audit::DiskRate { device: "8:0".to_owned(), is_read: true, is_bytes: true };
        let counts = |total| Counts { total: Some(total), ..Counts::default() };
        let mut watch = LimitWatch::new(setting(LimitOf::Disk(of), 1000.0), 0.0, counts(0.0));
        watch.add(2.0, counts(1990.0));
        assert_eq!(watch.row().state, LimitState::Bound);
        let none = LimitWatch::new(setting(LimitOf::Pids, 5.0), 0.0, Counts::default());
        assert_eq!((none.row().state, none.row().most), (LimitState::NotAvailable, None));
    }
}
