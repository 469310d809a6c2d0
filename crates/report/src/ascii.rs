//! ASCII replacements of report symbols for terminals whose locale is not UTF-8.

/// The text in ASCII with the same width: every symbol used in reports has a replacement; other
/// non-ASCII characters, such as from a study, become `?`.
#[must_use]
pub fn ascii(text: &str) -> String {
    text.chars().map(replacement).collect()
}

fn replacement(sign: char) -> char {
    match sign {
        '\0'..='\x7f' => sign,
        // Verdict marks; the word follows them.
        '\u{2713}' => '+',
        '\u{2717}' => 'x',
        '\u{2205}' => '0',
        // Dashes, the minus sign and lines.
        '\u{2013}' | '\u{2014}' | '\u{2212}' | '\u{2500}' => '-',
        '\u{2026}' | '\u{b7}' => '.',
        '\u{a0}' => ' ',
        '\u{b5}' => 'u',
        '\u{d7}' => 'x',
        '\u{2019}' => '\'',
        // Bars: certain part, uncertain part, promise.
        '\u{2588}' => '#',
        '\u{2592}' => '~',
        '\u{2591}' => '.',
        '\u{2502}' => '|',
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_symbol_has_a_replacement_of_the_same_width() {
        let text =
            "\u{2713} kept \u{2500}\u{2500} \u{2588}\u{2592}\u{2502}\u{b7} \u{2212}1.2 \u{b5}s";
        assert_eq!(ascii(text), "+ kept -- #~|. -1.2 us");
        assert_eq!(ascii("plain"), "plain");
        assert_eq!(ascii("gr\u{f6}\u{df}e"), "gr??e");
    }
}
