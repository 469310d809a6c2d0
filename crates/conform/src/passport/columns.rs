//! The cases on the running kernel, and in guests of the lab. A guest that is lost costs the cases of one part, which are
//! tried once more, last and one by one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_host::gather;
use assay_lab::study::this_program_in_guest;
use assay_lab::{Argument, Cache, GuestSpec, GuestTask, Kernel, KernelChoice, Watcher};
use assay_run::context::Context;
use assay_sys::exit::Error;
use assay_sys::kernel::signal;

use super::results::{DocumentStream, KernelResults, begin_again, case_name, parts};
use super::{Outcome, Say};
use crate::request::prepare_conform;
use crate::{Case, CaseRecord, progress};

/// Runs the cases that have no result yet, part by part.
pub(super) fn run_on_host(
    context: &Context,
    cases: &[&Case],
    patience: Option<f64>,
    mut results: KernelResults,
    say: Say,
) -> Result<Outcome, Error> {
    // Also where no case is left to run: the column would pass for this kernel's.
    results.of_kernel("host", &gather(&context.root).map_err(Error::host)?.kernel)?;
    for part in parts(cases, &results.settled(), &[]) {
        let request = prepare_conform(context, part, patience)?;
        let mut telling =
            |case: &Case, record: Option<&CaseRecord>| tell_of_case(case, record, &say);
        let finished = crate::run(&request, &mut telling).map_err(Error::host)?;
        results.add(finished.document.clone()).map_err(begin_again)?;
        for error in &finished.not_restored {
            say(&format!("error: not restored: {error}"));
        }
        if !finished.document.restored {
            return Ok(Outcome::NotRestored);
        }
        if finished.interrupted.is_some() {
            return Ok(Outcome::Interrupted);
        }
    }
    Ok(Outcome::Done)
}

fn tell_of_case(case: &Case, record: Option<&CaseRecord>, say: &dyn Fn(&str)) {
    if let Some(text) = progress(case, record) {
        say(&format!("host: {text}"));
    }
}

/// Guests of one kernel at most.
const ATTEMPTS: usize = 3;

/// Runs `assay conform` once a part, so that each part's results arrive when they are there. Exit codes other than those
/// of verdicts end the guest.
const SCRIPT: &str = "assay=$1; patience=$2; shift 2
for part; do
    \"$assay\" conform --yes -o json $patience $part
    case $? in 0 | 1 | 3) ;; *) exit $? ;; esac
done";

/// Characters of a line of progress that are shown at most.
const LINE: usize = 500;

/// What runs in guests, and how.
pub(super) struct Guests<'g> {
    pub(super) spec: GuestSpec,
    pub(super) cases: &'g [&'g Case],
    pub(super) patience: Option<f64>,
    pub(super) cache: &'g Cache,
    pub(super) say: Say,
}

impl Guests<'_> {
    /// Runs the cases that have no result yet. Whatever fails is noted in the folder of the results.
    pub(super) fn run(&self, name: &str, mut results: KernelResults) -> Result<Outcome, Error> {
        let is_done = parts(self.cases, &results.settled(), &[]).is_empty();
        // Debian's need not be there any more. An image may be of another release now.
        if is_done && !matches!(self.spec.kernel, KernelChoice::Image { .. }) {
            return Ok(Outcome::Done);
        }
        let mut remark = |text: &str| (self.say)(&format!("{name}: {text}"));
        let provided = Kernel::provide(&self.spec.kernel, self.cache, false, &mut remark);
        if !is_done {
            results.state.lost.clear();
        }
        match provided {
            Ok(kernel) => {
                results.of_kernel(name, &kernel.release)?;
                if !is_done {
                    self.boot_until_done(name, &kernel.release, results)?;
                }
            }
            Err(error) => {
                remark(&error.to_string());
                if !is_done {
                    results.note(None, Some(error.to_string()))?;
                }
            }
        }
        Ok(interrupted_or_done())
    }

    /// Boots guests until every case has a result that counts, or no more of them bring any.
    fn boot_until_done(
        &self,
        name: &str,
        release: &str,
        results: KernelResults,
    ) -> Result<(), Error> {
        let mut suspects = Vec::new();
        let shared = Arc::new(Mutex::new(results));
        for attempt in 0..ATTEMPTS {
            let before = lock(&shared).count();
            let open = parts(self.cases, &lock(&shared).settled(), &suspects);
            if open.is_empty() {
                break;
            }
            let lost = self.boot(name, release, &open, &shared)?;
            if signal::interrupted_by().is_some() {
                break;
            }
            let mut results = lock(&shared);
            let is_lost = lost.is_some();
            if let Some(why) = lost {
                suspects = self.suspects(&results, &suspects);
                let why = format!("{why} (while it ran {})", suspects.join(", "));
                (self.say)(&format!("{name}: {why}"));
                results.note(None, Some(why))?;
            }
            if results.count() == before && (!is_lost || attempt > 0) {
                break;
            }
        }
        Ok(())
    }

    /// The cases that ran when a guest was lost.
    fn suspects(&self, results: &KernelResults, before: &[String]) -> Vec<String> {
        let open = parts(self.cases, &results.settled(), before);
        open.first().map_or_else(Vec::new, |part| part.iter().map(|case| case_name(case)).collect())
    }

    /// One guest, from boot to end; returns why it was lost, if it was.
    fn boot(
        &self,
        kernel: &str,
        release: &str,
        open: &[Vec<&Case>],
        shared: &Arc<Mutex<KernelResults>>,
    ) -> Result<Option<String>, Error> {
        let collector = Collector {
            kernel: kernel.to_owned(),
            release: release.to_owned(),
            stream: DocumentStream::default(),
            results: Arc::clone(shared),
            line: Vec::new(),
            say: self.say,
        };
        let ended = assay_lab::run(&self.spec, &self.task(open)?, self.cache, collector);
        let mut results = lock(shared);
        match ended {
            Ok(ended) => {
                results.note(Some(round(ended.boot.as_secs_f64())), None)?;
                let is_complete = matches!(ended.code, 0 | 1 | 3);
                Ok((!is_complete).then(|| format!("its command ended with code {}", ended.code)))
            }
            Err(error) => Ok(Some(error.what)),
        }
    }

    fn task(&self, open: &[Vec<&Case>]) -> Result<GuestTask, Error> {
        let own = this_program_in_guest([])?;
        let patience = self.patience.map(|factor| format!("--patience={factor}"));
        let words = ["sh", "-c", SCRIPT, "sh"].map(|word| Argument::Text(word.to_owned()));
        let parts = open.iter().map(|part| {
            let names: Vec<String> = part.iter().map(|case| case_name(case)).collect();
            Argument::Text(names.join(" "))
        });
        let patience = [Argument::Text(patience.unwrap_or_default())];
        let command = words.into_iter().chain(own.command).chain(patience).chain(parts).collect();
        Ok(GuestTask { command, ..own })
    }
}

