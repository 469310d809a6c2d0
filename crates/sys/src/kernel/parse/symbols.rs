//! /proc/kallsyms: `address kind name [module]`. Addresses are hidden from users, names are not.

/// Whether the kernel has one of these functions, whole or as the compiler changed it, which adds `.isra.0` and the like. Of a hundred
/// thousand lines only those that contain a name are looked at.
#[must_use]
pub fn has_function(symbols: &str, names: &[&str]) -> bool {
    let is_one = |name: &str, at: usize| {
        let (before, after) = (&symbols[..at], &symbols[at + name.len()..]);
        before.ends_with(' ') && after.starts_with(['\n', '\t', '.'])
    };
    names.iter().any(|name| symbols.match_indices(name).any(|(at, _)| is_one(name, at)))
}

#[cfg(test)]
mod tests {
    use super::has_function;

    #[test]
    fn functions_are_found_by_their_whole_names_also_where_the_compiler_changed_them() {
        let symbols =
            "0000000000000000 t reweight_eevdf.isra.0\n0000000000000000 T shrink_one\t[zram]\n";
        assert!(has_function(symbols, &["no", "reweight_eevdf"]));
        assert!(has_function(symbols, &["shrink_one"]));
        assert!(!has_function(symbols, &["reweight", "isra", "[zram]", "eevdf", "one"]));
        assert!(!has_function("", &["shrink_one"]));
    }
}
