//! Answers, of which the one with the page is kept for a moment: however many ask, the page is made once a second.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::request::{OK, answer};

/// For how long a page is sent again.
pub(super) const FRESH: Duration = Duration::from_secs(1);

/// Makes answers.
pub(super) struct Answers<'p> {
    page: &'p mut dyn FnMut() -> String,
    fresh: Duration,
    /// The latest answer with the page, and when that was made.
    kept: Option<(Rc<[u8]>, Instant)>,
}

impl<'p> Answers<'p> {
    pub(super) fn new(page: &'p mut dyn FnMut() -> String, fresh: Duration) -> Self {
        Self { page, fresh, kept: None }
    }

    /// The whole answer with this status.
    pub(super) fn with(&mut self, status: &str) -> Rc<[u8]> {
        if status != OK {
            return answer(status, &mut String::new).into();
        }
        if let Some((kept, made)) = &self.kept
            && made.elapsed() < self.fresh
        {
            return Rc::clone(kept);
        }
        let made: Rc<[u8]> = answer(status, self.page).into();
        // Now, since an audit may take longer than a page is kept.
        self.kept = Some((Rc::clone(&made), Instant::now()));
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often the page is made for three requests and one for another page, and the last answer.
    fn made(fresh: Duration) -> (usize, String) {
        let mut made = 0_usize;
        let mut page = || {
            made += 1;
            format!("page {made}")
        };
        let mut answers = Answers::new(&mut page, fresh);
        for status in [OK, "404 Not Found", OK] {
            answers.with(status);
        }
        let last = String::from_utf8_lossy(&answers.with(OK)).into_owned();
        drop(answers);
        (made, last)
    }

    #[test]
    fn a_page_is_made_once_while_it_is_fresh_and_never_for_an_error() {
        let (times, last) = made(Duration::from_secs(3600));
        assert!(times == 1 && last.ends_with("\r\n\r\npage 1"), "{times}: {last}");
        let (times, last) = made(Duration::ZERO);
        assert!(times == 3 && last.ends_with("\r\n\r\npage 3"), "{times}: {last}");
    }
}
