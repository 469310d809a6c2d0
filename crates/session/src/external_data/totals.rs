//! Totals only: the shares of the rates.

use assay_judge::MeasuredShares;

use super::numbers::{Amounts, ExternalData};

/// Shares from totals. Rates are compared, not amounts: each group has its own duration.
pub(super) fn shares(outside: &ExternalData) -> Result<MeasuredShares, String> {
    let rates: Vec<(f64, f64)> =
        outside.groups.iter().map(|group| rate(&group.amounts)).collect::<Result<_, _>>()?;
    let all: f64 = rates.iter().map(|(rate, _)| rate).sum();
    if all <= 0.0 {
        return Err("all amounts are zero".to_owned());
    }
    Ok(MeasuredShares::Totals {
        shares: rates.iter().map(|(rate, _)| rate / all).collect(),
        window_s: rates.iter().map(|(_, seconds)| *seconds).fold(f64::INFINITY, f64::min),
        rates: rates.iter().map(|(rate, _)| *rate).collect(),
    })
}

/// Amount a second, and the seconds.
fn rate(amounts: &Amounts) -> Result<(f64, f64), String> {
    match amounts {
        Amounts::Total { amount, seconds } if *seconds > 0.0 => Ok((amount / seconds, *seconds)),
        Amounts::Total { .. } => Err("a group has a runtime of zero".to_owned()),
        Amounts::Series(_) => {
            Err("some groups have amounts over time and others only a total".to_owned())
        }
    }
}
