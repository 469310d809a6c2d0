//! fio's JSON output as metrics.

use std::collections::BTreeMap;
use std::fmt;

use assay_record::run_folder::{Latency, check_json_output};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::workload::output::excerpt;

/// The output of one fio process, summed over its jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Why the numbers are invalid: the first job's error.
    pub failure: Option<String>,
    /// Seconds of the longest job.
    pub runtime_s: f64,
    /// Numbers by name.
    pub metrics: BTreeMap<String, f64>,
    /// Completion latency by direction.
    pub latency: BTreeMap<String, Latency>,
}

/// Text that is not fio output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputError(pub String);

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OutputError {}

impl From<Output> for crate::workload::Output {
    fn from(output: Output) -> Self {
        Self {
            failure: output.failure,
            runtime_s: Some(output.runtime_s),
            metrics: output.metrics,
            latency: output.latency,
            ..Self::default()
        }
    }
}

#[derive(Deserialize)]
struct Document {
    jobs: Vec<JobOutput>,
}

/// The document in the output of `fio --output-format=json`; `None` if there is none. Messages may precede it (`fio:
/// terminating on signal 2`), so it starts at the first line that begins with `{`.
pub(super) fn document<T: DeserializeOwned>(text: &str) -> Option<Result<T, String>> {
    let start = if text.starts_with('{') { 0 } else { text.find("\n{")? + 1 };
    let text = &text[start..];
    if let Err(cause) = check_json_output(text) {
        return Some(Err(format!("is not read: {cause}")));
    }
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<T>();
    let document = documents.next().map(|one| one.map_err(|cause| format!("is invalid: {cause}")));
    document.or_else(|| Some(Err("is empty".to_owned())))
}

#[derive(Deserialize)]
struct JobOutput {
    jobname: String,
    error: i32,
    read: Direction,
    write: Direction,
    usr_cpu: f64,
    sys_cpu: f64,
}

#[derive(Deserialize)]
struct Direction {
    io_bytes: f64,
    total_ios: f64,
    /// Milliseconds.
    runtime: f64,
    iops: f64,
    clat_ns: CompletionLatency,
}

