//! The head of a request, from anybody who can connect: what is answered, and how.

/// Bytes of a head that are read.
pub(super) const MOST: usize = 8 << 10;

/// The page that there is.
const PATH: &[u8] = b"/metrics";

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The status of an answer with the page.
pub(super) const OK: &str = "200 OK";

/// The status of the answer, as soon as the head is complete or too long. Its last `fresh` bytes were not seen before.
pub(super) fn status(head: &[u8], fresh: usize) -> Option<&'static str> {
    // The end may have begun in what came before.
    let from = head.len().saturating_sub(fresh.saturating_add(3));
    if !head[from..].windows(4).any(|end| end == b"\r\n\r\n") {
        return (head.len() >= MOST).then_some("431 Request Header Fields Too Large");
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let words: Vec<&[u8]> = line.splitn(4, |byte| *byte == b' ').collect();
    let [method, target, b"HTTP/1.0" | b"HTTP/1.1"] = words[..] else {
        return Some("400 Bad Request");
    };
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    Some(match (method, path) {
        (b"GET", PATH) => OK,
        (b"GET", _) => "404 Not Found",
        _ => "405 Method Not Allowed",
    })
}

/// The whole answer; the page is asked for only if it is sent.
pub(super) fn answer(status: &str, page: &mut dyn FnMut() -> String) -> Vec<u8> {
    let (kind, body) = match status == OK {
        true => (OPENMETRICS, page()),
        false => ("text/plain; charset=utf-8", format!("{status}: GET /metrics\n")),
    };
    let allow = if status.starts_with("405 ") { "Allow: GET\r\n" } else { "" };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allow}Connection: close\r\n\r\n"
    );
    (head + &body).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_is_answered_and_only_to_get() {
        let code = |line: &str| {
            let head = format!("{line}\r\nHost: a\r\n\r\n");
            status(head.as_bytes(), head.len()).map(|status| status[..3].to_owned())
        };
        for (line, expected) in [
            ("GET /metrics HTTP/1.1", "200"),
            ("GET /metrics?name=a HTTP/1.0", "200"),
            ("GET / HTTP/1.1", "404"),
            ("GET /metrics/ HTTP/1.1", "404"),
            ("GET /../metrics HTTP/1.1", "404"),
            ("HEAD /metrics HTTP/1.1", "405"),
            ("POST /metrics HTTP/1.1", "405"),
            ("GET /metrics HTTP/2", "400"),
            ("GET /metrics", "400"),
            ("GET  /metrics HTTP/1.1", "400"),
            ("GET /metrics HTTP/1.1 x", "400"),
            ("", "400"),
            ("\u{0}\u{ff}", "400"),
        ] {
            assert_eq!(code(line).as_deref(), Some(expected), "{line:?}");
        }
    }

    #[test]
    fn a_head_is_awaited_until_it_is_whole_or_too_long() {
        let whole = b"GET /metrics HTTP/1.1\r\nA: b\r\n\r\n";
        for end in 0..whole.len() {
            assert_eq!(status(&whole[..end], 1), None, "{end}");
        }
        // Its end may come in any parts.
        for fresh in 1..=whole.len() {
            assert_eq!(status(whole, fresh), Some(OK), "{fresh}");
        }
        assert_eq!(status(&[b'a'; MOST - 1], 1), None);
        assert!(status(&[b'a'; MOST], 1).is_some_and(|status| status.starts_with("431")));
    }

    #[test]
    fn an_answer_says_how_long_it_is_and_no_page_is_made_for_an_error() {
        let text = |status: &str, page: &mut dyn FnMut() -> String| {
            String::from_utf8(answer(status, page)).unwrap()
        };
        let sent = text(OK, &mut || "# EOF\n".to_owned());
        assert!(
            sent.contains("Content-Length: 6\r\n") && sent.ends_with("\r\n\r\n# EOF\n"),
            "{sent}"
        );
        let refused = text("405 Method Not Allowed", &mut || unreachable!("a page for an error"));
        assert!(refused.contains("Allow: GET\r\n"), "{refused}");
    }
}
