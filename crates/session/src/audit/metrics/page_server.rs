//! One page by HTTP to a few clients at a time: one thread, and no wait without an end.
//!
//! Written here because it is smaller than what a server would have to be told: no keep-alive, no body, no other page.
//! Every client that connects is looked at, so that idle connections keep nobody from the page: for one more than there
//! is room for, the oldest that has not asked is closed.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::rc::Rc;
use std::time::{Duration, Instant};

use assay_kernel::open_files;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::answers::{Answers, FRESH};
use super::request::{MOST, status};

/// Clients at a time.
const CLIENTS: usize = 256;

/// Descriptors that no client takes: the watch and the audits need some.
const RESERVE: u64 = 32;

/// How long a client may take to ask, and again to take the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it is asked whether this is over.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// After a failure to accept, since a client that waits is reported again at once.
const REST: Duration = Duration::from_millis(100);

/// Answers until `is_over`.
pub(super) fn serve(
    listener: &TcpListener,
    page: &mut dyn FnMut() -> String,
    is_over: &dyn Fn() -> bool,
) {
    let mut answers = Answers::new(page, FRESH);
    let mut clients: Vec<Client> = Vec::new();
    while !is_over() {
        wait(listener, &clients);
        clients.retain_mut(|client| client.stays(&mut answers));
        if accept(listener, &mut clients, &mut answers).is_err() {
            std::thread::sleep(REST);
        }
    }
}

/// Accepts all who wait, but not without an end: those who are there have their turn.
fn accept(
    listener: &TcpListener,
    clients: &mut Vec<Client>,
    answers: &mut Answers<'_>,
) -> io::Result<()> {
    for _ in 0..CLIENTS {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        };
        let is_last = open_files::is_among_last(&stream, RESERVE);
        let Ok(mut client) = Client::new(stream) else { continue };
        // Most have asked by now and take their answer at once.
        if !client.stays(answers) {
            continue;
        }
        if is_last || clients.len() >= CLIENTS {
            make_room(clients);
        }
        clients.push(client);
    }
    Ok(())
}

/// Closes the oldest client that has not asked, or else the oldest.
fn make_room(clients: &mut Vec<Client>) {
    let silent = clients.iter().position(|client| client.answer.is_none());
    if !clients.is_empty() {
        drop(clients.remove(silent.unwrap_or_default()));
    }
}

