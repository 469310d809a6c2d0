//! Metrics from the output of any program: by a pattern, or by a pointer into a JSON document.

use std::collections::BTreeMap;

use assay_record::run_folder::check_json_output;
use regex_lite::Regex;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::workload::output::{CapturedOutput, Output, excerpt};

/// A metric to find in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Its name, with its unit by convention.
    pub name: String,
    /// Where it is.
    pub from: Source,
}

/// Where a metric is in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// In the first group of this pattern, at its last match.
    Pattern(String),
    /// At this pointer into the last JSON document (RFC 6901).
    Json(String),
}

impl Source {
    /// The mistake in it, if any.
    #[must_use]
    pub fn mistake(&self) -> Option<String> {
        match self {
            Self::Pattern(pattern) => match Regex::new(pattern) {
                Err(error) => Some(error.to_string()),
                Ok(regex) if regex.captures_len() < 2 => {
                    Some("it has no group in parentheses for the number".to_owned())
                }
                Ok(_) => None,
            },
            Self::Json(pointer) if pointer.is_empty() || pointer.starts_with('/') => None,
            Self::Json(_) => Some("it does not begin with `/`".to_owned()),
        }
    }
}

/// Finds every metric in the output of a program.
pub(crate) fn find(metrics: &[Metric], captured: &CapturedOutput<'_>) -> Output {
    let mut output = Output::default();
    let has_pointers = metrics.iter().any(|metric| matches!(metric.from, Source::Json(_)));
    let parsed = || document(captured.stdout).or_else(|| document(captured.stderr));
    let document = has_pointers.then(parsed).flatten();
    for metric in metrics {
        let value = match &metric.from {
            Source::Pattern(pattern) => by_pattern(pattern, captured),
            Source::Json(pointer) => by_pointer(pointer, document.as_ref()),
        };
        match value {
            Ok(number) => {
                output.metrics.insert(metric.name.clone(), number);
            }
            Err(why) => {
                output.not_available.insert(metric.name.clone(), why);
            }
        }
    }
    output
}

