//! Creates file sets on disk before a run: directories, and the files that exist from the start.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{self, AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use super::super::io_error::refused;
use super::super::uniform::{Drand48, RAND_MAX, Rand, ThreadRandom};
use super::super::workload::FileSet;
use super::layout::{Layout, Node, Paths};
use super::members::Members;
use super::picks::EntryPool;
use super::remove;
use crate::failure::Failure;

/// Block size in which files are preallocated.
const PIECE: usize = 1 << 20;
/// Number of threads of `paralloc`.
const PARALLOC_THREADS: usize = 32;

/// File and directory modes, as in filebench.
const FILE_MODE: Mode = Mode::from_raw_mode(0o644);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o755);

/// A file set on disk.
#[derive(Debug)]
pub(in crate::filebench) struct Ready {
    pub(in crate::filebench) name: String,
    pub(in crate::filebench) root: PathBuf,
    /// The top of its tree; all paths are relative to it.
    pub(in crate::filebench) top: OwnedFd,
    pub(in crate::filebench) nodes: Vec<Node>,
    pub(in crate::filebench) files: Paths,
    pub(in crate::filebench) leafdirs: Paths,
    pub(in crate::filebench) directories: Paths,
    pub(in crate::filebench) file_pool: EntryPool,
    pub(in crate::filebench) leafdir_pool: EntryPool,
    pub(in crate::filebench) directory_pool: EntryPool,
    pub(in crate::filebench) readonly: bool,
    pub(in crate::filebench) writeonly: bool,
    /// Whether the tree was created just now and matches the definition exactly.
    pub(in crate::filebench) is_new: bool,
}

/// Random number generators used by all sets in order.
pub(in crate::filebench) struct Draws<'s> {
    pub(in crate::filebench) source: &'s Drand48,
    pub(in crate::filebench) rand: Rand,
    pub(in crate::filebench) own: ThreadRandom,
}

/// Creates a set. `log` gets filebench's lines, `progress` the number of files created so far.
pub(in crate::filebench) fn prepare(
    set: &FileSet,
    draws: &mut Draws<'_>,
    threads: usize,
    log: &mut dyn FnMut(String),
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Ready, Failure> {
    let layout = Layout::draw(set, draws.source);
    if !set.single {
        log(format!(
            "{} populated: {} files, avg. dir. width = {}, avg. dir. depth = {:.1}, {} leafdirs, \
             {:.3}MB total size",
            set.name,
            set.entries,
            layout.mean_width,
            layout.mean_depth,
            set.leafdirs,
            layout.bytes as f64 / 1_048_576.0
        ));
    }
    let root = set.root();
    let directories = layout.directory_paths();
    let reusing = set.trusttree || (set.reuse && root.is_dir());
    let top = if reusing {
        log(format!("Reusing existing {} tree", set.name));
        open_top(&root)?
    } else {
        log(format!("Removing {} tree (if exists)", set.name));
        remove::tree(&root)?;
        log(format!("Pre-allocating directories in {} tree", set.name));
        make_tree(&root, &directories)?
    };
    log(format!("Pre-allocating files in {} tree", set.name));
    let files = layout.node_paths(&layout.files);
    let leafdirs = layout.node_paths(&layout.leafdirs);
    let cut = RAND_MAX * (100 - set.prealloc.min(100)) / 100;
    let order = draws.choose(set.entries as usize, |drawn| cut == 0 || drawn > cut);
    let maker =
        Creator { set, root: &root, top: &top, files: &files, nodes: &layout.files, reusing };
    maker.all(&order, progress)?;
    let dirs = draws.choose(set.leafdirs as usize, |drawn| drawn >= cut);
    for at in &dirs {
        match fs::mkdirat(&top, leafdirs.get(*at), DIRECTORY_MODE) {
            Ok(()) => {}
            Err(Errno::EXIST) if reusing => {}
            Err(errno) => return Err(refused("create", &root.join(leafdirs.text(*at)), errno)),
        }
    }
    let all: Vec<usize> = (0..directories.len() + 1).collect();
    Ok(Ready {
        name: set.name.clone(),
        file_pool: EntryPool::new(files.len(), &order, threads),
        leafdir_pool: EntryPool::new(leafdirs.len(), &dirs, 0),
        directory_pool: EntryPool::new(all.len(), &all, 0),
        root,
        top,
        nodes: layout.files,
        files,
        leafdirs,
        directories,
        readonly: set.readonly,
        writeonly: set.writeonly,
        is_new: !reusing,
    })
}

impl Draws<'_> {
    /// Takes all numbers below `total` in random order and keeps those for whose rand(3) `keep` is
    /// true.
    fn choose(&mut self, total: usize, keep: impl Fn(u64) -> bool) -> Vec<usize> {
        let mut free = Members::none_of(total);
        (0..total).for_each(|at| free.insert(at));
        let mut kept = Vec::with_capacity(total);
        while let Some(at) = free.next(self.own.below(total as u64, 0) as usize) {
            free.remove(at);
            if keep(self.rand.next()) {
                kept.push(at);
            }
        }
        kept
    }
}

