//! The properties of measurements and of their output.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::ycsb::measure::{Interval, Kind, Presentation, Rules, Tracked};
use crate::ycsb::properties::Properties;

/// `exporter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ycsb) enum Exporter {
    Text,
    /// One object after the other.
    Json,
    /// One array of objects.
    JsonArray,
}

/// What is measured and how it is presented.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::ycsb) struct Measuring {
    pub(in crate::ycsb) rules: Rules,
    pub(in crate::ycsb) presentation: Presentation,
    pub(in crate::ycsb) exporter: Exporter,
    /// `exportfile`; stdout without.
    pub(in crate::ycsb) export_file: Option<PathBuf>,
    /// `measurement.raw.output_file`; stdout without.
    pub(in crate::ycsb) raw_file: Option<PathBuf>,
}

const EXPORTERS: [(&str, Exporter); 3] = [
    ("site.ycsb.measurements.exporter.TextMeasurementsExporter", Exporter::Text),
    ("site.ycsb.measurements.exporter.JSONMeasurementsExporter", Exporter::Json),
    ("site.ycsb.measurements.exporter.JSONArrayMeasurementsExporter", Exporter::JsonArray),
];

impl Measuring {
    pub(super) fn read(properties: &Properties) -> Result<Self, Failure> {
        if properties.flag("hdrhistogram.fileoutput", false)? {
            let remedy = "logs of HdrHistogram are not written here; `measurementtype=raw` keeps \
                          every latency";
            return Err(properties.refuse("hdrhistogram.fileoutput", remedy));
        }
        let intervals =
            [("op", Interval::Op), ("intended", Interval::Intended), ("both", Interval::Both)];
        let tracked = properties.text("latencytrackederrors", "");
        let file = |key| properties.get(key).filter(|path| !path.is_empty()).map(PathBuf::from);
        Ok(Self {
            rules: Rules {
                kind: kind(properties)?,
                interval: properties.choice("measurement.interval", "op", &intervals)?,
                tracked: Tracked {
                    all: properties.flag("reportlatencyforeacherror", false)?,
                    names: tracked.split(',').map(str::to_owned).collect(),
                },
            },
            presentation: Presentation {
                percentiles: percentiles(properties)?,
                verbose: properties.flag("measurement.histogram.verbose", false)?,
                no_summary: properties.flag("measurement.raw.no_summary", false)?,
            },
            exporter: properties.choice("exporter", EXPORTERS[0].0, &EXPORTERS)?,
            export_file: file("exportfile"),
            raw_file: file("measurement.raw.output_file"),
        })
    }
}

fn kind(properties: &Properties) -> Result<Kind, Failure> {
    let buckets = Kind::Buckets(properties.positive("histogram.buckets", 1000)? as usize);
    // The start is set when the run begins.
    let granularity = properties.positive("timeseries.granularity", 1000)?;
    let two = |second: &Kind| Kind::Two(Box::new(Kind::Hdr), Box::new(second.clone()));
    let kinds = [
        ("hdrhistogram", Kind::Hdr),
        ("hdrhistogram+histogram", two(&buckets)),
        ("hdrhistogram+raw", two(&Kind::Raw)),
        ("histogram", buckets),
        ("raw", Kind::Raw),
        ("timeseries", Kind::Timeline { granularity, start: 0 }),
    ];
    let choices: Vec<(&str, usize)> =
        kinds.iter().zip(0..).map(|((name, _), at)| (*name, at)).collect();
    let chosen = properties.choice("measurementtype", "hdrhistogram", &choices)?;
    Ok(kinds[chosen].1.clone())
}

fn percentiles(properties: &Properties) -> Result<Vec<f64>, Failure> {
    const KEY: &str = "hdrhistogram.percentiles";
    properties
        .text(KEY, "50,95,99")
        .split(',')
        .map(|part| {
            let percentile = part.trim().parse().ok();
            percentile.filter(|percentile| (0.0..=100.0).contains(percentile)).ok_or_else(|| {
                properties.refuse(KEY, "expected numbers from 0 to 100, as in `50,95,99,99.99`")
            })
        })
        .collect()
}
