//! Samples in memory: tables as they are read, and rows that wait to be written.

use std::collections::{HashMap, HashSet};

use crate::run_folder::budget::Budget;
use crate::run_folder::limit;

/// One counter over all rows of a [`Table`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name with the unit, `read_bytes`, `usage_ns`, `in_flight`.
    pub name: String,
    /// One value per row; `None` where the counter could not be read.
    pub values: Vec<Option<u64>>,
}

/// The samples of one source in one repeat. Row `i` was read at `time_ns[i]` from
/// `subjects[subject[i]]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Table {
    /// The source: `io`, `disk`, `cpu`, `host_cpu`, `pressure`, `sampler`.
    pub source: String,
    /// CLOCK_MONOTONIC in nanoseconds, on the same clock as the times of a [`RepeatRecord`].
    ///
    /// [`RepeatRecord`]: crate::run_folder::RepeatRecord
    pub time_ns: Vec<u64>,
    /// Index into `subjects`, one per row.
    pub subject: Vec<u32>,
    /// What a row describes: a group's name, a disk's kernel name, or `host`.
    pub subjects: Vec<String>,
    /// The counters.
    pub columns: Vec<Column>,
}

impl Table {
    /// The counter of this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The sums of some counters, row by row. The error is the name of a counter that is not recorded.
    pub fn sums<'t, 'n>(&'t self, names: &[&'n str]) -> Result<RowSums<'t>, &'n str> {
        let columns = names.iter().map(|name| self.column(name).ok_or(*name));
        Ok(RowSums(columns.collect::<Result<_, _>>()?))
    }

    /// `(time_ns, value)` of one counter of one subject, without rows that have no value.
    pub fn series<'t>(
        &'t self,
        subject: &str,
        column: &str,
    ) -> impl Iterator<Item = (u64, u64)> + use<'t> {
        let subject_index = self.subjects.iter().position(|name| name == subject);
        let column = self.column(column);
        (0..self.time_ns.len()).filter_map(move |row| {
            (subject_index == Some(self.subject[row] as usize))
                .then(|| Some((self.time_ns[row], column?.values[row]?)))
                .flatten()
        })
    }
}

/// The sums of some counters of a [`Table`].
#[derive(Debug, Clone)]
pub struct RowSums<'t>(Vec<&'t Column>);

impl RowSums<'_> {
    /// The sum in a row; `None` if one of the counters could not be read.
    #[must_use]
    pub fn at(&self, row: usize) -> Option<u64> {
        self.0.iter().try_fold(0_u64, |sum, column| {
            Some(sum.saturating_add(column.values.get(row).copied().flatten()?))
        })
    }
}

/// Distinct names of subjects, in the order of their first row.
#[derive(Debug, Default)]
pub(crate) struct Subjects {
    pub(crate) names: Vec<String>,
    known: HashMap<String, u32>,
}

impl Subjects {
    /// The index of a name; an error if it is too long.
    pub(crate) fn index(&mut self, name: &str) -> Result<u32, String> {
        if let Some(index) = self.known.get(name) {
            return Ok(*index);
        }
        if name.len() > limit::NAME {
            return Err(format!("a subject's name has more than {} bytes", limit::NAME));
        }
        let index = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.known.insert(name.to_owned(), index);
        self.names.push(name.to_owned());
        Ok(index)
    }
}

/// Whether a table may have these counters.
pub(crate) fn check_counters<'n>(names: impl Iterator<Item = &'n str>) -> Result<(), String> {
    let mut known = HashSet::from(["time_ns", "subject"]);
    for name in names {
        if name.len() > limit::NAME {
            return Err(format!("a counter's name has more than {} bytes", limit::NAME));
        }
        if !known.insert(name) {
            return Err(format!("it has two columns `{name}`"));
        }
    }
    match known.len() <= limit::COLUMNS {
        true => Ok(()),
        false => Err(format!("it has {} columns; the limit is {}", known.len(), limit::COLUMNS)),
    }
}

/// Builds one table from the pieces of a file.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    table: Table,
    subjects: Subjects,
}

impl Assembler {
    /// Appends a piece. At the first there is made space for this many rows: a vector that grows takes twice its length,
    /// and what it has grown out of. Returns the memory cost of names new in this piece ([`Budget::take_names`]).
    pub(crate) fn append(&mut self, piece: Table, rows: usize) -> Result<u64, String> {
        let known = self.subjects.names.len();
        let index = |name: &String| self.subjects.index(name);
        let subjects = piece.subjects.iter().map(index).collect::<Result<Vec<u32>, _>>()?;
        if self.table.time_ns.is_empty() {
            let column = |column: &Column| Column {
                name: column.name.clone(),
                values: Vec::with_capacity(rows),
            };
            self.table.columns = piece.columns.iter().map(column).collect();
            self.table.time_ns.reserve_exact(rows);
            self.table.subject.reserve_exact(rows);
        }
        self.table.time_ns.extend(piece.time_ns);
        self.table.subject.extend(piece.subject.iter().map(|index| subjects[*index as usize]));
        for (column, piece) in self.table.columns.iter_mut().zip(piece.columns) {
            column.values.extend(piece.values);
        }
        Ok(self.subjects.names[known..].iter().map(|name| Budget::cost(name)).sum())
    }

    /// The table, with no space for more rows.
    pub(crate) fn finish(mut self, source: &str) -> Table {
        self.table.time_ns.shrink_to_fit();
        self.table.subject.shrink_to_fit();
        self.table.columns.iter_mut().for_each(|column| column.values.shrink_to_fit());
        Table { source: source.to_owned(), subjects: self.subjects.names, ..self.table }
    }
}

