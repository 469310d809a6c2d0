//! fio's JSON output of a run that Assay did not start: amounts, times and options of each job.
//!
//! Fields are those of fio 3.x (written by fio's `stat.c`). `bw_mean` and `bw_dev` are in KiB/s,
//! over readings of half a second by default (`bwavgtime`).

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::output::{OutputError, document};

/// Totals of a job, summed over all entries of its name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    /// The job's name.
    pub name: String,
    /// Why the numbers are invalid.
    pub failure: Option<String>,
    /// Seconds that it ran, the longest of its directions.
    pub runtime_s: f64,
    /// Bytes read and written.
    pub bytes: f64,
    /// Requests read and written.
    pub ios: f64,
    /// Start, in seconds since 1970; reported by fio since 3.37.
    pub began_s: Option<f64>,
    /// Time of the output, in seconds since 1970.
    pub printed_s: Option<f64>,
    /// Requests outstanding on average, by Little's law.
    pub outstanding: Option<f64>,
    /// Requests outstanding according to its options.
    pub iodepth: Option<f64>,
    /// An option that throttles it, such as `rate_iops=100`.
    pub paced: Option<String>,
    /// Whether its options set direct I/O; `None` if unset.
    pub direct: Option<bool>,
    /// Whether it waited for the jobs before it.
    pub stonewall: bool,
    /// The only disk that the process used, and the mean number of requests in its queue.
    pub disk: Option<(String, f64)>,
}

/// Options that throttle a job.
const THROTTLING: [&str; 6] =
    ["rate", "rate_iops", "thinktime", "rate_min", "rate_iops_min", "flow"];

/// Parses the output of `fio --output-format=json`, in the order of its jobs. Jobs of the same name
/// (`numjobs`) are added up.
///
/// # Errors
/// If the text contains no JSON, or JSON that is not fio's.
pub fn parse_totals(text: &str) -> Result<Vec<Totals>, OutputError> {
    let error = |why: &str| OutputError(why.to_owned());
    let document = document(text)
        .ok_or_else(|| error("it contains no JSON; create it with `--output-format=json`"))?;
    let document: Value = document.map_err(|why| OutputError(format!("its JSON {why}")))?;
    // `fio --client` writes the jobs of all hosts, and then their sum.
    let jobs = document.get("jobs").or_else(|| document.get("client_stats"));
    let jobs = jobs.and_then(Value::as_array).filter(|jobs| !jobs.is_empty());
    let jobs = jobs.ok_or_else(|| error("its JSON has no `jobs`, so it is not output of fio"))?;
    let mut totals: Vec<Totals> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let is_sum = |job: &&Value| job.get("jobname").is_some_and(|name| name == "All clients");
    for job in jobs.iter().filter(|job| !is_sum(job)) {
        let next = read_job(&document, job).map_err(OutputError)?;
        let index = *known.entry(next.name.clone()).or_insert(totals.len());
        match totals.get_mut(index) {
            Some(one) => add(one, &next),
            None => totals.push(next),
        }
    }
    Ok(totals)
}

/// Sums several jobs under one name: a file with several jobs is one group.
#[must_use]
pub fn sum_jobs(name: &str, jobs: &[Totals]) -> Option<Totals> {
    let mut jobs = jobs.iter();
    let mut all = jobs.next()?.clone();
    for job in jobs {
        add(&mut all, job);
    }
    name.clone_into(&mut all.name);
    Some(all)
}