fn by_pattern(pattern: &str, captured: &CapturedOutput<'_>) -> Result<f64, String> {
    let regex = Regex::new(pattern).map_err(|error| error.to_string())?;
    let last = |text| regex.captures_iter(end_of(text)).last();
    let captures = last(captured.stdout)
        .or_else(|| last(captured.stderr))
        .ok_or_else(|| format!("its output does not match `{pattern}`"))?;
    let text = captures.get(1).map_or("", |group| group.as_str());
    number(text)
        .ok_or_else(|| format!("`{pattern}` matches `{}`, which is not a number", excerpt(text)))
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

fn by_pointer(pointer: &str, document: Option<&Result<Value, String>>) -> Result<f64, String> {
    let document = document.ok_or("its output contains no JSON document")?.as_ref()?;
    let value =
        document.pointer(pointer).ok_or_else(|| format!("its JSON has nothing at `{pointer}`"))?;
    let number = value.as_f64().or_else(|| value.as_str().and_then(number));
    number.ok_or_else(|| {
        let value = value.to_string();
        format!("its JSON has {} at `{pointer}`, which is not a number", excerpt(&value))
    })
}

/// What is searched of an output, in bytes. The host is restored only once the outputs have been read.
const MOST_SEARCHED: usize = 16 << 20;

/// The last part of a text, which is searched: whole lines where possible.
fn end_of(text: &str) -> &str {
    let Some(from) = text.len().checked_sub(MOST_SEARCHED) else { return text };
    let from = (from..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(from);
    let end = &text[from..];
    end.split_once('\n').map_or(end, |(_, lines)| lines)
}

/// The last JSON document of a text: all of it, or what begins at the last line that begins with a
/// brace and can be parsed. An error if it has more values than are read.
pub(crate) fn document(text: &str) -> Option<Result<Value, String>> {
    document_within(end_of(text), &mut 0)
}

/// How many lines that begin with a brace are tried, the last ones first.
const TRIES: usize = 64;

/// Adds to `scanned` the bytes that the tries have read: each may read up to the end.
fn document_within(text: &str, scanned: &mut usize) -> Option<Result<Value, String>> {
    match check_json_output(text) {
        Ok(()) => {
            if let Ok(document) = serde_json::from_str(text) {
                return Some(Ok(document));
            }
        }
        Err(error) if text.trim_start().starts_with(['[', '{']) => {
            return Some(Err(refusal(&error)));
        }
        // Its commas are not those of JSON.
        Err(_) => {}
    }
    let is_start = |at: &usize| *at == 0 || text.as_bytes()[at - 1] == b'\n';
    let starts = text.rmatch_indices('{').map(|(at, _)| at).filter(is_start);
    for at in starts.take(TRIES) {
        match first_document(&text[at..]) {
            Ok(document) => {
                let parsed =
                    check_json_output(document).and_then(|()| serde_json::from_str(document));
                return Some(parsed.map_err(|error| refusal(&error)));
            }
            Err(bytes) => *scanned += bytes,
        }
        if *scanned > text.len() {
            return None;
        }
    }
    None
}

/// The document at the beginning of a text; if there is none, how many bytes it took to know that.
fn first_document(text: &str) -> Result<&str, usize> {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    match documents.next() {
        Some(Ok(_)) => Ok(&text[..documents.byte_offset()]),
        Some(Err(error)) => {
            let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
            Err(lines.map(str::len).sum::<usize>() + error.column())
        }
        None => Err(0),
    }
}

fn refusal(error: &serde_json::Error) -> String {
    format!("its JSON is not read: {error}")
}

/// The numbers of a flat object; other values are skipped.
pub(crate) fn numbers(object: Option<&Value>) -> BTreeMap<String, f64> {
    let entries = object.and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(stdout: &'static str) -> CapturedOutput<'static> {
        CapturedOutput { stdout, stderr: "warmed up at 3 ops/s\n" }
    }

    fn metric(from: Source) -> Vec<Metric> {
        vec![Metric { name: "ops_per_s".to_owned(), from }]
    }

    fn pattern(text: &str) -> Vec<Metric> {
        metric(Source::Pattern(text.to_owned()))
    }

    #[test]
    fn the_last_match_is_used() {
        let output = find(&pattern("([0-9.]+) ops/s"), &captured("1 ops/s\n2.5 ops/s\n"));
        assert_eq!(output.metrics["ops_per_s"], 2.5);
    }

    #[test]
    fn standard_error_is_used_if_standard_output_has_no_match() {
        assert_eq!(find(&pattern("([0-9.]+) ops/s"), &captured("")).metrics["ops_per_s"], 3.0);
    }

    #[test]
    fn a_missing_metric_has_a_reason_and_no_number() {
        let output = find(&pattern("([a-z]+) up"), &captured(""));
        assert!(output.metrics.is_empty());
        assert!(output.not_available["ops_per_s"].contains("`warmed`"), "{output:?}");
        let output = find(&metric(Source::Json("/teps".to_owned())), &captured("no document"));
        assert!(output.not_available["ops_per_s"].contains("no JSON"), "{output:?}");
    }

    #[test]
    fn a_document_may_follow_other_lines() {
        let text = "starting {now}\n{\"a\": {\"b\": [1, 2.5]}}\ndone\n";
        let output = find(&metric(Source::Json("/a/b/1".to_owned())), &captured(text));
        assert_eq!(output.metrics["ops_per_s"], 2.5);
    }

    /// Two megabytes that would be hundreds in memory.
    #[test]
    fn a_document_with_too_many_values_is_not_parsed() {
        let text = format!("{{\"a\": [{}0]}}", "0,".repeat(1 << 20));
        let captured = CapturedOutput { stdout: &text, stderr: "" };
        let output = find(&metric(Source::Json("/a/1".to_owned())), &captured);
        let why = &output.not_available["ops_per_s"];
        assert!(why.contains("1048576 values") && why.contains("line 1"), "{why}");
        let error = crate::workload::generator::read(&captured).unwrap_err();
        assert!(error.contains("1048576 values"), "{error}");
    }

    #[test]
    fn a_value_that_is_not_a_number_is_quoted_in_part() {
        let text = format!("{{\"a\": \"{}\"}}", "x".repeat(1 << 20));
        let captured = CapturedOutput { stdout: &text, stderr: "" };
        let output = find(&metric(Source::Json("/a".to_owned())), &captured);
        let why = &output.not_available["ops_per_s"];
        assert!(why.len() < 1000 && why.contains("xxx"), "{} bytes", why.len());
        let output = find(&pattern("\"(x+)"), &captured);
        assert!(output.not_available["ops_per_s"].len() < 1000);
    }

    #[test]
    fn a_document_with_braces_at_the_beginning_of_lines_is_parsed_whole() {
        let text = "{\"a\": [\n{\"b\": 1},\n{\"b\": 2}\n]}\n";
        let output = find(&metric(Source::Json("/a/0/b".to_owned())), &captured(text));
        assert_eq!(output.metrics["ops_per_s"], 1.0);
        // A table before it is no JSON.
        let table = format!("{}\n{{\"a\": 5}}\n", "1,".repeat(1 << 20));
        let captured = CapturedOutput { stdout: &table, stderr: "" };
        let output = find(&metric(Source::Json("/a".to_owned())), &captured);
        assert_eq!(output.metrics["ops_per_s"], 5.0);
    }

    /// Each of the last lines could be the beginning of a document that reaches the end.
    #[test]
    fn tries_read_little_more_than_the_text() {
        let text = format!("{}\"{}", "{\"a\":\n".repeat(64), "x".repeat(1 << 20));
        let mut scanned = 0;
        assert!(document_within(&text, &mut scanned).is_none());
        assert!(scanned <= 2 * text.len(), "{scanned} bytes of {}", text.len());
        // Lines that end at once cost nothing.
        let text = format!("{{\"a\": 5}}\n{}{}", "{now}\n".repeat(60), "x".repeat(1 << 20));
        assert_eq!(document(&text).unwrap().unwrap()["a"], 5);
    }

    #[test]
    fn only_the_end_of_an_output_is_searched() {
        let text = format!("{{\"a\": 5}}\n3 ops/s\n{}", "\u{20ac}\n".repeat(MOST_SEARCHED / 4));
        assert!(document(&text).is_none() && !end_of(&text).contains("ops/s"));
        let text = format!("{text}4 ops/s\n{{\"a\": 6}}\n");
        assert_eq!(document(&text).unwrap().unwrap()["a"], 6);
        assert!(end_of(&text).starts_with('\u{20ac}') && end_of(&text).contains("4 ops/s"));
    }

    #[test]
    fn patterns_need_a_group() {
        assert!(Source::Pattern("ops".to_owned()).mistake().is_some());
        assert!(Source::Pattern("(ops".to_owned()).mistake().is_some());
        assert!(Source::Pattern("([0-9]+) ops".to_owned()).mistake().is_none());
        assert!(Source::Json("teps".to_owned()).mistake().is_some());
    }
}
