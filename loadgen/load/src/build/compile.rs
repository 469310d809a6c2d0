//! Runs the compilers: each thread takes the next file until none is left.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use assay_sys::kernel::{clock, signal};
use serde_json::json;

use super::source::Project;
use crate::failure::Failure;
use crate::generator::Report;
use crate::output::Reporter;
use crate::parallel_region::ParallelRegion;

/// Directory of a project and its files.
pub(super) struct ProjectDir<'p> {
    folder: PathBuf,
    cc: &'p Path,
    optimize: String,
    project: &'p Project,
}

/// Results of a build.
pub(super) struct Built {
    jobs: usize,
    files: usize,
    began_ns: u64,
    compiled_ns: u64,
    /// When the program was linked; `None` if it was not.
    linked_ns: Option<u64>,
    ended_by: Option<&'static str>,
}

impl<'p> ProjectDir<'p> {
    /// Writes the project into a new directory below `dir`.
    pub(super) fn create(
        dir: &Path,
        cc: &'p Path,
        optimize: &str,
        project: &'p Project,
    ) -> Result<Self, Failure> {
        let folder = dir.join("assay-build");
        let unable = |what: &str, path: &Path, error: &std::io::Error| Failure::Unable {
            what: format!("cannot {what} {}: {error}", path.display()),
            remedy: "choose a directory with free space for the project, which has no \
                     `assay-build`"
                .to_owned(),
        };
        std::fs::create_dir(&folder).map_err(|error| unable("create", &folder, &error))?;
        let project_dir = Self { folder, cc, optimize: format!("-O{optimize}"), project };
        let files = (0..project.files()).map(|index| (Project::name(index), project.text(index)));
        for (name, text) in files.chain([("main".to_owned(), project.main())]) {
            let path = project_dir.folder.join(format!("{name}.c"));
            std::fs::write(&path, text).map_err(|error| unable("write", &path, &error))?;
        }
        Ok(project_dir)
    }

    /// Compiles all files with `jobs` compilers in parallel, links them, and runs the program.
    pub(super) fn build(&self, jobs: usize, reporter: &dyn Reporter) -> Result<Built, Failure> {
        let files = self.project.files() + 1;
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let failed: Mutex<Option<Failure>> = Mutex::new(None);
        let is_over =
            || signal::interrupted_by().is_some() || failed.lock().is_ok_and(|slot| slot.is_some());
        let began_ns = clock::monotonic_ns();
        ParallelRegion::new(jobs).run(|_| {
            while !is_over() {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= files {
                    return;
                }
                match self.compile(index) {
                    Ok(()) => {
                        reporter.progress("files", done.fetch_add(1, Ordering::Relaxed) + 1, files);
                    }
                    // A compiler that received the same Ctrl-C has not failed.
                    Err(failure) if signal::interrupted_by().is_none() => {
                        if let Ok(mut slot) = failed.lock() {
                            slot.get_or_insert(failure);
                        }
                    }
                    Err(_) => {}
                }
            }
        });
        let compiled_ns = clock::monotonic_ns();
        if let Ok(Some(failure)) = failed.into_inner() {
            return Err(failure);
        }
        let mut built = Built {
            jobs,
            files: done.into_inner(),
            began_ns,
            compiled_ns,
            linked_ns: None,
            ended_by: signal::interrupted_by(),
        };
        if built.ended_by.is_none() {
            self.link()?;
            built.linked_ns = Some(clock::monotonic_ns());
            self.check()?;
        }
        Ok(built)
    }

    fn compile(&self, index: usize) -> Result<(), Failure> {
        let name = if index < self.project.files() { Project::name(index) } else { "main".into() };
        let (source, object) = (format!("{name}.c"), format!("{name}.o"));
        self.run(&[self.optimize.as_str(), "-c", &source, "-o", &object])
    }

    fn link(&self) -> Result<(), Failure> {
        let names = (0..self.project.files()).map(Project::name).chain(["main".to_owned()]);
        let objects: String = names.map(|name| format!("{name}.o\n")).collect();
        let list = self.folder.join("objects");
        std::fs::write(&list, objects).map_err(|error| Failure::Ended {
            what: format!("cannot write {}: {error}", list.display()),
            remedy: "free space in the directory".to_owned(),
        })?;
        // The list goes into a file, since thousands of names exceed the limit of a command line.
        self.run(&["@objects", "-o", "program"])
    }

    fn run(&self, words: &[&str]) -> Result<(), Failure> {
        let output = Command::new(self.cc)
            .args(words)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Failure::Ended {
                what: format!("cannot start {}: {error}", self.cc.display()),
                remedy: "apt-get install gcc, or name a compiler with --cc".to_owned(),
            })?;
        if output.status.success() {
            return Ok(());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(Failure::Ended {
            what: format!(
                "{} {} ended with {}: {}",
                self.cc.display(),
                words.join(" "),
                output.status,
                stderr.lines().next().unwrap_or("no error output")
            ),
            remedy: "check for a full disk, or a limit on memory or processes".to_owned(),
        })
    }

    /// Checks that the program prints the computed result.
    fn check(&self) -> Result<(), Failure> {
        let program = self.folder.join("program");
        let output = Command::new(&program).stdin(Stdio::null()).output();
        let output = output.map_err(|error| Failure::Ended {
            what: format!("cannot start {}: {error}", program.display()),
            remedy: "use a directory that is not mounted noexec".to_owned(),
        })?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let expected = self.project.expected_output().to_string();
        if printed.trim() == expected {
            return Ok(());
        }
        Err(Failure::Wrong(format!(
            "the compiled program prints `{}`, expected {expected}",
            printed.trim()
        )))
    }

    /// Removes the project.
    pub(super) fn remove(&self) -> Result<(), Failure> {
        std::fs::remove_dir_all(&self.folder).map_err(|error| Failure::Ended {
            what: format!("cannot remove {}: {error}", self.folder.display()),
            remedy: "remove it by hand".to_owned(),
        })
    }
}

impl Built {
    pub(super) fn report(&self, project: &Project) -> Report {
        let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 * 1e-9;
        let end_ns = self.linked_ns.unwrap_or(self.compiled_ns);
        let (all, compile) =
            (seconds(self.began_ns, end_ns), seconds(self.began_ns, self.compiled_ns));
        let rate = self.files as f64 / compile;
        let text = format!(
            "{} of {} files in {compile:.3} s: {rate:.2} per second, {} compilers in parallel; \
             {all:.3} s in total\n",
            self.files,
            project.files() + 1,
            self.jobs
        );
        let mut phases = vec![
            json!({ "name": "compile", "begin_ns": self.began_ns, "end_ns": self.compiled_ns }),
        ];
        phases.extend(
            self.linked_ns
                .map(|end| json!({ "name": "link", "begin_ns": self.compiled_ns, "end_ns": end })),
        );
        let mut json = json!({
            "jobs": self.jobs,
            "files": project.files() + 1,
            "validated": self.linked_ns.is_some(),
            "phases": phases,
            "metrics": {
                "build_s": all,
                "compile_s": compile,
                "files_per_s": rate,
                "files_done": self.files,
            },
        });
        if let Some(signal) = self.ended_by {
            json["ended_by"] = signal.into();
        }
        Report { text, json }
    }
}