fn read_job(document: &Value, job: &Value) -> Result<Totals, String> {
    let name = job.get("jobname").and_then(Value::as_str).unwrap_or("?").to_owned();
    let options = Options::new(document, job);
    let directions: Vec<&Value> =
        ["read", "write"].iter().filter_map(|direction| job.get(direction)).collect();
    if directions.is_empty() {
        return Err(format!("job `{name}` has neither `read` nor `write`"));
    }
    let sum = |field: &str| directions.iter().map(|one| number(one, field).unwrap_or(0.0)).sum();
    let runtime_ms = directions.iter().filter_map(|one| number(one, "runtime")).fold(0.0, f64::max);
    let error = number(job, "error").unwrap_or(0.0);
    let merged =
        options.get("group_reporting").is_some() && options.number("numjobs").unwrap_or(1.0) > 1.0;
    Ok(Totals {
        failure: (error != 0.0)
            .then(|| format!("ended with {}", std::io::Error::from_raw_os_error(error as i32))),
        runtime_s: runtime_ms / 1e3,
        bytes: sum("io_bytes"),
        ios: sum("total_ios"),
        began_s: number(job, "job_start").map(|ms| ms / 1e3),
        printed_s: number(document, "timestamp_ms")
            .map(|ms| ms / 1e3)
            .or_else(|| number(document, "timestamp")),
        outstanding: outstanding(&directions),
        iodepth: options.number("iodepth").or(Some(1.0)).map(|depth| {
            depth * if merged { options.number("numjobs").unwrap_or(1.0) } else { 1.0 }
        }),
        paced: THROTTLING.iter().find_map(|name| {
            let value = options.get(name).filter(|value| *value != "0")?;
            Some(format!("{name}={value}"))
        }),
        direct: options.get("direct").map(|value| value != "0"),
        stonewall: options.get("stonewall").is_some(),
        disk: disk(document, runtime_ms),
        name,
    })
}

/// A job's own options, with `[global]` as the fallback.
struct Options<'d> {
    own: Option<&'d Map<String, Value>>,
    global: Option<&'d Map<String, Value>>,
}

impl<'d> Options<'d> {
    fn new(document: &'d Value, job: &'d Value) -> Self {
        Self {
            own: job.get("job options").and_then(Value::as_object),
            global: document.get("global options").and_then(Value::as_object),
        }
    }

    fn get(&self, name: &str) -> Option<&'d str> {
        let value = |options: Option<&'d Map<String, Value>>| options?.get(name)?.as_str();
        value(self.own).or_else(|| value(self.global))
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.trim().parse().ok()
    }
}

fn number(value: &Value, field: &str) -> Option<f64> {
    value.get(field)?.as_f64()
}

fn outstanding(directions: &[&Value]) -> Option<f64> {
    let one = |direction: &&Value| {
        let latency = number(direction.get("clat_ns")?, "mean")?;
        Some(latency * 1e-9 * number(direction, "iops")?)
    };
    directions.iter().filter_map(one).reduce(|one, other| one + other)
}

/// `disk_util` covers the whole process, so it is used only if there is exactly one disk.
fn disk(document: &Value, runtime_ms: f64) -> Option<(String, f64)> {
    let disks = document.get("disk_util")?.as_array()?;
    let [disk] = disks.as_slice() else { return None };
    let name = disk.get("name")?.as_str()?.to_owned();
    let waited_ms = number(disk, "in_queue")?;
    (runtime_ms > 0.0).then(|| (name, waited_ms / runtime_ms))
}

fn add(all: &mut Totals, next: &Totals) {
    let added = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
    let earliest = |one: Option<f64>, other: Option<f64>| Some(one?.min(other?));
    all.failure = all.failure.take().or_else(|| next.failure.clone());
    all.runtime_s = all.runtime_s.max(next.runtime_s);
    all.bytes += next.bytes;
    all.ios += next.ios;
    all.began_s = earliest(all.began_s, next.began_s);
    all.outstanding = added(all.outstanding, next.outstanding);
    all.iodepth = added(all.iodepth, next.iodepth);
    all.paced = all.paced.take().or_else(|| next.paced.clone());
    all.direct = match (all.direct, next.direct) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (one, other) => one.and(other),
    };
    all.stonewall |= next.stonewall;
    if all.disk != next.disk {
        all.disk = None;
    }
}

