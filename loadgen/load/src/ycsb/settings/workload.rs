//! The properties of YCSB's `CoreWorkload`.

use std::path::Path;
use std::sync::Arc;

use crate::failure::Failure;
use crate::input;
use crate::ycsb::distribution::{
    Histogram, Hotspot, Keys, Latest, Lengths, Scrambled, Uniform, Weighted, Zipfian,
};
use crate::ycsb::measure::Operation;
use crate::ycsb::properties::Properties;
use crate::ycsb::record::{KeyFormat, Shape};

/// The meaning of `recordcount=0`.
const NO_COUNT: u64 = i32::MAX as u64;

/// Properties of the operations and records.
#[derive(Debug, Clone)]
pub(in crate::ycsb) struct Workload {
    /// Records that exist when the operations begin.
    pub(in crate::ycsb) records: u64,
    /// The first record that this run inserts or accesses.
    pub(in crate::ycsb) insert_start: u64,
    pub(in crate::ycsb) spelling: KeyFormat,
    pub(in crate::ycsb) shape: Arc<Shape>,
    /// `None` if all proportions are 0, which only loading allows.
    pub(in crate::ycsb) mix: Option<Weighted<Operation>>,
    /// Fraction of operations that write.
    pub(in crate::ycsb) writes: f64,
    pub(in crate::ycsb) keys: Keys,
    pub(in crate::ycsb) scan_lengths: Lengths,
    pub(in crate::ycsb) write_all: bool,
    pub(in crate::ycsb) retries: Retries,
}

/// What to do when an insertion of the loading phase fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ycsb) struct Retries {
    pub(in crate::ycsb) limit: u64,
    pub(in crate::ycsb) seconds: u64,
    pub(in crate::ycsb) keep_going: bool,
}

impl Workload {
    pub(super) fn read(properties: &Properties) -> Result<Self, Failure> {
        let records = match properties.number("recordcount", 0)? {
            0 => NO_COUNT,
            records => records,
        };
        let range = range(properties, records)?;
        let (mix, writes) = mix(properties)?;
        let inserts = properties.weight("insertproportion", 0.0)?;
        // Java also chooses fields for reads; properties that are not used here are still checked.
        for flag in ["readallfields", "readallfieldsbyname"] {
            properties.flag(flag, true)?;
        }
        Ok(Self {
            records,
            insert_start: range.low,
            spelling: KeyFormat {
                padding: properties.number("zeropadding", 1)?,
                ordered: properties.text("insertorder", "hashed") != "hashed",
            },
            shape: Arc::new(shape(properties)?),
            mix,
            writes,
            keys: keys(properties, records, range, inserts)?,
            scan_lengths: scan_lengths(properties)?,
            write_all: properties.flag("writeallfields", false)?,
            retries: Retries {
                limit: properties.number("core_workload_insertion_retry_limit", 0)?,
                seconds: properties.number("core_workload_insertion_retry_interval", 3)?,
                keep_going: properties
                    .flag("core_workload_insertion_keep_going_on_error", false)?,
            },
        })
    }
}

/// The records of this client: `insertstart` and `insertcount` within `recordcount`.
fn range(properties: &Properties, records: u64) -> Result<Uniform, Failure> {
    let start: u64 = properties.number("insertstart", 0)?;
    let count = properties.number("insertcount", records.saturating_sub(start))?;
    let end = start.checked_add(count).filter(|end| *end <= records);
    match end {
        Some(end) if end > start => Ok(Uniform { low: start, high: end - 1 }),
        _ => Err(Failure::usage(format!(
            "insertstart={start} and insertcount={count} do not fit into recordcount={records}\n  \
             hint: recordcount must be at least insertstart + insertcount, and insertcount above 0"
        ))),
    }
}

fn mix(properties: &Properties) -> Result<(Option<Weighted<Operation>>, f64), Failure> {
    let weights = [
        ("readproportion", 0.95, Operation::Read),
        ("updateproportion", 0.05, Operation::Update),
        ("insertproportion", 0.0, Operation::Insert),
        ("scanproportion", 0.0, Operation::Scan),
        ("readmodifywriteproportion", 0.0, Operation::ReadModifyWrite),
    ]
    .map(|(key, default, operation)| Ok((properties.weight(key, default)?, operation)));
    let weights = weights.into_iter().collect::<Result<Vec<_>, Failure>>()?;
    let sum = |of: fn(Operation) -> bool| -> f64 {
        weights.iter().filter(|(_, operation)| of(*operation)).map(|(weight, _)| weight).sum()
    };
    let reads = |operation| matches!(operation, Operation::Read | Operation::Scan);
    let all = sum(|_| true).max(f64::MIN_POSITIVE);
    Ok((Weighted::new(&weights), 1.0 - sum(reads) / all))
}

/// Maximum number of fields per record: their names are in memory.
const MAX_FIELDS: u64 = 1 << 20;

