//! Who wrote to the files that are watched, as the kernel reports it.

use std::path::PathBuf;
use std::time::Duration;

use assay_host::facts::Available;
use assay_sys::kernel::write_notices::{Notice, WriteNotices};
use assay_sys::kernel::{FileId, Root};
use serde::Serialize;

use super::watched::{Place, Watched};
use crate::Change;

/// A process that wrote to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Writer {
    /// Its number; 0 in another PID namespace.
    pub process: u32,
    /// Its name, if it still ran when the kernel reported the write.
    pub name: Option<String>,
}

/// Writes of a batch: which file, by whom.
pub(super) type Batch = Vec<(FileId, Writer)>;

/// The reports of the kernel, or why there are none.
pub(super) struct Writes {
    notices: Available<WriteNotices>,
    /// Whether reports were lost, so that everything has to be read.
    is_lost: bool,
}

impl Writes {
    pub(super) fn open(root: &Root, mounts: &[PathBuf]) -> Self {
        let notices = match root.is_real().then(|| WriteNotices::open(mounts)) {
            None => Available::NotAvailable("this is no real host".to_owned()),
            Some(Ok(notices)) => Available::Value(notices),
            Some(Err(error)) => Available::NotAvailable(format!("{error}; it needs CAP_SYS_ADMIN")),
        };
        Self { notices, is_lost: false }
    }

    /// Why no write is reported, if so.
    pub(super) fn reason(&self) -> Option<&str> {
        self.notices.reason()
    }

    /// Whether every write since the last call was reported.
    pub(super) fn is_complete(&mut self) -> bool {
        self.notices.value().is_some() && !std::mem::take(&mut self.is_lost)
    }

    /// Waits for a report; returns whether one came.
    pub(super) fn wait(&self, limit: Duration) -> bool {
        match &self.notices {
            Available::Value(notices) => notices.wait(limit).unwrap_or(false),
            Available::NotAvailable(_) => {
                std::thread::sleep(limit);
                false
            }
        }
    }

    /// All writes that have been reported, with the names of their processes while these still run.
    pub(super) fn take(&mut self, root: &Root, watched: &Watched) -> Batch {
        /// Readings of reports that are made at once.
        const MOST: usize = 64;
        let Available::Value(notices) = &mut self.notices else { return Vec::new() };
        let mut batch = Vec::new();
        for _ in 0..MOST {
            let Some(read) = notices.read() else { break };
            for notice in read {
                match notice {
                    Notice::Lost => self.is_lost = true,
                    Notice::Written { file, process } if watched.place(file).is_some() => {
                        batch.push((file, writer(root, process)));
                    }
                    Notice::Written { .. } => {}
                }
            }
        }
        batch
    }

    /// Who wrote to the file of a change; if nobody did, who wrote to another one of its group.
    pub(super) fn writers(
        &self,
        watched: &Watched,
        place: &Place,
        change: &Change,
        batch: &Batch,
    ) -> Available<Vec<Writer>> {
        if let Available::NotAvailable(why) = &self.notices {
            return Available::NotAvailable(why.clone());
        }
        let name = change.file.rsplit('/').next().unwrap_or_default();
        let of = |is_of: &dyn Fn(&str) -> bool| {
            let mut writers: Vec<Writer> = Vec::new();
            for (file, writer) in batch {
                let known = watched.place(*file);
                if known.is_some_and(|(of, name)| of == place && is_of(name))
                    && !writers.contains(writer)
                {
                    writers.push(writer.clone());
                }
            }
            writers
        };
        let mut writers = of(&|written| written == name);
        if writers.is_empty() {
            writers = of(&|_| true);
        }
        if writers.is_empty() {
            return Available::NotAvailable("no process was seen to write there".to_owned());
        }
        Available::Value(writers)
    }
}

/// The name is that of its first thread; a name is untrusted text.
fn writer(root: &Root, process: u32) -> Writer {
    let name = (process > 0).then(|| root.read_trimmed(format!("/proc/{process}/comm")).ok());
    Writer { process, name: name.flatten() }
}
