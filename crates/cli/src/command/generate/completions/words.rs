//! The command line that is completed.

use std::ffi::OsString;

/// Its words, which a script gives after `--`.
pub(super) fn words() -> Vec<OsString> {
    std::env::args_os().skip_while(|word| word != "--").skip(1).collect()
}

/// Those of them that may name a study.
pub(super) fn words_of_study() -> Vec<String> {
    let words = words().into_iter().filter_map(|word| word.into_string().ok());
    let is_file = |word: &str| [".toml", ".fio"].iter().any(|end| word.ends_with(end));
    let is_shipped = |word: &str| assay_study::shipped().iter().any(|study| study.name == word);
    words.filter(|word| is_file(word) || is_shipped(word)).collect()
}
