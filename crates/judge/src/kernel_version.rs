//! Kernel version of a run.

/// Major and minor of `6.18.44-name`; `None` for anything else.
pub(crate) fn parse(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_name_is_ignored() {
        assert_eq!(parse("6.18.44-fc-v669"), Some((6, 18)));
        assert_eq!(parse("4.15"), Some((4, 15)));
        assert_eq!(parse("rolling"), None);
    }
}
