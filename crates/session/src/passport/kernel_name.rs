//! Kernels by their names on the command line.

use std::fmt;
use std::str::FromStr;

use assay_lab::KernelChoice;

/// A kernel of a passport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassportKernelName {
    pub(super) text: String,
    /// The guest's kernel; `None` for the running one.
    pub(super) choice: Option<KernelChoice>,
}

impl PassportKernelName {
    /// The name of its folder.
    pub(super) fn folder(&self) -> String {
        let keep = |c: char| if c.is_ascii_alphanumeric() || "+-._".contains(c) { c } else { '_' };
        let name: String = self.text.chars().map(keep).collect();
        name.trim_start_matches('.').to_owned()
    }
}

impl FromStr for PassportKernelName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let choice = match text {
            "host" => None,
            text => {
                let choice = text.parse::<KernelChoice>();
                Some(choice.map_err(|why| format!("{why}, or `host`"))?)
            }
        };
        Ok(Self { text: text.to_owned(), choice })
    }
}

impl fmt::Display for PassportKernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_host_or_a_kernel_of_the_lab() {
        let of = |text: &str| text.parse::<PassportKernelName>();
        assert_eq!(of("host").unwrap().choice, None);
        assert!(matches!(of("debian-newest").unwrap().choice, Some(KernelChoice::DebianNewest)));
        let image = of("./out/bzImage:./mods").unwrap();
        assert_eq!(image.folder(), "_out_bzImage_._mods");
        assert!(of("6.1").unwrap_err().contains("or `host`"));
    }
}
