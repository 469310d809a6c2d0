//! Amounts as the manifests of managers write them, read exactly.

/// A number of Kubernetes (`250m`, `0.5`, `512Mi`, `1e3`) in parts of a unit, rounded up as the kubelet does: parts are
/// 1000 for CPUs in thousandths, 1 for bytes.
pub(super) fn kubernetes(text: &str, parts: u64) -> Option<u64> {
    const SUFFIXES: [(&str, u128, u128); 14] = [
        ("Ki", 1 << 10, 1),
        ("Mi", 1 << 20, 1),
        ("Gi", 1 << 30, 1),
        ("Ti", 1 << 40, 1),
        ("Pi", 1 << 50, 1),
        ("Ei", 1 << 60, 1),
        ("n", 1, 1_000_000_000),
        ("u", 1, 1_000_000),
        ("m", 1, 1_000),
        ("k", 1_000, 1),
        ("M", 1_000_000, 1),
        ("G", 1_000_000_000, 1),
        ("T", 1_000_000_000_000, 1),
        ("P", 1_000_000_000_000_000, 1),
    ];
    let text = text.trim();
    let (number, times, by) = SUFFIXES
        .iter()
        .find_map(|(suffix, times, by)| Some((text.strip_suffix(suffix)?, *times, *by)))
        .or_else(|| exponent(text))
        .unwrap_or((text, 1, 1));
    scaled(number, times.checked_mul(u128::from(parts))?, by)
}

/// `12E2` is the number 12 and the factor 100; `1E` is 10 to the 18th.
fn exponent(text: &str) -> Option<(&str, u128, u128)> {
    let (number, power) = text.split_once(['e', 'E'])?;
    if power.is_empty() {
        return text.ends_with('E').then_some((number, 10_u128.pow(18), 1));
    }
    let power: i32 = power.parse().ok().filter(|power: &i32| (-9..=18).contains(power))?;
    let factor = 10_u128.pow(power.unsigned_abs());
    Some(if power < 0 { (number, 1, factor) } else { (number, factor, 1) })
}

/// Bytes of docker and compose (`512m`, `1.5gb`, `64kb`, `1024`), with factors of 1024.
pub(super) fn docker_bytes(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let word = lower.strip_suffix("ib").or_else(|| lower.strip_suffix('b')).unwrap_or(&lower);
    binary(word.trim_end(), &["k", "m", "g", "t"])
}

/// Bytes of systemd (`1G`, `512M`), with factors of 1024.
pub(super) fn systemd_bytes(text: &str) -> Option<u64> {
    binary(text.trim(), &["K", "M", "G", "T", "P", "E"])
}

fn binary(text: &str, suffixes: &[&str]) -> Option<u64> {
    let known = suffixes.iter().zip(1..);
    let (number, power) = known
        .filter_map(|(suffix, power)| Some((text.strip_suffix(suffix)?, power)))
        .next()
        .unwrap_or((text, 0));
    scaled(number, 1_u128 << (10 * power), 1)
}

/// `12.5%` in hundredths of a percent.
pub(super) fn percent(text: &str) -> Option<u64> {
    scaled(text.trim().strip_suffix('%')?, 100, 1)
}

/// CPUs of docker (`1.5`), in thousandths of one.
pub(super) fn milli(text: &str) -> Option<u64> {
    scaled(text.trim(), 1000, 1)
}

/// A decimal number times a fraction, rounded up.
fn scaled(number: &str, times: u128, by: u128) -> Option<u64> {
    const MOST_DIGITS: usize = 18;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || digits.len() > MOST_DIGITS {
        return None;
    }
    let by = by.checked_mul(10_u128.pow(u32::try_from(fraction.len()).ok()?))?;
    let product = digits.parse::<u128>().ok()?.checked_mul(times)?;
    u64::try_from(product.div_ceil(by)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_their_programs_do() {
        for (text, parts, expected) in [
            ("250m", 1000, 250),
            ("0.5", 1000, 500),
            ("2", 1000, 2000),
            ("1e1", 1000, 10_000),
            ("100u", 1000, 1),
            ("512Mi", 1, 512 << 20),
            ("1.5Gi", 1, 3 << 29),
            ("129M", 1, 129_000_000),
            ("128974848", 1, 128_974_848),
            ("128974848000m", 1, 128_974_848),
            ("12E2", 1, 1200),
            ("1E", 1, 1_000_000_000_000_000_000),
        ] {
            assert_eq!(kubernetes(text, parts), Some(expected), "{text}");
        }
        for (text, expected) in
            [("512m", 512 << 20), ("1.5gb", 3 << 29), ("64KiB", 64 << 10), ("100", 100), ("7b", 7)]
        {
            assert_eq!(docker_bytes(text), Some(expected), "{text}");
        }
        assert_eq!((systemd_bytes("1G"), systemd_bytes("1.5K")), (Some(1 << 30), Some(1536)));
        assert_eq!((percent("12.5%"), percent("50")), (Some(1250), None));
        assert_eq!(milli("0.25"), Some(250));
    }

    #[test]
    fn anything_else_is_no_amount() {
        for text in ["", "m", "-1", "1.2.3", "1e99", "99999999999999999999", "0x10", "1 2"] {
            assert_eq!(kubernetes(text, 1000), None, "{text}");
            assert_eq!(docker_bytes(text), None, "{text}");
        }
    }
}
