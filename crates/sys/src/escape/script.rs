//! Quoting for shells and job scripts.

/// Quotes one shell word, whatever it contains (POSIX, Shell Command Language, 2.2.2).
#[must_use]
pub fn shell_word(word: &str) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "-_./=,:@%+".contains(sign);
    // A shell expands none of these within a word, except `=x` at the start in zsh.
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Quotes a command line for a shell.
#[must_use]
pub fn shell_words<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    words.into_iter().map(|word| shell_word(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// Sanitizes a word for a `#SBATCH` line or a comment of a job script. No escapes there work in all
/// versions of Slurm, and a newline would begin a command, so every other character becomes `_`.
#[must_use]
pub fn slurm_word(word: &str) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "._,-".contains(sign);
    word.chars().map(|sign| if plain(sign) { sign } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_would_split_are_quoted() {
        assert_eq!(shell_word("--set"), "--set");
        assert_eq!(shell_word("groups=4,8"), "groups=4,8");
        assert_eq!(shell_word("my study.toml"), "'my study.toml'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("=ls"), "'=ls'");
        assert_eq!(shell_words(["assay", "run", "a b"]), "assay run 'a b'");
    }

    #[test]
    fn the_shell_parses_quoted_words_back() {
        for word in ["a'b\"c$d\n`e`", "~/x", "#x", "!x", "a\\b", "*", "\u{1b}[2J", "-n"] {
            let script = format!("printf %s {}", shell_word(word));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }

    #[test]
    fn a_name_adds_no_newline_and_no_blank_to_a_job_script() {
        assert_eq!(slurm_word("io-weight.2"), "io-weight.2");
        assert_eq!(slurm_word("a b\ntouch /owned"), "a_b_touch__owned");
    }
}
