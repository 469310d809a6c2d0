//! The status line: progress since the previous one.

use std::sync::atomic::Ordering;

use assay_sys::kernel::clock::monotonic_ns;
use jiff::Zoned;

use super::client::ThreadStats;
use super::java_text::{remaining, two_places};
use super::measure::{Kind, Measurements};
use super::settings::Settings;
use crate::output::Reporter;

/// Collects the measurements of all threads and prints their progress.
pub(super) struct StatusLine<'r> {
    settings: &'r Settings,
    thread_stats: &'r [ThreadStats],
    began: u64,
    last: (u64, u64),
    total: Measurements,
    lines: Vec<String>,
}

impl<'r> StatusLine<'r> {
    pub(super) fn new(settings: &'r Settings, thread_stats: &'r [ThreadStats], began: u64) -> Self {
        Self {
            settings,
            thread_stats,
            began,
            last: (began, 0),
            total: Measurements::new(),
            lines: Vec::new(),
        }
    }

    /// Takes the measurements made since the last call.
    fn collect(&self) -> Measurements {
        let mut interval = Measurements::new();
        for stats in self.thread_stats {
            interval.merge(&mut stats.measurements());
        }
        interval
    }

    /// Prints a status line.
    pub(super) fn line(&mut self, reporter: &dyn Reporter) {
        let done = self.thread_stats.iter().map(|stats| stats.done.load(Ordering::Relaxed)).sum();
        let now = monotonic_ns();
        let mut interval = self.collect();
        let text = self.text(now, done, &interval);
        self.total.merge(&mut interval);
        self.last = (now, done);
        reporter.line(&text);
        // YCSB also prints those of a time series on stdout.
        if matches!(self.settings.measuring.rules.kind, Kind::Timeline { .. }) {
            self.lines.push(text);
        }
    }

    fn text(&self, now: u64, done: u64, interval: &Measurements) -> String {
        let milliseconds = |from: u64| ((now - from) / 1_000_000) as f64;
        let so_far = milliseconds(self.began);
        let (last, before) = self.last;
        let remaining_operations = self.settings.operations.saturating_sub(done);
        let mut text = format!(
            "{}{} {} sec: {done} operations; ",
            self.settings.label,
            Zoned::now().strftime("%Y-%m-%d %H:%M:%S:%3f"),
            (so_far / 1000.0) as u64
        );
        if done != 0 {
            let rate = 1000.0 * (done - before) as f64 / milliseconds(last);
            text += &format!("{} current ops/sec; ", two_places(rate));
        }
        if remaining_operations != 0 {
            let rate = 1000.0 * done as f64 / so_far;
            // Before the first operation Java's division gives infinity, which becomes the largest
            // number; here it is printed as the 0 seconds of YCSB's very first line.
            let seconds =
                if rate > 0.0 { (remaining_operations as f64 / rate).ceil() } else { 0.0 };
            text += &format!("est completion in {}", remaining(seconds as u64));
        }
        for metric in interval.metrics(&self.settings.measuring.rules) {
            if let Some(series) = metric.series {
                text += &series.summary(&metric.name);
                text.push(' ');
            }
        }
        text
    }

    /// Prints the last line, if enabled; returns all measurements, and the lines for stdout.
    pub(super) fn finish(mut self, reporter: &dyn Reporter) -> (Measurements, Vec<String>) {
        if self.settings.status.is_some() {
            self.line(reporter);
        }
        let mut rest = self.collect();
        self.total.merge(&mut rest);
        (self.total, self.lines)
    }
}
