//! Amounts over time from any source: a CSV of `group,time,amount`.
//!
//! The first line names the columns, in any order; other columns are ignored. `time` is in seconds
//! (`time_ms` and `time_ns` in their units); `amount` is what the group got since its previous row,
//! `total` what it got since the beginning. The first row of a group is its start time.

use std::collections::HashMap;
use std::fmt;

use crate::workload::output::excerpt;

/// A mistake in a CSV, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvError(String);

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CsvError {}

/// One group: its name, and cumulative amounts by nanoseconds, in order of time.
pub type Amounts = (String, Vec<(u64, f64)>);

const EXPECTED: &str = "the first line must name the columns `group`, `time` (or `time_ms`, \
                        `time_ns`) and `amount` (or `total`)";

/// Parses a CSV; groups are in the order of their first rows.
///
/// # Errors
/// The line and the mistake in it.
pub fn parse_amounts(text: &str) -> Result<Vec<Amounts>, CsvError> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let (_, heading) = lines.next().ok_or_else(|| CsvError(format!("it is empty; {EXPECTED}")))?;
    let columns = Columns::parse(heading)?;
    let mut groups: Vec<Amounts> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (index, line) in lines {
        let error_at = |why: &str| {
            CsvError(format!("line {} is `{}`: {why}", index + 1, excerpt(line.trim())))
        };
        let row = columns.read(line).map_err(|why| error_at(&why))?;
        let index = *known.entry(row.group).or_insert_with_key(|group| {
            groups.push((group.clone(), Vec::new()));
            groups.len() - 1
        });
        let series = &mut groups[index].1;
        let value = match (series.last(), columns.cumulative) {
            (Some((last, _)), _) if *last >= row.time_ns => {
                return Err(error_at(
                    "its time is not after that of the previous row of its group",
                ));
            }
            (Some((_, sum)), false) => sum + row.amount,
            (None, false) => 0.0,
            (_, true) => row.amount,
        };
        series.push((row.time_ns, value));
    }
    if groups.is_empty() {
        return Err(CsvError("it has no rows after its first line".to_owned()));
    }
    Ok(groups)
}

struct Columns {
    group: usize,
    time: usize,
    /// Nanoseconds per unit of time.
    unit_ns: f64,
    amount: usize,
    cumulative: bool,
}

struct Row {
    group: String,
    time_ns: u64,
    amount: f64,
}

impl Columns {
    fn parse(heading: &str) -> Result<Self, CsvError> {
        let names: Vec<String> =
            heading.split(',').map(|name| unquoted(name).to_ascii_lowercase()).collect();
        let find = |name: &str| names.iter().position(|column| column == name);
        let time = [("time", 1e9), ("time_s", 1e9), ("time_ms", 1e6), ("time_ns", 1.0)]
            .into_iter()
            .find_map(|(name, unit)| Some((find(name)?, unit)));
        let amount = find("amount").map(|at| (at, false)).or_else(|| Some((find("total")?, true)));
        match (find("group"), time, amount) {
            (Some(group), Some((time, unit_ns)), Some((amount, cumulative))) => {
                Ok(Self { group, time, unit_ns, amount, cumulative })
            }
            _ => Err(CsvError(format!("its first line is `{}`; {EXPECTED}", heading.trim()))),
        }
    }

    fn read(&self, line: &str) -> Result<Row, String> {
        let words: Vec<&str> = line.split(',').map(unquoted).collect();
        let word = |at: usize| words.get(at).copied().filter(|word| !word.is_empty());
        let number = |at: usize, what: &str| {
            let text = word(at).ok_or_else(|| format!("it has no {what}"))?;
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
            value.ok_or_else(|| format!("its {what} `{text}` is not a number of at least 0"))
        };
        Ok(Row {
            group: word(self.group).ok_or("it has no group")?.to_owned(),
            time_ns: (number(self.time, "time")? * self.unit_ns) as u64,
            amount: number(self.amount, "amount")?,
        })
    }
}

fn unquoted(word: &str) -> &str {
    word.trim().trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_accumulate_from_the_second_row_of_a_group() {
        let text = "group,time,amount\na,1,50\nb,1,70\na,2,10\nb,2.5,30\na,3,5\n";
        let groups = parse_amounts(text).unwrap();
        assert_eq!(groups[0].0, "a");
        assert_eq!(
            groups[0].1,
            [(1_000_000_000, 0.0), (2_000_000_000, 10.0), (3_000_000_000, 15.0)]
        );
        assert_eq!(groups[1].1, [(1_000_000_000, 0.0), (2_500_000_000, 30.0)]);
    }

    #[test]
    fn columns_are_found_by_name_in_any_order_and_unit() {
        let text = "total,extra,\"group\",time_ms\n7,x,a,100\n9,y,a,200\n";
        assert_eq!(parse_amounts(text).unwrap()[0].1, [(100_000_000, 7.0), (200_000_000, 9.0)]);
    }

    #[test]
    fn errors_name_the_line_and_the_mistake() {
        let error = |text: &str| parse_amounts(text).unwrap_err().to_string();
        assert!(error("").contains("empty"));
        assert!(error("a,b\n").contains("must name the columns"));
        assert!(error("group,time,amount\n").contains("no rows"));
        assert!(error("group,time,amount\na,1\n").contains("line 2 is `a,1`: it has no amount"));
        assert!(error("group,time,amount\na,x,1\n").contains("`x` is not a number"));
        assert!(error("group,time,amount\na,1,-2\n").contains("`-2` is not a number"));
        assert!(error("group,time,amount\na,2,1\na,2,1\n").contains("line 3"));
    }
}
