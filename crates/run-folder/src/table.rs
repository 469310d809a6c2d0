//! Samples in memory: tables as they are read, and rows that wait to be written. Rows are one buffer per column
//! in Arrow's layout, whose memory is reused from one batch to the next.

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
    /// [`RepeatRecord`]: crate::RepeatRecord
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

/// One counter of the waiting rows.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    /// One value per row, 0 where there is none.
    pub(crate) values: Vec<u64>,
    /// One bit per row, lowest first: whether there is a value. Not kept as long as every row has one.
    pub(crate) present: Vec<u8>,
    /// Rows without a value.
    pub(crate) missing: usize,
}

impl Counter {
    fn push(&mut self, value: Option<u64>) {
        match value {
            Some(value) if self.missing == 0 => self.values.push(value),
            value => self.push_in_part(value),
        }
    }

    /// Adds a row where not every row has a value.
    fn push_in_part(&mut self, value: Option<u64>) {
        let row = self.values.len();
        if self.missing == 0 {
            self.present.clear();
            self.present.resize(row / 8, 0xff);
            if !row.is_multiple_of(8) {
                self.present.push((1 << (row % 8)) - 1);
            }
        }
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
        let has_bit = |bits: &u8| bits >> (row % 8) & 1 == 1;
        let is_present = self.missing == 0 || self.present.get(row / 8).is_some_and(has_bit);
        if is_present { self.values.get(row).copied() } else { None }
    }
}

/// Rows of one source that wait to be written. Row `i` was read at `time_ns[i]` from subject `subject[i]`.
/// Adding a row allocates only if no earlier batch was as large.
#[derive(Debug)]
pub struct Rows {
    source: String,
    columns: Vec<String>,
    now: fn() -> u64,
    pub(crate) time_ns: Vec<u64>,
    pub(crate) subject: Vec<u32>,
    pub(crate) counters: Vec<Counter>,
    /// The names of all subjects, concatenated, and where each ends.
    names: String,
    ends: Vec<usize>,
}

impl Rows {
    /// No rows yet of `source`, with these counters and subjects; `now` gives the time of a row.
    #[must_use]
    pub fn new(source: &str, columns: &[String], subjects: &[String], now: fn() -> u64) -> Self {
        let mut rows = Self {
            source: source.to_owned(),
            columns: columns.to_vec(),
            now,
            time_ns: Vec::new(),
            subject: Vec::new(),
            counters: columns.iter().map(|_| Counter::default()).collect(),
            names: String::new(),
            ends: Vec::new(),
        };
        for subject in subjects {
            rows.subject(subject);
        }
        rows
    }

    /// The time of a row added now.
    #[must_use]
    pub fn now(&self) -> u64 {
        (self.now)()
    }

    /// Adds a subject, whose name the caller ensures to be unique; returns its index.
    pub fn subject(&mut self, name: &str) -> usize {
        self.names.push_str(name);
        self.ends.push(self.names.len());
        self.ends.len() - 1
    }

    /// The name of a subject; empty if it was never added.
    pub(crate) fn name(&self, subject: u32) -> &str {
        let at = subject as usize;
        let begin = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(at).copied().unwrap_or(0);
        self.names.get(begin.unwrap_or(0)..end).unwrap_or_default()
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
        let mut values = values.iter();
        for counter in &mut self.counters {
            counter.push(values.next().copied().flatten());
        }
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

    /// Removes the rows; subjects and memory are kept.
    pub fn clear(&mut self) {
        self.time_ns.clear();
        self.subject.clear();
        for counter in &mut self.counters {
            counter.values.clear();
            counter.present.clear();
            counter.missing = 0;
        }
    }

    /// The rows as a table.
    #[must_use]
    pub fn table(&self) -> Table {
        let column = |(name, counter): (&String, &Counter)| Column {
            name: name.clone(),
            values: (0..self.len()).map(|row| counter.get(row)).collect(),
        };
        Table {
            source: self.source.clone(),
            time_ns: self.time_ns.clone(),
            subject: self.subject.clone(),
            subjects: (0..self.ends.len()).map(|at| self.name(at as u32).to_owned()).collect(),
            columns: self.columns.iter().zip(&self.counters).map(column).collect(),
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
    fn the_first_missing_value_may_come_after_many_rows() {
        for first in 0..20 {
            let mut rows = Rows::new("x", &["p".to_owned()], &["a".to_owned()], || 1);
            let value = |row: u64| (row < first || !row.is_multiple_of(3)).then_some(row);
            let values: Vec<Option<u64>> = (0..24).map(value).collect();
            values.iter().for_each(|value| rows.add(0, &[*value]));
            assert_eq!(rows.table().columns[0].values, values, "{first}");
        }
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
