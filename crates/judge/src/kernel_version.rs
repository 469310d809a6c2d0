//! Which kernel a run was recorded on, as far as causes ask.

/// Major and minor of `6.18.44-name`; `None` for what is no version.
pub(crate) fn parse(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_build_is_no_part_of_a_version() {
        assert_eq!(parse("6.18.44-fc-v669"), Some((6, 18)));
        assert_eq!(parse("4.15"), Some((4, 15)));
        assert_eq!(parse("rolling"), None);
    }
}
