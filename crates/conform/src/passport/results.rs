//! Results of one kernel in a file, to which documents of `assay conform -o json` are added when they arrive. A guest
//! chose what is in them, and anybody may have changed them since.

use std::collections::BTreeMap;

use assay_sys::exit::Error;
use assay_sys::files::Dir;
use serde::{Deserialize, Serialize};

use crate::{Case, CaseRecord, Document, SCHEMA, Verdict};

/// Limits: a document of all cases has 150 kB, and the longest line some hundred bytes.
const MAX_DOCUMENT: usize = 4 << 20;
const MAX_FILE: usize = 64 << 20;
const MAX_CASES: usize = 1000;
const MAX_LINES: usize = 200;
const MAX_TEXT: usize = 10_000;

/// The latest record of each case by its name.
pub(super) type Records = BTreeMap<(String, String), CaseRecord>;

/// The results of one kernel.
#[derive(Debug)]
pub(super) struct KernelResults {
    kernels: Dir,
    /// The name of its file there.
    file: String,
    pub(super) state: State,
}

/// What the file holds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct State {
    /// What `assay conform -o json` printed, part by part.
    pub(super) documents: Vec<Document>,
    /// Seconds until each of its guests was up.
    pub(super) boots: Vec<f64>,
    /// Why they ended early.
    pub(super) lost: Vec<String>,
}

/// The error of results that cannot stand beside those that are there.
pub(super) fn begin_again(what: impl std::fmt::Display) -> Error {
    Error::usage(format!("{what}\n  hint: --fresh begins again, --out names another folder"))
}

impl KernelResults {
    /// Reads what is known of a kernel.
    pub(super) fn open(kernels: &Dir, name: &str) -> Result<Self, Error> {
        let kernels = kernels.dir(".").map_err(Error::host)?;
        let mut results = Self { kernels, file: format!("{name}.json"), state: State::default() };
        if results.kernels.has_file(&results.file) {
            let text =
                results.kernels.text(&results.file, MAX_FILE as u64).map_err(Error::usage)?;
            let read = serde_json::from_str(&text).map_err(|cause| cause.to_string());
            results.state = read
                .and_then(|state: State| state.documents.iter().try_for_each(check).map(|()| state))
                .map_err(|why| {
                    let path = results.kernels.path().join(&results.file);
                    let hint = "hint: --fresh begins again";
                    Error::usage(format!("cannot understand {}: {why}\n  {hint}", path.display()))
                })?;
        }
        Ok(results)
    }

    /// Adds a document. One of another kernel or layout than those before is refused: a passport has
    /// one column for it.
    pub(super) fn add(&mut self, document: Document) -> Result<(), String> {
        check(&document)?;
        if let Some(first) = self.state.documents.first() {
            let of = |one: &Document| format!("Linux {} with cgroup {}", one.kernel, one.layout);
            if of(first) != of(&document) {
                return Err(format!("results of {} stand beside {}", of(&document), of(first)));
            }
        }
        self.state.documents.push(document);
        self.write().inspect_err(|_| drop(self.state.documents.pop()))
    }

    /// Notes how a guest came up or was lost.
    pub(super) fn note(&mut self, boot: Option<f64>, lost: Option<String>) -> Result<(), Error> {
        self.state.boots.extend(boot);
        self.state.lost.extend(lost);
        self.write().map_err(Error::host)
    }

    fn write(&self) -> Result<(), String> {
        let text = serde_json::to_string_pretty(&self.state).map_err(|cause| cause.to_string())?;
        if text.len() > MAX_FILE {
            return Err(format!("its results have more than {MAX_FILE} bytes"));
        }
        self.kernels.replace(&self.file, text.as_bytes()).map_err(|error| error.to_string())
    }

    /// Refuses another release than that of earlier results: both would be in one column.
    pub(super) fn of_kernel(&self, name: &str, release: &str) -> Result<(), Error> {
        match self.release() {
            Some(known) if known != release => Err(begin_again(format!(
                "the results of {name} are of Linux {known}; it is Linux {release} now"
            ))),
            _ => Ok(()),
        }
    }

    /// All records of each case, the latest last.
    fn all(&self) -> BTreeMap<(String, String), Vec<&CaseRecord>> {
        let mut all: BTreeMap<_, Vec<&CaseRecord>> = BTreeMap::new();
        for case in self.state.documents.iter().flat_map(|document| &document.cases) {
            all.entry((case.controller.clone(), case.behaviour.clone())).or_default().push(case);
        }
        all
    }

