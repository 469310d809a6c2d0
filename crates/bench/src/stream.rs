//! bandwidth: Assay compared with STREAM's triad, with arrays of the same size and the same number
//! of threads, interleaved in one run.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::child::stdout;
use crate::failure::Failure;
use crate::figure::Figure;
use crate::idle_wait;
use crate::paired::{Pair, in_turns, of_peer};
use crate::peer_programs::Programs;

/// Target as a fraction of the peer's time: 3 % less bandwidth.
const TIME_OF_PEER: f64 = 1.03;
/// Requested threads; STREAM without OpenMP has one thread and reports it.
const THREADS: &str = "2";

/// Both programs.
pub(crate) struct Comparison {
    programs: Programs,
}

/// Parsed output of STREAM.
#[derive(Debug, Clone, PartialEq)]
struct TriadOutput {
    /// Numbers per array.
    items: u64,
    threads: u64,
    /// The best rate of triad, in bytes per second.
    rate: f64,
}

impl Comparison {
    /// The peer is the program named by `PEER_STREAM`. `None` if the variable is not set.
    pub(crate) fn find(assay: &Path) -> Result<Option<Self>, Failure> {
        let what = "STREAM 5.10 in C, built with -O3 -fopenmp and a large enough array";
        let programs = Programs::program("PEER_STREAM", what, assay)?;
        Ok(programs.map(|programs| Self { programs }))
    }

    /// Rounds of one run each, with alternating order.
    pub(crate) fn measure(&self, rounds: usize) -> Result<Figure, Failure> {
        let busy = idle_wait::wait()?;
        // The array size was compiled in.
        let TriadOutput { items, threads, .. } = self.peer()?;
        let pairs = in_turns(rounds, || self.ours(items, threads), || Ok(self.peer()?.rate))?;
        let name = "bandwidth: time of triad";
        let mut figure = of_peer(name, &pairs, TIME_OF_PEER, |rate| rate.recip())?;
        figure.remarks.push(format!(
            "best rate of 9, arrays of {items} numbers, {threads} threads, {rounds} interleaved rounds; {}",
            medians(&pairs)
        ));
        figure.remarks.extend(idle_wait::remark(busy));
        Ok(figure)
    }

    fn ours(&self, items: u64, threads: u64) -> Result<f64, Failure> {
        let mut command = Command::new(&self.programs.ours);
        command.args(["bandwidth", "--json"]);
        command.args(["--array", &(items * 8).to_string(), "--threads", &threads.to_string()]);
        let document: Value = serde_json::from_str(&stdout(&mut command)?)
            .map_err(|error| Failure::from_display(&error))?;
        document
            .pointer("/metrics/triad_bytes_per_s")
            .and_then(Value::as_f64)
            .ok_or_else(|| Failure::Failed("assay-load bandwidth --json lacks triad".to_owned()))
    }

    fn peer(&self) -> Result<TriadOutput, Failure> {
        let text = stdout(Command::new(&self.programs.peer).env("OMP_NUM_THREADS", THREADS))?;
        read(&text).ok_or_else(|| Failure::Failed(format!("not an output of STREAM: {text}")))
    }
}

fn medians(pairs: &[Pair<f64>]) -> String {
    let median = |of: fn(&Pair<f64>) -> f64| {
        let mut rates: Vec<f64> = pairs.iter().map(of).collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN) * 1e-6
    };
    format!("medians {:.0} and {:.0} MB/s", median(|pair| pair.ours), median(|pair| pair.peer))
}

/// Parses array size, threads and the best rate of triad from the output of STREAM 5.10.
fn read(text: &str) -> Option<TriadOutput> {
    let number = |begin: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(begin))?;
        rest.split_whitespace().next().map(str::to_owned)
    };
    if !text.contains("Solution Validates") {
        return None;
    }
    Some(TriadOutput {
        items: number("Array size =")?.parse().ok()?,
        threads: number("Number of Threads counted =")
            .map_or(Some(1), |count| count.parse().ok())?,
        rate: number("Triad:")?.parse::<f64>().ok()? * 1e6,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "Array size = 10000000 (elements), Offset = 0 (elements)\n\
        Number of Threads requested = 2\nNumber of Threads counted = 2\n\
        Function    Best Rate MB/s  Avg time     Min time     Max time\n\
        Add:            20000.0     0.012500     0.012000     0.013000\n\
        Triad:          19999.5     0.012500     0.012000     0.013000\n\
        Solution Validates: avg error less than 1.000000e-13 on all three arrays\n";

    #[test]
    fn size_threads_and_rate_are_parsed() {
        let output = read(OUTPUT).unwrap();
        assert_eq!((output.items, output.threads), (10_000_000, 2));
        assert!((output.rate - 19_999.5e6).abs() < 1.0);
        let serial = OUTPUT.replace("Number of Threads", "-");
        assert_eq!(read(&serial).unwrap().threads, 1);
    }

    #[test]
    fn a_run_that_does_not_validate_is_rejected() {
        assert_eq!(read(&OUTPUT.replace("Solution Validates", "Failed Validation")), None);
        assert_eq!(read("usage"), None);
    }

    #[test]
    fn medians_are_in_millions_of_bytes() {
        let pairs = [1e9, 3e9, 2e9].map(|ours| Pair { ours, peer: 4e9 });
        assert_eq!(medians(&pairs), "medians 2000 and 4000 MB/s");
    }
}
