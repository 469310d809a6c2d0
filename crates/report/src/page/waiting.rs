//! Where the time of each group went: figures, and the tables with their numbers.

use serde::Serialize;

use crate::error::Error;
use crate::figure::{self, Figure};
use crate::number;
use crate::trial::Trial;
use crate::waiting::{Account, GroupTime, accounts};

/// All accounts of a trial; empty without evidence.
#[derive(Serialize)]
pub(super) struct Waiting {
    figures: Vec<Figure>,
    tables: Vec<Table>,
}

/// One account.
#[derive(Serialize)]
struct Table {
    title: String,
    classes: Vec<String>,
    rows: Vec<Row>,
    notes: Vec<String>,
}

/// One group.
#[derive(Serialize)]
struct Row {
    group: String,
    seconds: String,
    /// Percentages, one for each class.
    parts: Vec<String>,
}

impl Waiting {
    pub(super) fn new(trial: &Trial<'_>) -> Result<Self, Error> {
        let accounts = accounts(trial);
        let figures = figure::waiting(trial, &accounts)?;
        Ok(Self { figures, tables: accounts.into_iter().map(Table::new).collect() })
    }
}

impl Table {
    fn new(account: Account) -> Self {
        let Account { title, classes, groups, notes, .. } = account;
        Self { title, classes, rows: groups.iter().map(Row::new).collect(), notes }
    }
}

impl Row {
    fn new(group: &GroupTime) -> Self {
        Self {
            group: group.name.clone(),
            seconds: number::fixed(group.seconds, 3),
            parts: group.parts.iter().map(|part| number::percent(*part, 1)).collect(),
        }
    }
}