fn open_top(root: &Path) -> Result<OwnedFd, Failure> {
    fs::openat(CWD, root, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| refused("open", root, errno))
}

fn make_tree(root: &Path, directories: &Paths) -> Result<OwnedFd, Failure> {
    fs::mkdirat(CWD, root, DIRECTORY_MODE).map_err(|errno| refused("create", root, errno))?;
    let top = open_top(root)?;
    for at in 0..directories.len() {
        fs::mkdirat(&top, directories.get(at), DIRECTORY_MODE)
            .map_err(|errno| refused("create", &root.join(directories.text(at)), errno))?;
    }
    Ok(top)
}

/// State shared by the threads of `paralloc`.
struct Creator<'m> {
    set: &'m FileSet,
    root: &'m Path,
    top: &'m OwnedFd,
    files: &'m Paths,
    nodes: &'m [Node],
    reusing: bool,
}

impl Creator<'_> {
    fn all(
        &self,
        order: &[usize],
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<(), Failure> {
        let next = AtomicUsize::new(0);
        let failed = Mutex::new(None);
        let zeroes = vec![0; PIECE];
        let work = || {
            loop {
                let done = next.fetch_add(1, Ordering::Relaxed);
                let Some(at) = order.get(done) else { return };
                if let Err(failure) = self.file(*at, zeroes.as_slice()) {
                    // The other threads stop at their next file.
                    next.store(order.len(), Ordering::Relaxed);
                    if let Ok(mut first) = failed.lock() {
                        first.get_or_insert(failure);
                    }
                    return;
                }
                if done.is_multiple_of(256) {
                    progress(done, order.len());
                }
            }
        };
        let makers = if self.set.paralloc { PARALLOC_THREADS.min(order.len()) } else { 1 };
        std::thread::scope(|scope| {
            for _ in 1..makers {
                scope.spawn(work);
            }
            work();
        });
        failed.into_inner().ok().flatten().map_or(Ok(()), Err)
    }

    /// Creates one file, or adjusts the existing one.
    fn file(&self, at: usize, zeroes: &[u8]) -> Result<(), Failure> {
        let (path, size) = (self.files.get(at), self.nodes[at].size);
        let fail = |operation: &str, errno| {
            refused(operation, &self.root.join(self.files.text(at)), errno)
        };
        if self.reusing {
            if self.set.trusttree {
                return Ok(());
            }
            match fs::statat(self.top, path, AtFlags::empty()) {
                Ok(stat) if stat.st_size as u64 == size => return Ok(()),
                Ok(stat) if stat.st_size as u64 > size => {
                    let file =
                        fs::openat(self.top, path, OFlags::RDWR | OFlags::CLOEXEC, FILE_MODE)
                            .map_err(|errno| fail("open", errno))?;
                    return fs::ftruncate(&file, size).map_err(|errno| fail("truncate", errno));
                }
                Ok(_) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(fail("stat", errno)),
            }
        }
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let file =
            fs::openat(self.top, path, flags, FILE_MODE).map_err(|errno| fail("create", errno))?;
        let mut remaining = size as usize;
        while remaining > 0 {
            let piece = &zeroes[..remaining.min(PIECE)];
            remaining -=
                rustix::io::write(file.as_fd(), piece).map_err(|errno| fail("write", errno))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
