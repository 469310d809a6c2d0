//! Values for named things (adapters, resources, interfaces), and classes of traffic.

use crate::knob::amount::bytes_or_max;

/// Normalizes `NAME KEY=NUMBER ...`, each key at most once, and at least one.
pub(crate) fn keys(value: &str, known: &[&str]) -> Option<String> {
    let mut words = value.split_whitespace();
    let name = words.next().filter(|name| !name.contains('='))?;
    let mut present: Vec<&str> = Vec::new();
    for word in words {
        let (key, number) = word.split_once('=')?;
        let is_number = number == "max" || number.parse::<u32>().is_ok();
        if !is_number || !known.contains(&key) || present.contains(&key) {
            return None;
        }
        present.push(key);
    }
    let words: Vec<&str> = value.split_whitespace().skip(1).collect();
    (!present.is_empty()).then(|| format!("{name} {}", words.join(" ")))
}

/// Normalizes `NAME NUMBER`.
pub(crate) fn number(value: &str, is_bytes: bool, may_be_max: bool) -> Option<String> {
    let (name, number) = value.split_once(char::is_whitespace)?;
    let number = number.trim();
    let written = if number == "max" {
        may_be_max.then(|| number.to_owned())?
    } else if is_bytes {
        bytes_or_max(number)?
    } else {
        number.parse::<u32>().ok()?.to_string()
    };
    Some(format!("{name} {written}"))
}

/// The number of a traffic class in decimal, the format in which the file reads.
pub(crate) fn class_id(value: &str) -> Option<String> {
    let hexadecimal = |text: &str| u32::from_str_radix(text, 16).ok();
    if let Some(digits) = value.strip_prefix("0x") {
        return hexadecimal(digits).map(|class| class.to_string());
    }
    let Some((major, minor)) = value.split_once(':') else {
        return value.parse::<u32>().ok().map(|class| class.to_string());
    };
    let (major, minor) = (hexadecimal(major)?, hexadecimal(minor)?);
    (major <= 0xffff && minor <= 0xffff).then(|| (major << 16 | minor).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_spellings_of_a_class_have_one_number() {
        for text in ["0x100001", "10:1", "1048577"] {
            assert_eq!(class_id(text).as_deref(), Some("1048577"), "{text}");
        }
        for text in ["", "10:", "0x", "1:10000", "classic", "-1"] {
            assert_eq!(class_id(text), None, "{text}");
        }
    }

    #[test]
    fn named_values_need_a_name_and_known_keys() {
        let known = &["hca_handle", "hca_object"];
        assert!(keys("mlx4_0 hca_handle=2 hca_object=max", known).is_some());
        for text in ["hca_handle=2", "mlx4_0", "mlx4_0 handles=2", "mlx4_0 hca_handle=many"] {
            assert_eq!(keys(text, known), None, "{text}");
        }
        assert_eq!(number("vram0 1 GiB", true, true).as_deref(), Some("vram0 1073741824"));
        assert_eq!(number("eth0 max", false, false), None);
    }
}
