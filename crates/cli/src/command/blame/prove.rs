//! The options of `assay blame --prove`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use assay_blame::collect::{HoldBy, ProveOptions};
use assay_sys::exit::Error;
use clap::{Args, ValueEnum};

use crate::parsers::duration_in;
use crate::shared_arguments::YesArguments;

/// Arguments of a proof.
#[derive(Debug, Args)]
pub(super) struct ProveArguments {
    /// Then hold this group, unit or pod back
    ///
    /// In turns in random order, and say how much of the waiting this takes away. A group, unit, container
    /// or pod; or own_quota or own_memory_high, which is lifted.
    #[arg(long, value_name = "CULPRIT")]
    prove: Option<String>,
    /// Hold back by `freezing` or by `weight`
    #[arg(long, value_enum, default_value_t = By::Freezing, hide_default_value = true, hide_possible_values = true, requires = "prove")]
    by: By,
    /// Turns, half of them held back
    #[arg(long, value_name = "N", default_value = "12", value_parser = turns, requires = "prove")]
    turns: u32,
    /// Length of a turn
    #[arg(short, long, value_name = "DURATION", default_value = "1s", value_parser = turn, requires = "prove")]
    duration: Duration,
    /// Seed for the order of turns
    #[arg(long, value_name = "N", requires = "prove")]
    seed: Option<u64>,
    #[command(flatten)]
    yes: YesArguments,
}

/// What is done to a culprit.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    /// Its processes stand still
    Freezing,
    /// It has the least weight
    Weight,
}

impl ProveArguments {
    /// What to do, if a proof is asked for. Groups that assay did not make are changed with `--yes`, or after a
    /// question.
    pub(super) fn options(&self) -> Result<Option<ProveOptions>, Error> {
        let Some(culprit) = self.prove.clone() else { return Ok(None) };
        let turns = self.turns / 2;
        let what =
            format!("--prove holds `{culprit}` back in {turns} turns of {:?}.", self.duration);
        let allow_foreign = self.yes.answer(&what)?;
        let by = match self.by {
            By::Freezing => HoldBy::Freezing,
            By::Weight => HoldBy::Weight,
        };
        Ok(Some(ProveOptions {
            culprit,
            by,
            turns: self.turns,
            length: self.duration,
            seed: self.seed.unwrap_or_else(drawn),
            allow_foreign,
        }))
    }
}

/// A seed that is short to type again.
fn drawn() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_micros())
}

fn turns(text: &str) -> Result<u32, String> {
    const ALLOWED: std::ops::RangeInclusive<u32> = 6..=1000;
    let count = text.parse().map_err(|_| "expected a number".to_owned())?;
    match ALLOWED.contains(&count) && count % 2 == 0 {
        true => Ok(count),
        false => Err("expected an even number from 6 to 1000: turns come in pairs".to_owned()),
    }
}

fn turn(text: &str) -> Result<Duration, String> {
    const ALLOWED: std::ops::RangeInclusive<Duration> =
        Duration::from_millis(100)..=Duration::from_secs(10);
    duration_in(text, ALLOWED, "a turn lasts 100ms to 10s")
}