fn shape(properties: &Properties) -> Result<Shape, Failure> {
    let integrity = properties.flag("dataintegrity", false)?;
    let lengths = field_lengths(properties)?;
    if integrity && !matches!(lengths, Lengths::Constant(_)) {
        let remedy = "dataintegrity=true needs `fieldlengthdistribution=constant`";
        return Err(properties.refuse("fieldlengthdistribution", remedy));
    }
    let prefix = properties.text("fieldnameprefix", "field");
    let fields = properties.positive("fieldcount", 10)?;
    if fields > MAX_FIELDS {
        let remedy = format!("a record has at most {MAX_FIELDS} fields");
        return Err(properties.refuse("fieldcount", &remedy));
    }
    Ok(Shape::new(prefix, fields, lengths, integrity))
}

fn field_lengths(properties: &Properties) -> Result<Lengths, Failure> {
    let length = properties.number("fieldlength", 100)?;
    let min = properties.number("minfieldlength", 1)?;
    let choices = [("constant", 'c'), ("uniform", 'u'), ("zipfian", 'z'), ("histogram", 'h')];
    match properties.choice("fieldlengthdistribution", "constant", &choices)? {
        'c' => Ok(Lengths::Constant(length)),
        'h' => histogram(properties).map(Lengths::Histogram),
        other => between(properties, "minfieldlength", (min, length), other == 'z'),
    }
}

fn scan_lengths(properties: &Properties) -> Result<Lengths, Failure> {
    let ends = (properties.number("minscanlength", 1)?, properties.number("maxscanlength", 1000)?);
    let choices = [("uniform", false), ("zipfian", true)];
    let zipfian = properties.choice("scanlengthdistribution", "uniform", &choices)?;
    between(properties, "minscanlength", ends, zipfian)
}

/// Maximum number of lengths of a zipfian distribution: it sums up the weight of each first.
const MAX_LENGTHS: u64 = 1 << 26;

fn between(
    properties: &Properties,
    key: &str,
    (low, high): (u64, u64),
    zipfian: bool,
) -> Result<Lengths, Failure> {
    if low > high {
        return Err(properties.refuse(key, &format!("expected at most {high}, the longest")));
    }
    if zipfian && high - low > MAX_LENGTHS {
        let remedy = format!(
            "a zipfian distribution over more than {MAX_LENGTHS} values takes hours to set up"
        );
        return Err(properties.refuse(key, &remedy));
    }
    Ok(match zipfian {
        true => Lengths::Zipfian(Zipfian::over(low, high)),
        false => Lengths::Uniform(Uniform { low, high }),
    })
}

fn histogram(properties: &Properties) -> Result<Histogram, Failure> {
    let path = properties.text("fieldlengthhistogram", "hist.txt");
    let text = input::text(Path::new(path), input::MAX_BYTES).map_err(|error| {
        let remedy = format!("the histogram `{path}` cannot be read: {error}");
        properties.refuse("fieldlengthhistogram", &remedy)
    })?;
    Histogram::parse(&text)
        .map_err(|(line, expected)| Failure::usage(format!("{path}:{line}: {expected}")))
}

fn keys(
    properties: &Properties,
    records: u64,
    range: Uniform,
    inserts: f64,
) -> Result<Keys, Failure> {
    let names = ["uniform", "zipfian", "latest", "hotspot", "exponential", "sequential"];
    let choices = names.map(|name| (name, name));
    Ok(match properties.choice("requestdistribution", "uniform", &choices)? {
        "zipfian" => {
            // The key space is that at the end of the run, so that popular keys keep their
            // position: twice the expected inserts are allowed for.
            let operations: u64 = properties.number("operationcount", 0)?;
            let expected = (operations as f64 * inserts * 2.0) as u64;
            Keys::Zipfian(Scrambled::over(
                range.low,
                range.high.saturating_add(1).saturating_add(expected),
            ))
        }
        "latest" => Keys::Latest(Latest::from(records - 1)),
        "hotspot" => Keys::Hotspot(hotspot(properties, range)?),
        "exponential" => {
            let percentile = properties.weight("exponential.percentile", 95.0)?;
            let fraction = properties.weight("exponential.frac", 0.857_142_857_1)?;
            if percentile >= 100.0 || percentile == 0.0 || fraction == 0.0 {
                let remedy = "expected a percentile between 0 and 100 and a part above 0";
                return Err(properties.refuse("exponential.percentile", remedy));
            }
            Keys::exponential(percentile, records as f64 * fraction)
        }
        "sequential" => Keys::Sequential(range, Arc::default()),
        _ => Keys::Uniform(range),
    })
}

fn hotspot(properties: &Properties, range: Uniform) -> Result<Hotspot, Failure> {
    let part = |key: &str, default: f64| {
        let part = properties.weight(key, default)?;
        match part <= 1.0 {
            true => Ok(part),
            false => Err(properties.refuse(key, "expected a part from 0 to 1")),
        }
    };
    let (data, share) = (part("hotspotdatafraction", 0.2)?, part("hotspotopnfraction", 0.8)?);
    Hotspot::over(range.low, range.high, data, share).ok_or_else(|| {
        let remedy = "with so few records one of the two parts is empty: raise recordcount, or \
                      change the part";
        properties.refuse("hotspotdatafraction", remedy)
    })
}
