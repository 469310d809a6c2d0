//! Why a test failed, said at once.

use std::io::{Write, stderr};
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::Once;
use std::thread;
use std::time::Duration;

/// Lines of a reason that are said at once; all of it stands at the end.
const SHOWN: usize = 30;

/// libtest keeps what a failed test said until all others have run, which here is half an hour, and
/// a log that is cut short has lost it by then. The reason is written beside libtest, just below
/// the line that says FAILED.
pub(crate) fn tell_at_once() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            usual(panic);
            tell_later(reason(panic));
        }));
    });
}

fn reason(panic: &PanicHookInfo<'_>) -> String {
    let thread = thread::current();
    let text = format!("{}: {panic}", thread.name().unwrap_or("a thread"));
    let lines: Vec<String> = text.lines().take(SHOWN).map(|line| format!("    {line}\n")).collect();
    lines.concat()
}

fn tell_later(reason: String) {
    const UNTIL_LIBTEST_HAS_SAID_SO: Duration = Duration::from_millis(300);
    thread::spawn(move || {
        thread::sleep(UNTIL_LIBTEST_HAS_SAID_SO);
        // eprint! would be captured with what the test says.
        let _ = stderr().write_all(reason.as_bytes());
    });
}
