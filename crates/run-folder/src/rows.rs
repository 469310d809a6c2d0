//! Rows that wait to be written: a buffer a column, laid out as Arrow lays them out, which keeps
//! its memory from one batch to the next.

use crate::table::{Column, Table};

/// One counter of the rows that wait.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    /// A value a row, 0 where there is none.
    pub(crate) values: Vec<u64>,
    /// A bit a row, the lowest first: whether there is a value.
    pub(crate) present: Vec<u8>,
    /// Rows without a value.
    pub(crate) missing: usize,
}

impl Counter {
    fn push(&mut self, value: Option<u64>) {
        let row = self.values.len();
        if row.is_multiple_of(8) {
            self.present.push(0);
        }
        match (value, self.present.last_mut()) {
            (Some(_), Some(bits)) => *bits |= 1 << (row % 8),
            _ => self.missing += 1,
        }
        self.values.push(value.unwrap_or(0));
    }

    fn get(&self, row: usize) -> Option<u64> {
        let there = self.present.get(row / 8).is_some_and(|bits| bits >> (row % 8) & 1 == 1);
        if there { self.values.get(row).copied() } else { None }
    }
}

/// Rows of one source. Row `i` was read at `time_ns[i]` from subject `subject[i]`. Adding a row
/// allocates only where there has never been a batch of that size.
#[derive(Debug)]
pub struct RowBuffer {
    pub(crate) time_ns: Vec<u64>,
    pub(crate) subject: Vec<u32>,
    pub(crate) counters: Vec<Counter>,
    /// The names of all subjects, one behind the other, and where each ends.
    names: String,
    ends: Vec<usize>,
}

impl RowBuffer {
    /// No rows, of so many counters.
    #[must_use]
    pub fn new(counters: usize) -> Self {
        Self {
            time_ns: Vec::new(),
            subject: Vec::new(),
            counters: (0..counters).map(|_| Counter::default()).collect(),
            names: String::new(),
            ends: Vec::new(),
        }
    }

    /// A new subject; returns its index.
    pub fn add_subject(&mut self, name: &str) -> usize {
        self.names.push_str(name);
        self.ends.push(self.names.len());
        self.ends.len() - 1
    }

    /// The name of a subject; empty for one that was never added.
    pub(crate) fn name(&self, subject: u32) -> &str {
        let at = subject as usize;
        let begin = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(at).copied().unwrap_or(0);
        self.names.get(begin.unwrap_or(0)..end).unwrap_or_default()
    }

    /// Adds a row, read at `time_ns` (CLOCK_MONOTONIC). A counter without a value is `None`; what
    /// is left out at the end has none either.
    pub fn push(&mut self, time_ns: u64, subject: usize, values: &[Option<u64>]) {
        self.time_ns.push(time_ns);
        self.subject.push(u32::try_from(subject).unwrap_or(u32::MAX));
        let mut values = values.iter();
        for counter in &mut self.counters {
            counter.push(values.next().copied().flatten());
        }
    }

    /// How many rows wait.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.time_ns.len()
    }

    /// Whether none waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.time_ns.is_empty()
    }

    /// Forgets the rows, and keeps subjects and memory.
    pub fn clear(&mut self) {
        self.time_ns.clear();
        self.subject.clear();
        for counter in &mut self.counters {
            counter.values.clear();
            counter.present.clear();
            counter.missing = 0;
        }
    }

    /// The rows as a table of this source, whose counters have these names.
    #[must_use]
    pub fn table(&self, source: &str, columns: &[String]) -> Table {
        let column = |(name, counter): (&String, &Counter)| Column {
            name: name.clone(),
            values: (0..self.len()).map(|row| counter.get(row)).collect(),
        };
        Table {
            source: source.to_owned(),
            time_ns: self.time_ns.clone(),
            subject: self.subject.clone(),
            subjects: (0..self.ends.len()).map(|at| self.name(at as u32).to_owned()).collect(),
            columns: columns.iter().zip(&self.counters).map(column).collect(),
        }
    }
}

impl From<&Table> for RowBuffer {
    fn from(table: &Table) -> Self {
        let mut rows = Self::new(table.columns.len());
        for name in &table.subjects {
            rows.add_subject(name);
        }
        let mut values = Vec::with_capacity(table.columns.len());
        for (row, (time_ns, subject)) in table.time_ns.iter().zip(&table.subject).enumerate() {
            values.clear();
            values.extend(table.columns.iter().map(|column| column.values[row]));
            rows.push(*time_ns, *subject as usize, &values);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_the_table_that_they_were() {
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
        let names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        let mut rows = RowBuffer::from(&table);
        assert_eq!(rows.table("cpu", &names), table);
        rows.clear();
        assert!(rows.is_empty() && rows.table("cpu", &names).subjects.len() == 3);
    }

    #[test]
    fn what_a_row_leaves_out_is_null() {
        let mut rows = RowBuffer::new(2);
        let subject = rows.add_subject("a");
        rows.push(1, subject, &[Some(7)]);
        let table = rows.table("x", &["p".to_owned(), "q".to_owned()]);
        assert_eq!((table.columns[0].values[0], table.columns[1].values[0]), (Some(7), None));
    }
}
