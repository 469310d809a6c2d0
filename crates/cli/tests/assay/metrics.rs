//! `assay audit --watch --metrics`: a real scrape of a real watch, hostile clients, and the queries of the dashboard.

mod dashboard;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::audit::Weighted;
use crate::bench::Bench;
use crate::running::Running;
use assay_test_support::{Need, skip};

/// Nothing here takes as long, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// A watch that answers at a port of its own.
struct Watch<'b> {
    bench: &'b Bench,
    running: Running,
    address: SocketAddr,
}

impl<'b> Watch<'b> {
    fn start(bench: &'b Bench) -> Self {
        let mut command = bench.program();
        command.args([
            "audit",
            "--watch",
            "--json",
            "--every",
            "200ms",
            "--metrics",
            "127.0.0.1:0",
        ]);
        let mut running = Running::start(command, bench.folder(), bench.out());
        let mut address = None;
        running.wait_until("the address", |_| {
            let text = fs::read_to_string(bench.path("stderr")).unwrap();
            let found = text
                .split_once("metrics at http://")
                .and_then(|(_, rest)| rest.split_once("/metrics\n"));
            address = found.map(|(address, _)| address.parse().unwrap());
            address.is_some()
        });
        Self { bench, running, address: address.unwrap() }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// The page, as a monitor gets it.
    fn scrape(&self) -> String {
        let mut stream = self.connect();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, page) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(
            head.contains("\r\nContent-Type: application/openmetrics-text; version=1.0.0"),
            "{head}"
        );
        assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", page.len())), "{head}");
        page.to_owned()
    }

    /// The lines of changes so far.
    fn changes(&self) -> usize {
        let text = fs::read_to_string(self.bench.path("stdout")).unwrap();
        text.lines().filter(|line| line.contains("\"kind\":\"change\"")).count()
    }

    fn end(self) {
        self.running.signal(Signal::INT);
        self.running.end(PATIENCE).assert_code(0);
        assert!(TcpStream::connect(self.address).is_err(), "it listens after its end");
    }
}

/// The value of a series of a page.
fn value(page: &str, series: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{series}: {page}")).parse().unwrap()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "no {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_watch_answers_with_what_it_sees_and_no_client_holds_it_up() {
    let test = "metrics of a watch";
    let Some(bench) = Bench::with(test, &[Need::Controller("cpu")]) else { return };
    let Some(group) = Weighted::make() else {
        return skip(test, "no group can be made in a hierarchy of cpu");
    };
    let watch = Watch::start(&bench);
    let before = watch.scrape();
    assert!(
        before.ends_with("\n# EOF\n") && value(&before, "assay_watch_groups") > 0.0,
        "{before}"
    );
    assert!(
        before.contains("assay_audit_findings{rule=\"A-SCHEDULER\",class=\"cannot-act\"} "),
        "{before}"
    );
    assert!(!before.contains("assay-audit-"), "a group is named: {before}");

    let (silent, deaf) = hostile(&watch);
    let changed = watch.changes();
    group.set("333");
    until("change", || watch.changes() > changed);
    // The watch has seen it while all of them were still there or waiting.
    let looks = value(&before, "assay_watch_looks_total");
    let series = format!("assay_watch_changes_total{{knob=\"{}\"}}", group.file());
    let mut after = String::new();
    until("later look", || {
        after = watch.scrape();
        value(&after, &series) > value(&before, &series)
            && value(&after, "assay_watch_looks_total") > looks
    });
    assert_eq!(after.lines().count(), before.lines().count(), "{after}");
    assert!(value(&after, "assay_watch_cpu_seconds_total") > 0.0, "{after}");
    drop((silent, deaf));
    dashboard::asks_only_for_what_is_there(&after);
    watch.end();
    drop(group);
    bench.assert_host_is_as_before(test);
}

/// Clients that say nothing, that ask for other things, that never end their request, and that never read.
fn hostile(watch: &Watch) -> (Vec<TcpStream>, Vec<TcpStream>) {
    let silent = (0..24).map(|_| watch.connect()).collect();
    let deaf: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = watch.connect();
            stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
            stream
        })
        .collect();
    let mut endless = watch.connect();
    endless.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    while endless.write(&[b'a'; 1 << 16]).is_ok_and(|written| written > 0) {}
    (silent, deaf)
}

#[test]
fn an_address_that_is_taken_is_named() {
    let bench = Bench::aside();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = bench.assay(["audit", "--watch", "--for", "1s", "--metrics", &address]);
    ended.assert_code(4);
    for part in [format!("cannot listen at {address}"), "--metrics ADDR:PORT".to_owned()] {
        assert!(ended.stderr.contains(&part), "{part}: {}", ended.stderr);
    }
}
