//! fio's bandwidth logs (`write_bw_log`): amounts over time of one job.
//!
//! A line is `time in ms, KiB/s, direction, bytes of the request, ...`. With `log_avg_msec` a line
//! is a mean since the previous line and its fourth number is 0; without, there is one line per
//! request, and its bytes are the amount.

use super::output::OutputError;
use crate::workload::output::excerpt;

/// Cumulative bytes by nanoseconds since the start of the job, reads and writes combined, in order.
///
/// # Errors
/// The line that cannot be parsed.
pub fn parse_bandwidth_log(text: &str) -> Result<Vec<(u64, f64)>, OutputError> {
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let parsed = parse_line(line);
        lines.push(parsed.ok_or_else(|| {
            OutputError(format!(
                "line {} is `{}`, expected `time in ms, KiB/s, direction, bytes` of a bandwidth log",
                index + 1,
                excerpt(line.trim())
            ))
        })?);
    }
    let each_request = lines.iter().any(|line| line.bytes > 0.0 && line.direction < 2);
    lines.sort_by(|a, b| a.time_ms.total_cmp(&b.time_ms));
    let mut last = [0.0; 2];
    let mut sum = 0.0;
    let mut series: Vec<(u64, f64)> = vec![(0, 0.0)];
    for line in lines.iter().filter(|line| line.direction < 2) {
        sum += match each_request {
            true => line.bytes,
            false => line.rate * 1024.0 * (line.time_ms - last[line.direction]).max(0.0) / 1e3,
        };
        last[line.direction] = line.time_ms;
        let time_ns = (line.time_ms * 1e6) as u64;
        match series.last_mut() {
            // Several requests and both directions may share a millisecond.
            Some(known) if known.0 == time_ns => known.1 = sum,
            _ => series.push((time_ns, sum)),
        }
    }
    Ok(series)
}

struct Line {
    time_ms: f64,
    /// KiB/s.
    rate: f64,
    /// 0 read, 1 write, 2 trim.
    direction: usize,
    bytes: f64,
}

fn parse_line(line: &str) -> Option<Line> {
    let mut words = line.split(',').map(str::trim);
    let mut next = || words.next()?.parse::<f64>().ok().filter(|value| *value >= 0.0);
    Some(Line {
        time_ms: next()?,
        rate: next()?,
        direction: next()? as usize,
        bytes: next().unwrap_or(0.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_multiplied_by_their_time() {
        let log = "1000, 100, 0, 0, 0\n2000, 300, 0, 0, 0\n2000, 50, 1, 0, 0\n";
        let series = parse_bandwidth_log(log).unwrap();
        // 100 KiB, then 300 KiB and 2 s of 50 KiB/s written.
        assert_eq!(series, [(0, 0.0), (1_000_000_000, 102_400.0), (2_000_000_000, 512_000.0)]);
    }

    #[test]
    fn single_requests_are_added_up() {
        let log = "1, 999999, 0, 4096\n1, 999999, 0, 4096\n3, 5, 1, 8192\n";
        let series = parse_bandwidth_log(log).unwrap();
        assert_eq!(series, [(0, 0.0), (1_000_000, 8192.0), (3_000_000, 16_384.0)]);
    }

    #[test]
    fn a_line_of_another_format_is_named() {
        let error = parse_bandwidth_log("1000, 100, 0, 0\ntime;rate\n").unwrap_err();
        assert!(error.to_string().contains("line 2 is `time;rate`"), "{error}");
    }
}