fn interrupted_or_done() -> Outcome {
    match signal::interrupted_by() {
        Some(_) => Outcome::Interrupted,
        None => Outcome::Done,
    }
}

fn lock(results: &Mutex<KernelResults>) -> MutexGuard<'_, KernelResults> {
    results.lock().unwrap_or_else(PoisonError::into_inner)
}

fn round(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

/// Keeps the results that a guest prints, as they arrive.
struct Collector {
    kernel: String,
    release: String,
    stream: DocumentStream,
    results: Arc<Mutex<KernelResults>>,
    /// The beginning of a line of its standard error.
    line: Vec<u8>,
    say: Say,
}

impl Collector {
    fn tell(&self, text: &str) {
        (self.say)(&format!("{}: {text}", self.kernel));
    }
}

impl Watcher for Collector {
    fn output(&mut self, bytes: &[u8]) {
        let documents = match self.stream.push(bytes) {
            Ok(documents) => documents,
            Err(why) => return self.tell(&why),
        };
        for document in documents {
            let kept = match document.kernel == self.release {
                true => lock(&self.results).add(document),
                false => Err(format!("the guest says that it is Linux {}", document.kernel)),
            };
            if let Err(why) = kept {
                self.tell(&format!("a result is not kept: {why}"));
            }
        }
    }

    fn errors(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' => {
                    let line = std::mem::take(&mut self.line);
                    self.tell(&String::from_utf8_lossy(&line));
                }
                byte if self.line.len() < LINE => self.line.push(*byte),
                _ => {}
            }
        }
    }

    fn remark(&mut self, text: &str) {
        self.tell(text);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use assay_sys::files::Dir;

    use super::*;
    use crate::Verdict;
    use crate::passport::fake::{document, record};

    #[test]
    fn a_case_that_may_harm_the_host_is_announced() {
        let said = RefCell::new(Vec::new());
        let say = |text: &str| said.borrow_mut().push(text.to_owned());
        let storms = ["cpu/a-storm-of-wakeups-leaves-siblings-the-cpu".to_owned()];
        let storm = crate::select(&storms).unwrap()[0];
        tell_of_case(storm, None, &say);
        tell_of_case(storm, Some(&record("a", Verdict::Broken)), &say);
        let said = said.into_inner();
        assert_eq!(said.len(), 2, "{said:?}");
        let warning = storm.warning.unwrap();
        assert!(said[0].starts_with("host: cpu/") && said[0].ends_with(warning), "{said:?}");
        assert!(said[1].starts_with("host: broken"), "{said:?}");
    }

    #[test]
    fn results_of_another_kernel_than_the_booted_one_are_not_kept() {
        let place = tempfile::tempdir().unwrap();
        let kernels = Dir::open(place.path()).unwrap();
        let results = KernelResults::open(&kernels, "debian-6.1").unwrap();
        let mut collector = Collector {
            kernel: "debian-6.1".to_owned(),
            release: "6.1.0".to_owned(),
            stream: DocumentStream::default(),
            results: Arc::new(Mutex::new(results)),
            line: Vec::new(),
            say: |_| (),
        };
        for release in ["6.1.0", "6.18.44"] {
            let sent = document(release, vec![record(release, Verdict::Kept)]);
            collector.output(serde_json::to_string(&sent).unwrap().as_bytes());
        }
        collector.output(b"Kernel panic\n");
        collector.errors(b"half a li");
        assert_eq!(lock(&collector.results).records().len(), 1);
        assert_eq!(lock(&collector.results).release(), Some("6.1.0"));
    }
}
