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
