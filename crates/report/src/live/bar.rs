//! Text bars, one character per column.

/// A progress bar, 0 to 1.
pub(super) fn progress(part: f64, columns: usize) -> String {
    let full = (part.clamp(0.0, 1.0) * columns as f64).round() as usize;
    (0..columns).map(|column| if column < full { '\u{2588}' } else { '\u{2591}' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ascii::ascii;

    #[test]
    fn progress_stays_within_its_columns() {
        assert_eq!(ascii(&progress(0.5, 4)), "##..");
        assert_eq!(ascii(&progress(7.0, 4)), "####");
        assert_eq!(ascii(&progress(f64::NAN, 4)), "....");
    }
}
