//! Samples in memory: columns of counters, in the order they were read.

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
}
