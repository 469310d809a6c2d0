//! The measurements of one metric in the form selected by `measurementtype`, and their output
//! lines.

use super::buckets::Buckets;
use super::hdr::Hdr;
use super::raw::Raw;
use super::timeline::Timeline;

/// `measurementtype` and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ycsb) enum Kind {
    /// HdrHistogram with three digits.
    Hdr,
    /// Buckets of one millisecond; their number.
    Buckets(usize),
    /// Every latency with its time.
    Raw,
    /// Mean latencies of time spans in milliseconds, from a start in nanoseconds on.
    Timeline { granularity: u64, start: u64 },
    /// Two kinds at once.
    Two(Box<Kind>, Box<Kind>),
}

impl Kind {
    /// Sets the start of the run.
    pub(in crate::ycsb) fn begin(&mut self, at: u64) {
        match self {
            Self::Timeline { start, .. } => *start = at,
            Self::Two(first, second) => {
                first.begin(at);
                second.begin(at);
            }
            _ => {}
        }
    }
}

/// The value of a line. Java prints integers and other numbers differently.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::ycsb) enum Number {
    Whole(i64),
    Double(f64),
}

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        Self::Whole(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// A line without the name of the metric: measurement and value.
pub(in crate::ycsb) type Line = (String, Number);

/// How results are presented.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::ycsb) struct Presentation {
    /// `hdrhistogram.percentiles`.
    pub(in crate::ycsb) percentiles: Vec<f64>,
    /// `measurement.histogram.verbose`.
    pub(in crate::ycsb) verbose: bool,
    /// `measurement.raw.no_summary`.
    pub(in crate::ycsb) no_summary: bool,
}

/// The measurements of a metric.
#[derive(Debug)]
pub(in crate::ycsb) enum Series {
    Hdr(Hdr),
    Buckets(Buckets),
    Raw(Raw),
    Timeline(Timeline),
    Two(Box<Series>, Box<Series>),
}

impl Series {
    pub(super) fn new(kind: &Kind) -> Self {
        match kind {
            Kind::Hdr => Self::Hdr(Hdr::new()),
            Kind::Buckets(count) => Self::Buckets(Buckets::new(*count)),
            Kind::Raw => Self::Raw(Raw::default()),
            Kind::Timeline { granularity, start } => {
                Self::Timeline(Timeline::new(*granularity, *start))
            }
            Kind::Two(first, second) => {
                Self::Two(Box::new(Self::new(first)), Box::new(Self::new(second)))
            }
        }
    }

    /// An empty series.
    pub(in crate::ycsb) fn empty(kind: &Kind) -> Self {
        Self::new(kind)
    }

    /// Records a latency in microseconds that ended at `now`, in nanoseconds.
    pub(super) fn record(&mut self, latency: u64, now: u64) {
        match self {
            Self::Hdr(hdr) => hdr.record(latency),
            Self::Buckets(buckets) => buckets.record(latency),
            Self::Raw(raw) => raw.record(latency, now),
            Self::Timeline(timeline) => timeline.record(latency, now),
            Self::Two(first, second) => {
                first.record(latency, now);
                second.record(latency, now);
            }
        }
    }

    /// Adds a series of the same kind, which is left empty.
    pub(super) fn merge(&mut self, other: &mut Self) {
        match (self, other) {
            (Self::Hdr(own), Self::Hdr(other)) => own.merge(other),
            (Self::Buckets(own), Self::Buckets(other)) => own.merge(other),
            (Self::Raw(own), Self::Raw(other)) => own.merge(other),
            (Self::Timeline(own), Self::Timeline(other)) => own.merge(other),
            (Self::Two(first, second), Self::Two(other_first, other_second)) => {
                first.merge(other_first);
                second.merge(other_second);
            }
            // All series of one run are of the same kind.
            _ => {}
        }
    }

    /// The parts with the prefix of their names in the output.
    pub(in crate::ycsb) fn parts(&self) -> Vec<(&'static str, &Self)> {
        match self {
            Self::Two(first, second) => {
                let second_name = match **second {
                    Self::Raw(_) => "Raw",
                    _ => "Bucket",
                };
                vec![("Hdr", first), (second_name, second)]
            }
            one => vec![("", one)],
        }
    }

    /// The lines before the counts of statuses, and those after them.
    pub(in crate::ycsb) fn lines(&self, how: &Presentation) -> (Vec<Line>, Vec<Line>) {
        match self {
            Self::Hdr(hdr) => hdr.lines(how),
            Self::Buckets(buckets) => buckets.lines(how),
            Self::Raw(raw) => raw.lines(how),
            Self::Timeline(timeline) => timeline.lines(),
            Self::Two(first, _) => first.lines(how),
        }
    }

    /// The part of the status line.
    pub(in crate::ycsb) fn summary(&self, name: &str) -> String {
        match self {
            Self::Hdr(hdr) => hdr.summary(name),
            Self::Buckets(buckets) => mean_summary(name, buckets.mean()),
            Self::Timeline(timeline) => mean_summary(name, timeline.mean()),
            Self::Raw(raw) => raw.summary(name),
            Self::Two(first, second) => {
                let second_name = &self.parts()[1].0;
                let (first, second) = (
                    first.summary(&format!("Hdr{name}")),
                    second.summary(&format!("{second_name}{name}")),
                );
                format!("{first}\n{second}")
            }
        }
    }

    /// The histogram, if the kind has one.
    pub(in crate::ycsb) fn hdr(&self) -> Option<&Hdr> {
        match self {
            Self::Hdr(hdr) => Some(hdr),
            Self::Two(first, _) => first.hdr(),
            _ => None,
        }
    }

    /// The individual latencies, if the kind keeps them.
    pub(in crate::ycsb) fn points(&self) -> Option<&[(u64, u64)]> {
        match self {
            Self::Raw(raw) => Some(raw.points()),
            _ => None,
        }
    }
}

fn mean_summary(name: &str, mean: Option<f64>) -> String {
    let format_mean = crate::ycsb::java_text::two_places;
    mean.map_or_else(String::new, |mean| {
        format!("[{name} AverageLatency(us)={}]", format_mean(mean))
    })
}