/// Rows of one source that wait to be written. Row `i` was read at `time_ns[i]` from subject `subject[i]`.
/// Adding a row allocates only if no earlier batch was as large.
#[derive(Debug)]
pub struct Rows {
    source: String,
    columns: Vec<String>,
    now: fn() -> u64,
    time_ns: Vec<u64>,
    subject: Vec<u32>,
    /// The counters of every row, one row after the other.
    values: Vec<Option<u64>>,
    subjects: Vec<String>,
}

impl Rows {
    /// No rows yet of `source`, with these counters and subjects; `now` gives the time of a row.
    #[must_use]
    pub fn new(source: &str, columns: &[String], subjects: &[String], now: fn() -> u64) -> Self {
        Self {
            source: source.to_owned(),
            columns: columns.to_vec(),
            now,
            time_ns: Vec::new(),
            subject: Vec::new(),
            values: Vec::new(),
            subjects: subjects.to_vec(),
        }
    }

    /// The time of a row added now.
    #[must_use]
    pub fn now(&self) -> u64 {
        (self.now)()
    }

    /// Adds a subject, whose name the caller ensures to be unique; returns its index.
    pub fn subject(&mut self, name: &str) -> usize {
        self.subjects.push(name.to_owned());
        self.subjects.len() - 1
    }

    /// Each row: its time, the name of its subject (empty if it was never added), and its counters.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &str, &[Option<u64>])> {
        let width = self.columns.len();
        self.time_ns.iter().zip(&self.subject).enumerate().map(move |(row, (time_ns, subject))| {
            let name = self.subjects.get(*subject as usize).map_or("", String::as_str);
            (*time_ns, name, &self.values[row * width..][..width])
        })
    }

    /// Adds a row about `subject` with the current time. A counter without a value is `None`; missing trailing
    /// values count as `None`.
    pub fn add(&mut self, subject: usize, values: &[Option<u64>]) {
        self.add_at(self.now(), subject, values);
    }

    /// The same with this time (CLOCK_MONOTONIC), for files that cover many subjects at once.
    pub fn add_at(&mut self, time_ns: u64, subject: usize, values: &[Option<u64>]) {
        self.time_ns.push(time_ns);
        self.subject.push(u32::try_from(subject).unwrap_or(u32::MAX));
        self.values.extend_from_slice(&values[..values.len().min(self.columns.len())]);
        self.values.resize(self.time_ns.len() * self.columns.len(), None);
    }

    /// Number of rows.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.time_ns.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.time_ns.is_empty()
    }

    /// The rows with their subjects; leaves neither.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let none = Self::new(&self.source, &self.columns, &[], self.now);
        std::mem::replace(self, none)
    }

    /// Removes the rows; subjects and memory are kept.
    pub fn clear(&mut self) {
        self.time_ns.clear();
        self.subject.clear();
        self.values.clear();
    }

    /// The rows as a table.
    #[must_use]
    pub fn table(&self) -> Table {
        let column = |(index, name): (usize, &String)| Column {
            name: name.clone(),
            values: self.values.iter().skip(index).step_by(self.columns.len()).copied().collect(),
        };
        Table {
            source: self.source.clone(),
            time_ns: self.time_ns.clone(),
            subject: self.subject.clone(),
            subjects: self.subjects.clone(),
            columns: self.columns.iter().enumerate().map(column).collect(),
        }
    }
}

impl From<&Table> for Rows {
    fn from(table: &Table) -> Self {
        let names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        let mut rows = Self::new(&table.source, &names, &table.subjects, || 0);
        let mut values = Vec::with_capacity(table.columns.len());
        for (row, (time_ns, subject)) in table.time_ns.iter().zip(&table.subject).enumerate() {
            values.clear();
            values.extend(table.columns.iter().map(|column| column.values[row]));
            rows.add_at(*time_ns, *subject as usize, &values);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_has_no_value_where_one_counter_was_not_read_and_needs_all_of_them() {
        let column = |name: &str, values: [Option<u64>; 2]| Column {
            name: name.to_owned(),
            values: values.to_vec(),
        };
        let columns = vec![column("a", [Some(1), Some(u64::MAX)]), column("b", [None, Some(2)])];
        let table = Table { columns, ..Table::default() };
        let sums = table.sums(&["a", "b"]).unwrap();
        assert_eq!([0, 1, 2].map(|row| sums.at(row)), [None, Some(u64::MAX), None]);
        assert_eq!(table.sums(&["a", "c"]).unwrap_err(), "c");
    }

    #[test]
    fn a_table_survives_the_conversion_to_rows_and_back() {
        let values = |seed: u64| (0..20).map(move |row| (row % seed != 0).then_some(row * seed));
        let table = Table {
            source: "cpu".to_owned(),
            time_ns: (100..120).collect(),
            subject: (0..20).map(|row| row % 3).collect(),
            subjects: ["a", "", "g\u{fc}nter"].map(str::to_owned).to_vec(),
            columns: [3, 7]
                .map(|seed| Column { name: format!("c{seed}"), values: values(seed).collect() })
                .to_vec(),
        };
        let mut rows = Rows::from(&table);
        assert_eq!(rows.table(), table);
        rows.clear();
        assert!(rows.is_empty() && rows.table().subjects.len() == 3);
    }

    #[test]
    fn missing_values_of_a_row_are_null() {
        let mut rows = Rows::new("x", &["p".to_owned(), "q".to_owned()], &[], || 1);
        let subject = rows.subject("a");
        rows.add(subject, &[Some(7)]);
        let table = rows.table();
        assert_eq!((table.columns[0].values[0], table.columns[1].values[0]), (Some(7), None));
    }
}
