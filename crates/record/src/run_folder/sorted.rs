//! Samples as series, one subject at a time, and as grids of several groups.

use assay_stats::series::{integrated, monotone};
use assay_stats::{Grid, Series};

use crate::run_folder::Table;
use crate::terms::Measure;

/// A table whose rows are sorted by subject once. Reading a [`Table`] for each subject would scan
/// all rows once per group, which at 128 groups dominates the judgement.
pub struct Sorted<'t> {
    table: &'t Table,
    rows: Vec<Vec<u32>>,
}

impl<'t> Sorted<'t> {
    /// Sorts the rows of the table of this source; `None` when there is no such table.
    pub fn find(tables: &'t [Table], source: &str) -> Option<Self> {
        let table = tables.iter().find(|table| table.source == source)?;
        let mut rows = vec![Vec::new(); table.subjects.len()];
        for (row, &subject) in (0_u32..).zip(&table.subject) {
            if let Some(rows) = rows.get_mut(subject as usize) {
                rows.push(row);
            }
        }
        Some(Self { table, rows })
    }

    /// The readings of one counter of the subject with this index; none without such a counter.
    pub fn series(&self, subject: usize, column: &str) -> Series {
        let Some(column) = self.table.column(column) else { return Vec::new() };
        let reading = |&row: &u32| {
            let row = row as usize;
            Some((*self.table.time_ns.get(row)?, (*column.values.get(row)?)? as f64))
        };
        self.rows.get(subject).into_iter().flatten().filter_map(reading).collect()
    }

    /// Its subjects, by their index.
    pub fn subjects(&self) -> &'t [String] {
        &self.table.subjects
    }

    /// Source of the table.
    pub fn source(&self) -> &'t str {
        &self.table.source
    }

    /// The sum of some counters of one subject. Rows with an unreadable counter are left out. The
    /// error names what is missing.
    pub fn sum(&self, subject: &str, columns: &[&str]) -> Result<Series, String> {
        let source = &self.table.source;
        let index = self.table.subjects.iter().position(|name| name == subject);
        let rows = index
            .and_then(|index| self.rows.get(index))
            .ok_or_else(|| format!("table `{source}` has no rows of `{subject}`"))?;
        let sums = self.table.sums(columns);
        let sums = sums.map_err(|name| format!("table `{source}` has no column `{name}`"))?;
        let reading = |&row: &u32| {
            let row = row as usize;
            Some((*self.table.time_ns.get(row)?, sums.at(row)? as f64))
        };
        let series: Series = rows.iter().filter_map(reading).collect();
        if series.len() < 2 {
            return Err(format!("table `{source}` has fewer than two readings of `{subject}`"));
        }
        Ok(series)
    }
}

/// Resamples a measure of these groups between two times. The error says what is missing.
pub fn resample(
    table: &Sorted<'_>,
    measure: Measure,
    groups: &[&str],
    from_ns: u64,
    to_ns: u64,
) -> Result<Grid, String> {
    let mut all: Vec<Series> = Vec::with_capacity(groups.len());
    for group in groups {
        let series = table.sum(group, measure.columns())?;
        all.push(match measure.is_gauge() {
            true => integrated(&series),
            false => monotone(group, series)?,
        });
    }
    Grid::of_series(&all, measure.scale(), from_ns, to_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_folder::Column;

    #[test]
    fn names_the_group_that_has_no_rows() {
        let tables = [Table {
            source: "cpu".to_owned(),
            time_ns: vec![0, 1],
            subject: vec![0, 0],
            subjects: vec!["a".to_owned()],
            columns: vec![Column { name: "usage_ns".to_owned(), values: vec![Some(0), Some(1)] }],
        }];
        let sorted = Sorted::find(&tables, "cpu").unwrap();
        let error = resample(&sorted, Measure::CpuTime, &["a", "c"], 0, 1).unwrap_err();
        assert_eq!(error, "table `cpu` has no rows of `c`");
    }
}
