//! The passport's folder: what was asked, the results of each kernel, and the document made from them.

use std::path::Path;

use assay_sys::exit::Error;
use assay_sys::files::{Caller, Dir, Trust, check};
use assay_sys::units::Bytes;
use serde::{Deserialize, Serialize};

use super::assemble::PassportKernelName;
use super::results::{KernelResults, begin_again};

/// What was asked, `request.json`: results of other guests are not mixed with these.
const REQUEST: &str = "request.json";

const KERNELS: &str = "kernels";

/// The passport.
const DOCUMENT: &str = "passport.json";

/// Limit of the request that is read.
const MAX_REQUEST: u64 = 1 << 20;

/// What decides how a case runs in a guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Conditions {
    pub(super) schema: u32,
    /// Whose cases ran.
    pub(super) assay: String,
    pub(super) layout: String,
    pub(super) cpus: u32,
    pub(super) nodes: u32,
    pub(super) memory: Bytes,
    pub(super) swap: Option<Bytes>,
    pub(super) patience: Option<f64>,
}

/// An open folder.
#[derive(Debug)]
pub(super) struct Folder {
    dir: Dir,
    kernels: Dir,
}

impl Folder {
    /// Opens the folder for these conditions. Results of earlier calls stay, unless `fresh`. As they count as what this
    /// host and its guests did, a folder that other users may change is refused unless they are trusted.
    pub(super) fn open(
        path: &Path,
        trust: Trust,
        asked: &Conditions,
        fresh: bool,
    ) -> Result<Self, Error> {
        let checked = check(path, Caller::from_sudo(), trust).map_err(Error::host)?;
        let dir = checked.make().map_err(Error::host)?;
        let is_new = dir.is_empty().map_err(Error::host)?;
        if !is_new && !dir.has_file(REQUEST) {
            let what = format!("{} is not empty, and not a passport", path.display());
            return Err(Error::usage(format!("{what}\n  hint: --out names another folder")));
        }
        if fresh {
            dir.remove_tree(KERNELS).map_err(Error::host)?;
        }
        if !is_new && !fresh {
            let text = dir.text(REQUEST, MAX_REQUEST).map_err(Error::usage)?;
            let known: Conditions = serde_json::from_str(&text)
                .map_err(|cause| Error::usage(format!("cannot understand {REQUEST}: {cause}")))?;
            if let Some(how) = known.unlike(asked) {
                return Err(begin_again(format!("{} was begun {how}", path.display())));
            }
        }
        let text = serde_json::to_string_pretty(asked).map_err(Error::host)?;
        dir.replace(REQUEST, text.as_bytes()).map_err(Error::host)?;
        let kernels = dir.make_dir(KERNELS).map_err(Error::host)?;
        Ok(Self { dir, kernels })
    }

    /// The results of a kernel so far.
    pub(super) fn results(&self, name: &PassportKernelName) -> Result<KernelResults, Error> {
        KernelResults::open(&self.kernels, &name.folder())
    }

    /// Writes the passport.
    pub(super) fn write(&self, document: &str) -> Result<(), Error> {
        self.dir.replace(DOCUMENT, document.as_bytes()).map_err(Error::host)
    }

    /// The path of the passport.
    pub(super) fn document(&self) -> std::path::PathBuf {
        self.dir.path().join(DOCUMENT)
    }
}

impl Conditions {
    /// How these differ from what is asked.
    fn unlike(&self, asked: &Self) -> Option<String> {
        let (by, now) = (&self.assay, &asked.assay);
        match self == asked {
            true => None,
            false if by != now => {
                Some(format!("by Assay {by}, not Assay {now}: its cases may be others"))
            }
            false => Some(format!("with {}, not {}", self.words(), asked.words())),
        }
    }

    fn words(&self) -> String {
        let patience = self.patience.map(|factor| format!(", patience {factor}"));
        let swap = self.swap.map(|size| format!(", swap {size}")).unwrap_or_default();
        format!(
            "cgroup {}, {} CPUs, {} nodes, {}{swap}{}",
            self.layout,
            self.cpus,
            self.nodes,
            self.memory,
            patience.unwrap_or_default()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(cpus: u32) -> Conditions {
        let memory = Bytes::mebi(2048);
        let layout = "v2".to_owned();
        let assay = "1.2.3 (cases ab)".to_owned();
        Conditions { schema: 1, assay, layout, cpus, nodes: 1, memory, swap: None, patience: None }
    }

    fn open(path: &Path, cpus: u32, fresh: bool) -> Result<Folder, Error> {
        Folder::open(path, Trust::Checked, &asked(cpus), fresh)
    }

    #[test]
    fn the_same_command_goes_on_and_another_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("passport");
        drop(open(&out, 2, false).unwrap());
        std::fs::write(out.join("kernels/host.json"), "").unwrap();
        drop(open(&out, 2, false).unwrap());
        assert!(out.join("kernels/host.json").is_file());
        let error = open(&out, 4, false).unwrap_err().to_string();
        assert!(error.contains("2 CPUs") && error.contains("--fresh"), "{error}");
        drop(open(&out, 4, true).unwrap());
        assert!(!out.join("kernels/host.json").exists());
    }

    #[test]
    fn results_of_another_assay_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("passport");
        drop(open(&out, 2, false).unwrap());
        let request = out.join(REQUEST);
        let text = std::fs::read_to_string(&request).unwrap();
        let mut known: serde_json::Value = serde_json::from_str(&text).unwrap();
        known["assay"] = "1.2.3 (cases cd)".into();
        std::fs::write(&request, known.to_string()).unwrap();
        let error = open(&out, 2, false).unwrap_err().to_string();
        for says in ["cases cd", "not Assay 1.2.3 (cases ab)", "--fresh"] {
            assert!(error.contains(says), "{says}: {error}");
        }
    }

    #[test]
    fn a_folder_of_something_else_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("mine"), "").unwrap();
        let error = open(place.path(), 2, true).unwrap_err().to_string();
        assert!(error.contains("not a passport"), "{error}");
    }

    #[test]
    fn results_that_others_may_have_written_are_not_believed() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("passport");
        drop(open(&out, 2, false).unwrap());
        std::fs::set_permissions(&out, std::fs::Permissions::from_mode(0o777)).unwrap();
        let error = open(&out, 2, false).unwrap_err().to_string();
        assert!(error.contains("--allow-shared-dir"), "{error}");
        assert!(Folder::open(&out, Trust::UserConfirmed, &asked(2), false).is_ok());
    }
}