/// Names of the jobs, each once, for messages.
#[must_use]
pub fn job_names(jobs: &[Totals]) -> String {
    let names: BTreeSet<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::output::parse_output;
    use super::*;

    const RESULT: &str = r#"fio: some talk
{"fio version":"fio-3.33","timestamp_ms":1700000060000,"global options":{"direct":"1","iodepth":"8"},
"jobs":[
{"jobname":"a","error":0,"job options":{"rw":"randread","rate_iops":"100"},
"read":{"io_bytes":1024000,"total_ios":250,"runtime":10000,"iops":25.0,"bw_mean":100.0,"bw_dev":10.0,"bw_samples":20,
"iops_mean":25.0,"iops_stddev":2.0,"iops_samples":20,"clat_ns":{"mean":320000000.0}},
"write":{"io_bytes":0,"total_ios":0,"runtime":0,"iops":0.0,"bw_mean":0.0,"bw_dev":0.0,"bw_samples":0,
"iops_mean":0.0,"iops_stddev":0.0,"iops_samples":0,"clat_ns":{"mean":0.0}}},
{"jobname":"b","error":28,"job options":{"direct":"0","iodepth":"4"},
"read":{"io_bytes":2048000,"total_ios":500,"runtime":10000,"iops":50.0,"bw_mean":200.0,"bw_dev":10.0,"bw_samples":20,
"iops_mean":50.0,"iops_stddev":2.0,"iops_samples":20,"clat_ns":{"mean":80000000.0}},
"write":{"io_bytes":0,"total_ios":0,"runtime":0,"iops":0.0}}],
"disk_util":[{"name":"sda","in_queue":120000,"util":99.0}]}"#;

    #[test]
    fn parses_the_amounts_and_options_of_each_job() {
        let jobs = parse_totals(RESULT).unwrap();
        let (a, b) = (&jobs[0], &jobs[1]);
        assert_eq!((a.name.as_str(), a.bytes, a.ios, a.runtime_s), ("a", 1_024_000.0, 250.0, 10.0));
        assert_eq!((a.iodepth, b.iodepth), (Some(8.0), Some(4.0)));
        assert_eq!((a.direct, b.direct), (Some(true), Some(false)));
        assert_eq!(a.paced.as_deref(), Some("rate_iops=100"));
        assert!((a.outstanding.unwrap() - 8.0).abs() < 1e-9);
        assert!(b.failure.as_ref().unwrap().contains("No space left"));
        assert_eq!(a.disk, Some(("sda".to_owned(), 12.0)));
    }

    #[test]
    fn the_jobs_of_clients_count_without_their_sum() {
        let sum = "{\"jobname\":\"All clients\",\"error\":0,\"read\":{},\"write\":{}},";
        let clients = RESULT.replace("\"jobs\":[", &format!("\"client_stats\":[{sum}"));
        let clients = clients.replace("\"timestamp_ms\":1700000060000", "\"timestamp\":1700000060");
        assert_eq!(parse_totals(&clients).unwrap(), parse_totals(RESULT).unwrap());
    }

    #[test]
    fn jobs_of_one_name_are_one_group() {
        let twice = RESULT.replace("\"jobname\":\"b\"", "\"jobname\":\"a\"");
        let jobs = parse_totals(&twice).unwrap();
        assert_eq!(jobs.len(), 1);
        assert_eq!((jobs[0].bytes, jobs[0].iodepth), (3_072_000.0, Some(12.0)));
        assert_eq!(sum_jobs("both", &parse_totals(RESULT).unwrap()).unwrap().bytes, 3_072_000.0);
    }

    #[test]
    fn a_document_with_too_many_values_is_not_parsed() {
        let text = format!("{{\"jobs\": [{}0]}}", "0,".repeat(1 << 20));
        for error in [parse_totals(&text).unwrap_err(), parse_output(&text).unwrap_err()] {
            assert!(error.to_string().contains("1048576 values"), "{error}");
        }
    }

    #[test]
    fn errors_of_other_texts_name_the_mistake() {
        let error = |text: &str| parse_totals(text).unwrap_err().to_string();
        assert!(error("bw=100MiB/s").contains("--output-format=json"));
        assert!(error("{\"jobs\": [").contains("is invalid"));
        assert!(error("{\"a\": 1}").contains("no `jobs`"));
        assert!(error("{\"jobs\": [{\"jobname\": \"x\"}]}").contains("`x` has neither"));
    }
}
