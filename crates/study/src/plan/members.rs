//! The members of a group with a count.

use crate::{Bindings, Group};

/// The members of a group: their own names, and their names below the group around them.
pub(crate) fn members(
    group: &Group,
    factors: &Bindings,
    outer: Option<&str>,
) -> Vec<(String, String)> {
    let count = group.count.resolve(factors).unwrap_or(1);
    (1..=count)
        .map(|index| {
            let number = if count > 1 { index.to_string() } else { String::new() };
            let own = format!("{}{number}", group.name);
            let name = outer.map_or_else(|| own.clone(), |outer| format!("{outer}/{own}"));
            (own, name)
        })
        .collect()
}