    /// The record of each case: the latest, but for what emulation may have broken.
    pub(super) fn records(&self) -> Records {
        let one = |(key, records): (_, Vec<&CaseRecord>)| {
            let latest = *records.last()?;
            let is_emulated = self.is_emulated();
            Some((key, if is_emulated { confirmed(latest, &records) } else { latest.clone() }))
        };
        self.all().into_iter().filter_map(one).collect()
    }

    /// The same without cases that an emulated guest broke once: these run again in another guest.
    pub(super) fn settled(&self) -> Records {
        let (mut records, all) = (self.records(), self.all());
        records.retain(|key, record| !(record.reason.starts_with(ONCE) && all[key].len() == 1));
        records
    }

    /// Number of results, those of one case counted one by one.
    pub(super) fn count(&self) -> usize {
        self.state.documents.iter().map(|document| document.cases.len()).sum()
    }

    /// Whether any of its guests ran without KVM: they may wait for a CPU of a busy host for seconds.
    fn is_emulated(&self) -> bool {
        let mut documents = self.state.documents.iter();
        documents.any(|one| one.virtual_machine.as_deref() == Some("QEMU"))
    }

    /// The release of the kernel, if a result names it.
    pub(super) fn release(&self) -> Option<&str> {
        self.state.documents.first().map(|document| document.kernel.as_str())
    }
}

/// How the reason of a case begins that an emulated guest broke and no other has.
const ONCE: &str = "broken in one emulated guest only: ";

/// A promise counts as broken by an emulated guest if another one broke it, too, and none kept it.
fn confirmed(latest: &CaseRecord, records: &[&CaseRecord]) -> CaseRecord {
    let broken = || records.iter().filter(|record| record.verdict == Verdict::Broken);
    match (broken().next_back(), broken().count()) {
        (None, _) => latest.clone(),
        (Some(last), count) if count > 1 && count == records.len() => (*last).clone(),
        (Some(last), _) => {
            let reason = format!("{ONCE}{}", last.reason);
            let evidence = records.iter().flat_map(|record| record.evidence.clone()).collect();
            CaseRecord { verdict: Verdict::Undecided, reason, evidence, ..latest.clone() }
        }
    }
}

/// Refuses a document that no `assay conform` writes.
pub(super) fn check(document: &Document) -> Result<(), String> {
    let is_long = |text: &str| text.len() > MAX_TEXT;
    if document.schema != SCHEMA {
        return Err(format!("it has schema {}, this version reads {SCHEMA}", document.schema));
    }
    if document.cases.len() > MAX_CASES {
        return Err(format!("it has {} cases", document.cases.len()));
    }
    let head = [&document.kernel, &document.layout, &document.started_at, &document.command];
    let head = head.into_iter().chain(&document.virtual_machine);
    let is_wrong = |case: &CaseRecord| {
        let mut texts =
            case.evidence.iter().chain([&case.controller, &case.behaviour, &case.reason]);
        case.evidence.len() > MAX_LINES
            || texts.any(|text| is_long(text))
            || !(0.0..1e6).contains(&case.seconds)
    };
    let patience = (0.0..=1e6).contains(&document.patience);
    if head.into_iter().any(|text| is_long(text))
        || document.cases.iter().any(is_wrong)
        || !patience
    {
        return Err("it has a text or a number that no case writes".to_owned());
    }
    Ok(())
}

/// Takes output of a guest and returns whole documents.
#[derive(Debug, Default)]
pub(super) struct DocumentStream {
    begun: Vec<u8>,
    is_broken: bool,
}

impl DocumentStream {
    /// The documents that end in these bytes. After an error nothing more is read: the guest prints something
    /// else.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Document>, String> {
        if self.is_broken {
            return Ok(Vec::new());
        }
        self.begun.extend_from_slice(bytes);
        let documents = self.whole_ones();
        self.is_broken = documents.is_err();
        documents
    }

    fn whole_ones(&mut self) -> Result<Vec<Document>, String> {
        let mut documents = Vec::new();
        let mut stream = serde_json::Deserializer::from_slice(&self.begun).into_iter::<Document>();
        let mut end = 0;
        while let Some(next) = stream.next() {
            match next {
                Ok(document) => {
                    documents.push(document);
                    end = stream.byte_offset();
                }
                Err(cause) if cause.is_eof() => break,
                Err(cause) => return Err(format!("the guest printed no result: {cause}")),
            }
        }
        self.begun.drain(..end);
        if self.begun.len() > MAX_DOCUMENT {
            return Err(format!("the guest printed a result of more than {MAX_DOCUMENT} bytes"));
        }
        Ok(documents)
    }
}