#[derive(Deserialize)]
struct CompletionLatency {
    mean: f64,
    #[serde(rename = "N")]
    count: f64,
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

/// Parses the output of `fio --output-format=json`.
pub fn parse_output(text: &str) -> Result<Output, OutputError> {
    let document = document(text).ok_or_else(|| {
        let message = text.trim();
        let message = if message.is_empty() { "nothing" } else { excerpt(message) };
        OutputError(format!("fio printed no result, but: {message}"))
    })?;
    let document: Document = document.map_err(|why| OutputError(format!("fio's JSON {why}")))?;
    Ok(summarize(&document.jobs))
}

fn summarize(jobs: &[JobOutput]) -> Output {
    let sum = |value: &dyn Fn(&JobOutput) -> f64| jobs.iter().map(value).sum::<f64>();
    let metrics = [
        ("read_bytes", sum(&|job| job.read.io_bytes)),
        ("write_bytes", sum(&|job| job.write.io_bytes)),
        ("read_ios", sum(&|job| job.read.total_ios)),
        ("write_ios", sum(&|job| job.write.total_ios)),
        ("read_iops", sum(&|job| job.read.iops)),
        ("write_iops", sum(&|job| job.write.iops)),
        ("user_cpu_percent", sum(&|job| job.usr_cpu)),
        ("system_cpu_percent", sum(&|job| job.sys_cpu)),
    ];
    let failed = jobs.iter().find(|job| job.error != 0);
    Output {
        failure: failed.map(|job| {
            let cause = std::io::Error::from_raw_os_error(job.error);
            format!("job `{}` ended with {cause}", excerpt(&job.jobname))
        }),
        runtime_s: jobs
            .iter()
            .map(|job| job.read.runtime.max(job.write.runtime) / 1e3)
            .fold(0.0, f64::max),
        metrics: metrics.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        latency: latencies(jobs),
    }
}

/// Percentiles that fio prints at most (`FIO_IO_U_LIST_MAX_LEN`), and bytes of the name of one. More is not
/// from fio, and is not recorded.
const PERCENTILES: usize = 20;
const LONGEST: usize = 10;

/// Percentiles of several jobs cannot be added, so those of the job with the most I/O are used.
/// (Assay starts one job per process; `numjobs` in a study is the exception.)
fn latencies(jobs: &[JobOutput]) -> BTreeMap<String, Latency> {
    let mut latencies = BTreeMap::new();
    for (name, direction) in
        [("read", (|job| &job.read) as fn(&JobOutput) -> &Direction), ("write", |job| &job.write)]
    {
        let busiest = jobs
            .iter()
            .map(|job| &direction(job).clat_ns)
            .filter(|latency| latency.count > 0.0)
            .max_by(|a, b| a.count.total_cmp(&b.count));
        if let Some(busiest) = busiest {
            let printed = busiest.percentile.iter().filter(|(key, _)| key.len() <= LONGEST);
            let percentiles_ns =
                printed.take(PERCENTILES).map(|(key, value)| (shorten(key), *value)).collect();
            latencies.insert(name.to_owned(), Latency { mean_ns: busiest.mean, percentiles_ns });
        }
    }
    latencies
}

/// `"99.900000"` becomes `"99.9"`.
fn shorten(percentile: &str) -> String {
    percentile.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = r#"fio: terminating on signal 2
{"fio version":"fio-3.33","jobs":[{"jobname":"task1","error":0,"usr_cpu":1.5,"sys_cpu":4.0,
"read":{"io_bytes":4096000,"total_ios":1000,"runtime":2000,"iops":500.0,
"clat_ns":{"min":1,"max":9,"mean":64000.5,"stddev":1,"N":1000,"percentile":{"50.000000":60000,"99.900000":90000}}},
"write":{"io_bytes":0,"total_ios":0,"runtime":0,"iops":0.0,"clat_ns":{"min":0,"max":0,"mean":0,"stddev":0,"N":0}}}]}
"#;

    #[test]
    fn messages_before_the_document_are_skipped() {
        let output = parse_output(OUTPUT).unwrap();
        assert_eq!(output.failure, None);
        assert_eq!(output.runtime_s, 2.0);
        assert_eq!(output.metrics["read_iops"], 500.0);
        assert_eq!(output.latency["read"].percentiles_ns["99.9"], 90_000.0);
        assert!(!output.latency.contains_key("write"));
    }

    #[test]
    fn the_error_of_a_job_is_named_with_its_meaning() {
        let failed = OUTPUT.replace("\"error\":0", "\"error\":28");
        let failure = parse_output(&failed).unwrap().failure.unwrap();
        assert!(failure.contains("task1") && failure.contains("No space left"), "{failure}");
    }

    #[test]
    fn no_more_percentiles_are_recorded_than_fio_prints() {
        let long = format!("\"{}\":1,", "9".repeat(1 << 16));
        let many: String = (0..5000).map(|key| format!("\"{key}\":1,")).collect();
        for forged in [long, many] {
            let forged = OUTPUT.replace("\"50.000000\"", &format!("{forged}\"50.000000\""));
            let recorded = &parse_output(&forged).unwrap().latency["read"].percentiles_ns;
            assert!(recorded.len() <= PERCENTILES && recorded.keys().all(|key| key.len() < 16));
        }
    }

    #[test]
    fn text_instead_of_a_result_is_quoted() {
        let error = parse_output("fio: engine foo not loadable\n").unwrap_err();
        assert!(error.to_string().contains("engine foo not loadable"));
        assert!(parse_output("").unwrap_err().to_string().contains("nothing"));
        assert!(parse_output("{\"jobs\": [").is_err());
    }
}
