//! Other values for factors, as the command line gives them.

use assay_sys::diagnostic::{Diagnostic, Severity};

use crate::check;
use crate::read::mistake_in_levels;
use crate::reader::Spans;
use crate::syntax::{Scalar, Study};

/// Replaces the values of a factor, as `--set groups=4,8` does, and checks the study again. On
/// errors the study stays as it was. The diagnostics have no location, because the mistake is not
/// in the file.
pub fn set_factor(
    study: &mut Study,
    name: &str,
    values: Vec<Scalar>,
) -> Result<(), Vec<Diagnostic>> {
    set_factors(study, vec![(name.to_owned(), values)])
}

/// Like [`set_factor`] for several factors at once: some are valid only together, such as a ratio
/// that becomes 0 and the amount that replaces it.
pub fn set_factors(
    study: &mut Study,
    settings: Vec<(String, Vec<Scalar>)>,
) -> Result<(), Vec<Diagnostic>> {
    let mut changed = study.clone();
    let mut errors = vec![];
    for (name, values) in settings {
        let values = keep_text_values(study, &name, values);
        let factor = changed.factors.iter_mut().find(|factor| factor.name == name);
        match (mistake_in_levels(&name, &values), factor) {
            (Some((finding, ..)), _) => errors.push(finding),
            (None, None) => errors.push(check::unknown_factor(&name, study)),
            (None, Some(factor)) => factor.values = values,
        }
    }
    if errors.is_empty() {
        errors = check::study(&changed, &Spans::new());
        errors.retain(|finding| finding.severity == Severity::Error);
    }
    if errors.is_empty() {
        *study = changed;
        return Ok(());
    }
    Err(errors)
}

/// Keeps values as text where the file has text. A command line has no quotes: in `cpus=0,0-1` the
/// first value looks like a number, but both are lists of CPUs.
fn keep_text_values(study: &Study, name: &str, values: Vec<Scalar>) -> Vec<Scalar> {
    let known = study.factors.iter().find(|factor| factor.name == name);
    let is_text = |value: &Scalar| matches!(value, Scalar::Text(_));
    if !known.is_some_and(|factor| factor.values.iter().all(is_text)) {
        return values;
    }
    values.into_iter().map(|value| Scalar::Text(value.to_string())).collect()
}
