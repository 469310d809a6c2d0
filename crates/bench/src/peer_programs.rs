//! The programs that are compared. A peer is never part of this project: it is built elsewhere, and an
//! environment variable names it.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::progress;

/// `assay-load` and its peer.
pub(crate) struct Programs {
    pub(crate) ours: PathBuf,
    pub(crate) peer: PathBuf,
}

/// Our `assay-load`, which is next to `assay`.
pub(crate) fn load(assay: &Path) -> Result<PathBuf, Failure> {
    let ours = assay.with_file_name("assay-load");
    if ours.is_file() {
        return Ok(ours);
    }
    let remedy = "build it with `make build`";
    Err(Failure::Failed(format!("{} does not exist: {remedy}", ours.display())))
}

impl Programs {
    /// The peer named by `variable`, whose files `is_there` must exist, and ours, which is next to
    /// `assay`. `None` if the variable is not set.
    pub(crate) fn named(
        variable: &str,
        what: &str,
        assay: &Path,
        is_there: impl Fn(&Path) -> Vec<PathBuf>,
    ) -> Result<Option<Self>, Failure> {
        let Some(peer) = std::env::var_os(variable).filter(|path| !path.is_empty()) else {
            progress(&format!("not compared: {variable} is not set ({what})"));
            return Ok(None);
        };
        let (peer, ours) = (PathBuf::from(peer), load(assay)?);
        if let Some(missing) = is_there(&peer).into_iter().find(|path| !path.is_file()) {
            let missing = missing.display();
            return Err(Failure::Failed(format!(
                "{missing} does not exist: {variable} must name {what}"
            )));
        }
        Ok(Some(Self { ours, peer }))
    }

    /// The same if the variable names the program itself.
    pub(crate) fn program(
        variable: &str,
        what: &str,
        assay: &Path,
    ) -> Result<Option<Self>, Failure> {
        Self::named(variable, what, assay, |peer| vec![peer.to_owned()])
    }
}
