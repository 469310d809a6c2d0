//! Exports of recorded and running runs, to any writer.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_export::{Error, Follower, RunSource};
use assay_run_folder::{Run, RunFolder};

/// How often a running run is polled. The sampler writes its batches once a second.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A format that holds a single run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentFormat {
    /// Verdicts as OpenMetrics text.
    OpenMetrics,
    /// JSON like `fio --output-format=json`.
    Fio,
    /// JSON like `hyperfine --export-json`.
    Hyperfine,
}

/// A run as a document of a format that holds a single one.
///
/// ```no_run
/// use assay_export::RunSource;
/// use assay_session::{DocumentFormat, export_document};
/// for run in RunSource::find(&["runs/one".into()])? {
///     println!("{}", export_document(&run, DocumentFormat::OpenMetrics)?);
/// }
/// # Ok::<(), assay_export::Error>(())
/// ```
///
/// # Errors
/// The run cannot be read, or the format does not suit it.
pub fn export_document(source: &RunSource, format: DocumentFormat) -> Result<String, Error> {
    let run = Run::from_folder(&source.open()?)?;
    let path = source.path();
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(match format {
        DocumentFormat::Fio => {
            format!("{:#}\n", assay_export::fio(&run.manifest, &run.samples)?)
        }
        DocumentFormat::Hyperfine => format!("{:#}\n", assay_export::hyperfine(&run.manifest)?),
        DocumentFormat::OpenMetrics => {
            let promises = run.manifest.recording.is_none();
            let judgement = promises.then(|| assay_judge::judge(&run.manifest, &run.samples));
            assay_export::openmetrics(&name, &run.manifest, judgement.as_ref())
        }
    })
}

/// Writes new rows of a running run as JSON lines until it is over or `stop` returns true.
///
/// ```no_run
/// use assay_export::Follower;
/// let mut lines = Vec::new();
/// assay_session::follow_lines(Follower::new("runs/one".as_ref()), &mut lines, &|| false)?;
/// # Ok::<(), assay_export::Error>(())
/// ```
///
/// # Errors
/// The run cannot be read, or the writer fails.
pub fn follow_lines(
    mut follower: Follower,
    out: &mut dyn Write,
    stop: &dyn Fn() -> bool,
) -> Result<(), Error> {
    loop {
        // Check first: rows written after the check are still read below.
        let over = stop() || follower.is_over();
        follower.write(out)?;
        out.flush().map_err(|cause| write_error(&cause))?;
        if over {
            return Ok(());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Calls `show` with the latest counters of a running run as OpenMetrics text, once a second, until the run
/// is over.
///
/// ```no_run
/// assay_session::follow_metrics("runs/one".as_ref(), |text| {
///     println!("{text}");
///     Ok(())
/// })?;
/// # Ok::<(), assay_export::Error>(())
/// ```
///
/// # Errors
/// The run cannot be read, or those of `show`.
pub fn follow_metrics(
    run: &Path,
    mut show: impl FnMut(&str) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut follower = Follower::new(run);
    let mut live = assay_export::Live::default();
    loop {
        let over = follower.is_over();
        follower.samples(&mut |place, table| live.take(place, table))?;
        show(&live.text(follower.run()))?;
        if over {
            return Ok(());
        }
        std::thread::sleep(2 * POLL_INTERVAL);
    }
}

/// The error of a failed write; a closed pipe is one of its own.
///
/// ```
/// let closed = std::io::ErrorKind::BrokenPipe.into();
/// let error = assay_session::write_error(&closed);
/// assert!(matches!(error, assay_export::Error::ReaderClosed));
/// ```
#[must_use]
pub fn write_error(cause: &std::io::Error) -> Error {
    match cause.kind() {
        std::io::ErrorKind::BrokenPipe => Error::ReaderClosed,
        _ => Error::Write("the output".to_owned(), cause.to_string()),
    }
}

/// An export of a run as JSON lines from a separate thread while it is executed.
#[derive(Debug)]
pub struct LiveExport {
    thread: JoinHandle<Result<(), Error>>,
    over: Arc<AtomicBool>,
}

impl LiveExport {
    /// Starts the thread.
    ///
    /// ```no_run
    /// # fn example(run: &assay_run_folder::RunFolder) -> Result<(), assay_export::Error> {
    /// let live = assay_session::LiveExport::start(run, std::io::sink());
    /// live.finish()
    /// # }
    /// ```
    #[must_use]
    pub fn start(run: &RunFolder, mut out: impl Write + Send + 'static) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (follower, stop) = (Follower::from_folder(run), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            follow_lines(follower, &mut out, &|| stop.load(Ordering::Acquire))
        });
        Self { thread, over }
    }

    /// Writes the remaining rows.
    ///
    /// ```no_run
    /// # fn example(live: assay_session::LiveExport) -> Result<(), assay_export::Error> {
    /// live.finish()
    /// # }
    /// ```
    ///
    /// # Errors
    /// The run cannot be read, or the writer failed.
    pub fn finish(self) -> Result<(), Error> {
        self.over.store(true, Ordering::Release);
        // A panic of the thread was printed by its hook.
        self.thread.join().unwrap_or(Ok(()))
    }
}
