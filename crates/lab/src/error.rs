//! Errors of guests and of the lab.

use std::fmt;
use std::path::PathBuf;

/// A failure of the lab itself; a failed command in the guest is not one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What went wrong, as a sentence fragment.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The guest's console, if there was one.
    pub console: Option<Console>,
}

/// The end of a guest's console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Console {
    /// Path of the whole log.
    pub log: PathBuf,
    /// The last lines.
    pub tail: Vec<String>,
}

impl Error {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, console: None }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same, with this hint unless it has one.
    pub(crate) fn or_hint(self, hint: &str) -> Self {
        Self { hint: self.hint.or_else(|| Some(hint.to_owned())), ..self }
    }

    pub(crate) fn console(self, console: Console) -> Self {
        Self { console: Some(console), ..self }
    }

    /// A failed file operation on the host.
    pub(crate) fn file(verb: &str, path: &std::path::Path, cause: &std::io::Error) -> Self {
        let error = Self::new(format!("cannot {verb} {}: {cause}", path.display()));
        match cause.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                error.hint("free space there, or set ASSAY_LAB_CACHE to another folder")
            }
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                error.hint("run as root, or set ASSAY_LAB_CACHE to a folder that you own")
            }
            _ => error,
        }
    }
}

impl From<assay_sys::kernel::Error> for Error {
    fn from(error: assay_sys::kernel::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<assay_sys::files::Error> for Error {
    fn from(error: assay_sys::files::Error) -> Self {
        let own = Self::file(error.operation, &error.path, &error.cause);
        Self { hint: error.hint.or(own.hint.clone()), ..own }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(console) = &self.console {
            write!(f, "\n  the console ended with")?;
            if console.tail.is_empty() {
                write!(f, "\n    (nothing)")?;
            }
            for line in &console.tail {
                write!(f, "\n    {line}")?;
            }
            write!(f, "\n  all of it: {}", console.log.display())?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_ends_with_the_console_and_the_remedy() {
        let console = Console { log: "/x/console.log".into(), tail: vec!["Kernel panic".into()] };
        let text = Error::new("the guest died").console(console).hint("look").to_string();
        assert_eq!(
            text,
            "the guest died\n  the console ended with\n    Kernel panic\n  all of it: \
             /x/console.log\n  hint: look"
        );
    }
}