/// Cases of a part. To start the program once for each, which asks the tools of the host for their versions, costs six
/// seconds under emulation.
const PART: usize = 20;

/// Cases without a result, in parts. Those of `suspects`, in which a guest was lost, come last and one
/// by one.
pub(super) fn parts<'c>(
    cases: &[&'c Case],
    done: &Records,
    suspects: &[String],
) -> Vec<Vec<&'c Case>> {
    let is_open = |case: &&&'c Case| {
        !done.contains_key(&(case.controller.to_owned(), case.behaviour.to_owned()))
    };
    let open = cases.iter().filter(is_open).copied();
    let (last, first): (Vec<&Case>, Vec<&Case>) =
        open.partition(|case| suspects.contains(&case_name(case)));
    first
        .chunks(PART)
        .map(<[&Case]>::to_vec)
        .chain(last.into_iter().map(|case| vec![case]))
        .collect()
}

/// `controller/behaviour`.
pub(super) fn case_name(case: &Case) -> String {
    format!("{}/{}", case.controller, case.behaviour)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passport::fake::{document, record};

    #[test]
    fn results_stay_and_the_latest_of_a_case_counts() {
        let place = tempfile::tempdir().unwrap();
        let kernels = Dir::open(place.path()).unwrap();
        let open = || KernelResults::open(&kernels, "debian-6.1").unwrap();
        let mut results = open();
        results.add(document("6.1.0", vec![record("a", Verdict::Undecided)])).unwrap();
        results.add(document("6.1.0", vec![record("a", Verdict::Kept)])).unwrap();
        results.note(Some(12.5), Some("the guest hung".to_owned())).unwrap();
        let again = open();
        assert_eq!(again.release(), Some("6.1.0"));
        assert_eq!((again.state.boots.len(), again.state.lost.len()), (1, 1));
        let record = &again.records()[&("cpu".to_owned(), "a".to_owned())];
        assert_eq!(record.verdict, Verdict::Kept);
    }

    #[test]
    fn what_one_emulated_guest_broke_is_undecided_until_another_breaks_it() {
        use Verdict::{Broken, Kept, Undecided};
        let of = |machine: &str, verdicts: &[Verdict]| {
            let place = tempfile::tempdir().unwrap();
            let kernels = Dir::open(place.path()).unwrap();
            let mut results = KernelResults::open(&kernels, "x").unwrap();
            for verdict in verdicts {
                let mut document = document("6.1.0", vec![record("a", *verdict)]);
                document.virtual_machine = Some(machine.to_owned());
                results.add(document).unwrap();
            }
            let records = results.records();
            let verdict = records.values().next().unwrap().verdict;
            (verdict, results.settled().len())
        };
        assert_eq!(of("QEMU", &[Broken]), (Undecided, 0), "to be run again");
        assert_eq!(of("QEMU", &[Broken, Broken]), (Broken, 1));
        assert_eq!(of("QEMU", &[Broken, Kept]), (Undecided, 1));
        assert_eq!(of("QEMU", &[Undecided, Kept]), (Kept, 1));
        assert_eq!(of("KVM", &[Broken]), (Broken, 1));
    }

    #[test]
    fn one_emulated_guest_among_others_needs_confirmation_too() {
        let place = tempfile::tempdir().unwrap();
        let kernels = Dir::open(place.path()).unwrap();
        let mut results = KernelResults::open(&kernels, "x").unwrap();
        for (machine, verdict) in [("KVM", Verdict::Kept), ("QEMU", Verdict::Broken)] {
            let mut document = document("6.1.0", vec![record("a", verdict)]);
            document.virtual_machine = Some(machine.to_owned());
            results.add(document).unwrap();
        }
        let records = results.records();
        assert_eq!(records.values().next().unwrap().verdict, Verdict::Undecided);
    }

    #[test]
    fn another_kernel_or_layout_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let kernels = Dir::open(place.path()).unwrap();
        let mut results = KernelResults::open(&kernels, "x").unwrap();
        results.add(document("6.1.0", vec![])).unwrap();
        let why = results.add(document("6.12.1", vec![])).unwrap_err();
        assert!(why.contains("6.12.1") && why.contains("6.1.0"), "{why}");
    }

    #[test]
    fn results_of_another_release_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let kernels = Dir::open(place.path()).unwrap();
        let mut results = KernelResults::open(&kernels, "x").unwrap();
        assert!(results.of_kernel("./x", "6.1.1").is_ok(), "nothing has run");
        results.add(document("6.1.0", vec![record("a", Verdict::Kept)])).unwrap();
        assert!(results.of_kernel("./x", "6.1.0").is_ok());
        let error = results.of_kernel("./x", "6.12.1").unwrap_err().to_string();
        assert!(error.contains("6.1.0") && error.contains("6.12.1"), "{error}");
    }

    #[test]
    fn a_document_that_no_case_writes_is_refused() {
        let one = |change: &dyn Fn(&mut Document)| {
            let mut document = document("6.1.0", vec![record("a", Verdict::Kept)]);
            change(&mut document);
            check(&document)
        };
        assert_eq!(one(&|_| ()), Ok(()));
        assert!(one(&|document| document.schema = 2).is_err());
        assert!(one(&|document| document.kernel = "6".repeat(20_000)).is_err());
        assert!(one(&|document| document.cases[0].seconds = f64::NAN).is_err());
        assert!(one(&|document| document.cases[0].reason = "x".repeat(20_000)).is_err());
        assert!(one(&|document| document.cases[0].evidence = vec![String::new(); 300]).is_err());
        assert!(one(&|document| document.cases = vec![record("a", Verdict::Kept); 2000]).is_err());
    }

    #[test]
    fn a_damaged_document_is_named() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("x.json"), "{").unwrap();
        let kernels = Dir::open(place.path()).unwrap();
        let error = KernelResults::open(&kernels, "x").unwrap_err().to_string();
        assert!(error.contains("x.json") && error.contains("--fresh"), "{error}");
    }

    #[test]
    fn documents_arrive_whole_however_the_output_is_cut() {
        let sent: Vec<Document> =
            ["a", "b", "c"].map(|name| document("6.1.0", vec![record(name, Verdict::Kept)])).into();
        let text: String =
            sent.iter().map(|one| serde_json::to_string_pretty(one).unwrap() + "\n").collect();
        for size in [1, 7, 100, text.len()] {
            let mut stream = DocumentStream::default();
            let chunks = text.as_bytes().chunks(size);
            let got: Vec<Document> = chunks.flat_map(|chunk| stream.push(chunk).unwrap()).collect();
            assert_eq!(got, sent, "in pieces of {size}");
        }
    }

    #[test]
    fn what_is_no_result_is_refused_once() {
        let mut stream = DocumentStream::default();
        assert!(stream.push(b"Segmentation fault\n").is_err());
        assert_eq!(stream.push(b"{}").unwrap(), []);
        assert!(DocumentStream::default().push(b"{\"schema\":1}").is_err());
        let mut long = DocumentStream::default();
        assert!(long.push(&[b' '; 100]).is_ok());
        let endless = [b"{\"kernel\":\"".as_slice(), &vec![b'x'; MAX_DOCUMENT]].concat();
        assert!(long.push(&endless).is_err());
    }

    #[test]
    fn every_open_case_is_in_one_part_and_suspects_come_last() {
        let cases = crate::select(&["cpu".to_owned(), "pids".to_owned()]).unwrap();
        let all: Vec<&Case> = parts(&cases, &Records::new(), &[]).concat();
        assert_eq!(all.len(), cases.len());
        let suspects = [case_name(cases[0]), case_name(cases[1])];
        let split = parts(&cases, &Records::new(), &suspects);
        assert!(split.iter().all(|part| part.len() <= PART));
        let last: Vec<String> =
            split[split.len() - 2..].iter().map(|part| case_name(part[0])).collect();
        assert_eq!(last, suspects);
        assert!(split[split.len() - 2..].iter().all(|part| part.len() == 1));
        let key = (cases[0].controller.to_owned(), cases[0].behaviour.to_owned());
        let done = [(key, record("a", Verdict::Kept))];
        assert_eq!(parts(&cases, &done.into(), &[]).concat().len(), cases.len() - 1);
    }
}
