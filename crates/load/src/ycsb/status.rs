//! The status line: what happened since the last one.

use std::sync::atomic::Ordering;

use assay_kernel::clock::monotonic_ns;
use jiff::Zoned;

use super::client::Desk;
use super::java_text::{remaining, two_places};
use super::measure::{Book, Kind};
use super::settings::Settings;
use crate::output::Reporter;

/// Collects the books of all threads, and says how far they are.
pub(super) struct StatusLine<'r> {
    settings: &'r Settings,
    desks: &'r [Desk],
    began: u64,
    last: (u64, u64),
    total: Book,
    lines: Vec<String>,
}

impl<'r> StatusLine<'r> {
    pub(super) fn new(settings: &'r Settings, desks: &'r [Desk], began: u64) -> Self {
        Self { settings, desks, began, last: (began, 0), total: Book::new(), lines: Vec::new() }
    }

    /// Takes what the threads have measured since the last time.
    fn collect(&self) -> Book {
        let mut interval = Book::new();
        for desk in self.desks {
            interval.take(&mut desk.book());
        }
        interval
    }

    /// Says a status line.
    pub(super) fn line(&mut self, talk: &dyn Reporter) {
        let done = self.desks.iter().map(|desk| desk.done.load(Ordering::Relaxed)).sum();
        let now = monotonic_ns();
        let mut interval = self.collect();
        let text = self.text(now, done, &interval);
        self.total.take(&mut interval);
        self.last = (now, done);
        talk.say(&text);
        // YCSB prints those of a time series on stdout as well.
        if matches!(self.settings.measuring.rules.kind, Kind::Timeline { .. }) {
            self.lines.push(text);
        }
    }

    fn text(&self, now: u64, done: u64, interval: &Book) -> String {
        let milliseconds = |from: u64| ((now - from) / 1_000_000) as f64;
        let so_far = milliseconds(self.began);
        let (last, before) = self.last;
        let left = self.settings.operations.saturating_sub(done);
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
        if left != 0 {
            let rate = 1000.0 * done as f64 / so_far;
            // Before the first operation Java's division gives infinity, which becomes the
            // largest number; here that is said by the 0 seconds of YCSB's very first line.
            let seconds = if rate > 0.0 { (left as f64 / rate).ceil() } else { 0.0 };
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

    /// The last line, where lines were asked for; everything that was measured, and the lines that
    /// belong on stdout.
    pub(super) fn finish(mut self, talk: &dyn Reporter) -> (Book, Vec<String>) {
        if self.settings.status.is_some() {
            self.line(talk);
        }
        let mut rest = self.collect();
        self.total.take(&mut rest);
        (self.total, self.lines)
    }
}