/// Until something can be done, or a tick has passed.
fn wait(listener: &TcpListener, clients: &[Client]) {
    let mut all: Vec<PollFd<'_>> = clients.iter().map(Client::wanted).collect();
    all.push(PollFd::new(listener, PollFlags::IN));
    let began = Instant::now();
    let woken = poll(&mut all, Some(&TICK));
    // A client that sends byte by byte keeps no CPU busy.
    if woken.is_err() || began.elapsed() < Duration::from_millis(1) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

struct Client {
    stream: TcpStream,
    until: Instant,
    head: Vec<u8>,
    /// Once it has asked.
    answer: Option<Rc<[u8]>>,
    /// How much of it was taken.
    sent: usize,
}

impl Client {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let until = Instant::now() + PATIENCE;
        Ok(Self { stream, until, head: Vec::new(), answer: None, sent: 0 })
    }

    fn wanted(&self) -> PollFd<'_> {
        let flags = if self.answer.is_none() { PollFlags::IN } else { PollFlags::OUT };
        PollFd::new(&self.stream, flags)
    }

    fn stays(&mut self, answers: &mut Answers<'_>) -> bool {
        let waits =
            |kind: ErrorKind| matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted);
        let went_on = self.go_on(answers);
        went_on.is_err_and(|error| waits(error.kind())) && Instant::now() < self.until
    }

    /// Reads and writes what can be without waiting. `Ok` when there is nothing more to do.
    fn go_on(&mut self, answers: &mut Answers<'_>) -> io::Result<()> {
        while self.answer.is_none() {
            let mut part = [0; MOST];
            let room = MOST - self.head.len();
            let read = self.stream.read(&mut part[..room])?;
            if read == 0 {
                return Ok(());
            }
            self.head.extend(&part[..read]);
            if let Some(status) = status(&self.head, read) {
                self.answer = Some(answers.with(status));
                self.head = Vec::new();
                // An audit may have been made meanwhile.
                self.until = Instant::now() + PATIENCE;
            }
        }
        let answer = self.answer.as_deref().unwrap_or_default();
        while self.sent < answer.len() {
            let written = self.stream.write(&answer[self.sent..])?;
            if written == 0 {
                return Ok(());
            }
            self.sent += written;
        }
        self.stream.shutdown(Shutdown::Both)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Serves a page while `act` runs, and returns how often the page was made.
    fn served(page: &str, act: impl FnOnce(SocketAddr)) -> usize {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let (address, is_over) = (listener.local_addr().unwrap(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let server = scope.spawn(|| {
                let mut made = 0;
                let mut make = || {
                    made += 1;
                    page.to_owned()
                };
                serve(&listener, &mut make, &|| is_over.load(Ordering::Relaxed));
                made
            });
            let acted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(address)));
            is_over.store(true, Ordering::Relaxed);
            let made = server.join().unwrap();
            acted.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            made
        })
    }

    fn connect(address: SocketAddr) -> TcpStream {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = connect(address);
        stream.write_all(request).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    const GET: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";

    #[test]
    fn one_client_after_the_other_gets_the_page_which_is_made_once_a_second() {
        let began = Instant::now();
        let made = served("# EOF\n", |address| {
            for _ in 0..20 {
                assert!(ask(address, GET).ends_with("\r\n\r\n# EOF\n"));
            }
            assert!(ask(address, b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        });
        // However slow the machine is.
        assert!((1..=began.elapsed().as_secs() + 1).contains(&(made as u64)), "{made}");
    }

    #[test]
    fn room_is_made_by_the_oldest_that_has_not_asked() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = |has_asked: bool| {
            let stream = connect(listener.local_addr().unwrap());
            let answer: Option<Rc<[u8]>> = has_asked.then(|| Rc::from(&b"page"[..]));
            Client { answer, ..Client::new(stream).unwrap() }
        };
        let ports = |clients: &[Client]| -> Vec<u16> {
            clients.iter().map(|one| one.stream.local_addr().unwrap().port()).collect()
        };
        let mut clients = Vec::from([true, false, false, true].map(client));
        let before = ports(&clients);
        for left in [&[0, 2, 3][..], &[0, 3], &[3], &[], &[]] {
            make_room(&mut clients);
            let expected: Vec<u16> = left.iter().map(|at: &usize| before[*at]).collect();
            assert_eq!(ports(&clients), expected);
        }
    }

    /// More silent clients than there is room for, and one that never reads a page that no buffer of the kernel holds.
    #[test]
    fn nobody_is_waited_for_without_an_end() {
        open_files::raise_limit();
        let page = "a".repeat(32 << 20);
        served(&page, |address| {
            let mut deaf = connect(address);
            deaf.write_all(GET).unwrap();
            // It has its answer before the others come.
            deaf.read_exact(&mut [0]).unwrap();
            let silent: Vec<TcpStream> = (0..CLIENTS + 32).map(|_| connect(address)).collect();
            assert!(ask(address, GET).ends_with('a'));
            for mut one in silent {
                // Closed by the server, which never got a byte.
                assert_eq!(one.read(&mut [0]).unwrap_or(0), 0);
            }
            let mut rest = Vec::new();
            let end = deaf.read_to_end(&mut rest);
            assert!(end.is_err() || rest.len() < page.len(), "{}", rest.len());
        });
    }

    #[test]
    fn a_head_without_an_end_is_not_read_to_its_end() {
        served("", |address| {
            let mut stream = connect(address);
            let mut sent = 0_usize;
            while sent < 64 << 20 {
                match stream.write(&[b'a'; 1 << 16]) {
                    Ok(0) | Err(_) => break,
                    Ok(written) => sent += written,
                }
            }
            assert!(sent < 32 << 20, "{sent} bytes were taken");
        });
    }
}
