//! Several groups watched at once, and idle CPUs beside waiting threads, on the real kernel.
// A panic in shared test code is a failure of the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use assay_blame::watch::waits::{CpuHierarchy, WaitWatch};
use assay_blame::{Answer, CpuPart, Culprit, Verdict, text};
use assay_host::facts::Hierarchy;
use assay_host::gather;
use assay_sys::kernel::btf::member_offsets;
use assay_sys::kernel::{Root, affinity};
use assay_test_support::{HostLock, HostSnapshot, Need, host_measured, own, skip};

/// How long groups are watched.
const LENGTH: Duration = Duration::from_millis(1500);

fn lock(test: &str) -> Option<HostLock> {
    host_measured(test, &[Need::Controller("cpu")])
}

fn path(name: &str) -> String {
    format!("/assay-test-waits-{}{name}", std::process::id())
}

/// A group in which threads compute; all of it goes with this value.
struct Running {
    directory: PathBuf,
    threads: Vec<Child>,
}

impl Running {
    fn start(mount: &Path, name: &str, threads: usize, cpus: &str) -> Self {
        let directory = mount.join(path(name).trim_start_matches('/'));
        // On v2 a group has the controller only if the one above hands it down.
        let _ = fs::write(directory.parent().unwrap().join("cgroup.subtree_control"), "+cpu");
        Self::make(directory, threads, cpus)
    }

    /// One thread in a group that gets no controller.
    fn start_plain(above: &Path, name: &str) -> Self {
        Self::make(above.join(name), 1, "0")
    }

    fn make(directory: PathBuf, threads: usize, cpus: &str) -> Self {
        fs::create_dir(&directory).unwrap();
        let group = directory.display();
        let script = format!(
            "echo $$ > {group}/cgroup.procs; exec taskset -c {cpus} sh -c 'while :; do :; done'"
        );
        let one = || Command::new("sh").args(["-c", &script]).spawn().unwrap();
        let threads = std::iter::repeat_with(one).take(threads).collect();
        Self { directory, threads }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for thread in &mut self.threads {
            let _ = thread.kill();
            let _ = thread.wait();
        }
        let begun = Instant::now();
        let is_there = || self.directory.exists() && fs::remove_dir(&self.directory).is_err();
        while is_there() && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Where the controller is, for groups of the test.
fn mount() -> (CpuHierarchy, PathBuf) {
    let facts = gather(&Root::real()).unwrap();
    let (Hierarchy::V1(mount) | Hierarchy::V2(mount)) = &facts.cgroup.controllers["cpu"].hierarchy
    else {
        panic!("no groups of the controller cpu");
    };
    (CpuHierarchy::new(&facts).unwrap(), mount.clone())
}

fn watched(hierarchy: &CpuHierarchy, names: &[&str]) -> Vec<Answer> {
    let paths: Vec<String> = names.iter().map(|name| path(name)).collect();
    let mut watch = WaitWatch::on_groups(&Root::real(), hierarchy, &paths).unwrap();
    watch.start().unwrap();
    std::thread::sleep(LENGTH);
    watch.stop().unwrap();
    let counted = watch.elapsed();
    let answers = watch.finish().unwrap();
    let more = answers[0].seconds - counted.as_secs_f64();
    assert!(more.abs() < 1e-6, "it counted on after its stop: {more} s");
    for (answer, path) in answers.iter().zip(&paths) {
        assert_eq!((&answer.target, answer.verdict), (path, Verdict::Valid), "{}", text(answer));
        assert_eq!(answer.parts.iter().map(|part| part.ns).sum::<u64>(), answer.waited_ns);
    }
    answers
}

/// Threads that ran or waited on each CPU on which there were any, on average.
fn present(answer: &Answer) -> Vec<f64> {
    let seconds = |ns: u64| ns as f64 * 1e-9 / answer.seconds;
    let each = answer.cpus.iter().map(|cpu| seconds(cpu.waited_ns + cpu.ran_ns.unwrap_or(0)));
    each.filter(|threads| *threads > 0.0).collect()
}

fn charged(answer: &Answer, name: &str) -> u64 {
    let path = path(name);
    let part = answer.parts.iter().find(|part| part.group.as_deref() == Some(&path));
    part.map_or(0, |part| part.ns)
}

/// Two groups beside each other and one within the first, on one CPU: each has its own sum, the upper one counts
/// what waits and runs within it as its own, and each names the others.
#[test]
fn groups_watched_together_have_an_answer_each() {
    let Some(_lock) = lock("waits: several groups") else { return };
    let (hierarchy, mount) = mount();
    let first = Running::start(&mount, "a", 0, "0");
    let inner = Running::start(&mount, "a/inner", 2, "0");
    let second = Running::start(&mount, "b", 1, "0");
    std::thread::sleep(Duration::from_millis(500));
    let answers = watched(&hierarchy, &["a", "a/inner", "b"]);
    let [a, within, b] = &answers[..] else { panic!("{answers:?}") };
    assert!(charged(a, "b") > 0 && charged(within, "b") > 0, "{}", text(a));
    assert!(charged(b, "a/inner") > 0, "{}", text(b));
    assert_eq!((charged(a, "a/inner"), charged(within, "a/inner")), (0, 0));
    assert!(a.percent(Culprit::OwnThreads) > 1.0, "{}", text(a));
    assert_eq!(b.percent(Culprit::OwnThreads), 0.0, "{}", text(b));
    // Only the inner group has threads.
    assert_eq!((a.waited_ns, a.run_delay_ns), (within.waited_ns, within.run_delay_ns));
    // They always run or wait, and on CPU 0 only.
    for (answer, threads) in [(a, 2.0), (within, 2.0), (b, 1.0)] {
        let [cpu] = &present(answer)[..] else { panic!("{}", text(answer)) };
        assert!((cpu / threads - 1.0).abs() < 0.02, "{cpu} of {threads}: {}", text(answer));
    }
    drop((inner, first, second));
}

impl Running {
    /// Writes a file of the group, which has another name and unit on v1.
    fn set(&self, [v1, v2]: [(&str, &str); 2]) {
        let is_v2 = self.directory.join("cgroup.controllers").exists();
        let (name, value) = if is_v2 { v2 } else { v1 };
        fs::write(self.directory.join(name), value).unwrap();
    }

    /// A quota for each 100 ms.
    fn limit(&self, quota_ms: u32) {
        let quota = format!("{quota_ms}000");
        let v2 = format!("{quota} 100000");
        self.set([("cpu.cfs_quota_us", &quota), ("cpu.max", &v2)]);
    }
}

/// Two groups get the CPU three to one while a third waits.
#[test]
fn culprits_have_the_parts_that_their_weights_gave_them() {
    let Some(_lock) = lock("waits: two culprits") else { return };
    let (hierarchy, mount) = mount();
    let _mine = Running::start(&mount, "mine", 1, "0");
    let (large, small) =
        (Running::start(&mount, "large", 1, "0"), Running::start(&mount, "small", 1, "0"));
    large.set([("cpu.shares", "3072"), ("cpu.weight", "300")]);
    small.set([("cpu.shares", "1024"), ("cpu.weight", "100")]);
    std::thread::sleep(Duration::from_millis(500));
    let answer = watched(&hierarchy, &["mine"]).remove(0);
    let parts = ["large", "small"].map(|name| charged(&answer, name) as f64);
    let ratio = parts[0] / parts[1];
    assert!((2.3..3.9).contains(&ratio), "{ratio}: {}", text(&answer));
}

/// Beside another group on one CPU, two threads wait for their neighbour, for each other, and both for the quota.
#[test]
fn a_quota_and_a_neighbour_have_a_part_each() {
    let Some(_lock) = lock("waits: a quota") else { return };
    let (hierarchy, mount) = mount();
    let limited = Running::start(&mount, "limited", 2, "0");
    let _beside = Running::start(&mount, "beside", 1, "0");
    limited.limit(20);
    std::thread::sleep(Duration::from_millis(500));
    let answer = watched(&hierarchy, &["limited"]).remove(0);
    // On a quiet host 60 ms of the two threads' 90: of 100 ms the group runs for 20, within 40.
    let quota = answer.percent(Culprit::OwnQuota);
    assert!((30.0..90.0).contains(&quota), "{}", text(&answer));
    assert!(charged(&answer, "beside") * 20 > answer.waited_ns, "{}", text(&answer));
    assert!(answer.percent(Culprit::OwnThreads) > 3.0, "{}", text(&answer));
}

/// Since Linux 6.18 a thread in the kernel is served on while the quota holds another one of its group.
#[test]
fn a_quota_that_holds_one_thread_is_no_reason_for_another_to_wait() {
    let name = "waits: a quota that holds one thread";
    let Some(_lock) = lock(name) else { return };
    let throttled = member_offsets(&Root::real(), "task_struct", ["throttled"]);
    if !matches!(throttled, Ok([Some(_)])) {
        return skip(name, "before Linux 6.18 a quota holds whole groups");
    }
    let (hierarchy, mount) = mount();
    let mut limited = Running::start(&mount, "held", 1, "0");
    let _beside = Running::start(&mount, "beside", 1, "0");
    // In the kernel for half a second at a time.
    let script = format!(
        "echo $$ > {}/cgroup.procs; exec taskset -c 0 dd if=/dev/zero of=/dev/null bs=1G 2>&1",
        limited.directory.display()
    );
    limited.threads.push(Command::new("sh").args(["-c", &script]).spawn().unwrap());
    limited.limit(30);
    std::thread::sleep(Duration::from_secs(2));
    let answer = watched(&hierarchy, &["held"]).remove(0);
    assert!(answer.percent(Culprit::OwnQuota) > 20.0, "{}", text(&answer));
    assert!(charged(&answer, "beside") * 12 > answer.waited_ns, "{}", text(&answer));
}

/// Threads that the kernel moves between two CPUs.
#[test]
fn a_quota_is_found_on_every_cpu() {
    let Some(_lock) = lock("waits: a quota on two CPUs") else { return };
    let (hierarchy, mount) = mount();
    let limited = Running::start(&mount, "everywhere", 3, "0-1");
    limited.limit(30);
    std::thread::sleep(Duration::from_millis(500));
    let answer = watched(&hierarchy, &["everywhere"]).remove(0);
    let quota = |cpu: &CpuPart| {
        let parts = cpu.parts.iter().filter(|part| part.culprit == Culprit::OwnQuota);
        parts.map(|part| part.percent).sum::<f64>()
    };
    let used = answer.cpus.iter().filter(|cpu| cpu.waited_ns * 10 > answer.waited_ns);
    assert!(used.map(quota).all(|percent| percent > 10.0), "{}", text(&answer));
}

/// Services of a host with systemd have no controller `cpu` of their own: the kernel schedules them in one group.
#[test]
fn groups_without_the_controller_are_told_apart() {
    let name = "waits: groups without the controller";
    let Some(_lock) = lock(name) else { return };
    let (hierarchy, mount) = mount();
    if !hierarchy.is_v2() {
        return skip(name, "on v1 every group of the hierarchy has the controller");
    }
    let slice = Running::start(&mount, "slice", 0, "0");
    let _services = ["a", "b"].map(|name| Running::start_plain(&slice.directory, name));
    std::thread::sleep(Duration::from_millis(500));
    let answers = watched(&hierarchy, &["slice/a", "slice/b"]);
    let [a, b] = &answers[..] else { panic!("{answers:?}") };
    for (answer, other) in [(a, "slice/b"), (b, "slice/a")] {
        assert!(charged(answer, other) * 2 > answer.waited_ns, "{}", text(answer));
    }
}

/// An idle CPU counts for threads that may use it only, and no longer than one was idle.
#[test]
fn an_idle_cpu_counts_only_for_threads_that_may_use_it() {
    let Some(_lock) = lock("waits: idle CPUs") else { return };
    let (hierarchy, mount) = mount();
    let cpus = gather(&Root::real()).unwrap().cpus.online;
    let pinned = Running::start(&mount, "pinned", 2, "0");
    let free = Running::start(&mount, "free", 1, &cpus.to_string());
    std::thread::sleep(Duration::from_millis(500));
    let answers = watched(&hierarchy, &["pinned", "free"]);
    let [bound, unbound] = &answers[..] else { panic!("{answers:?}") };
    assert!(bound.waited_ns > 0, "{}", text(bound));
    assert_eq!((bound.idle_elsewhere_ns, bound.events.other_cpu_sets), (0, 0), "{}", text(bound));
    assert_eq!(unbound.events.other_cpu_sets, 0, "{}", text(unbound));
    // One thread cannot wait for longer than the time in which it was watched.
    assert!(unbound.idle_elsewhere_ns <= unbound.waited_ns, "{}", text(unbound));
    drop((pinned, free));
}

/// A waiting thread may be moved to a CPU on which nothing has been seen yet: nothing is charged too much for it there.
#[test]
fn a_watch_may_begin_while_threads_are_moved() {
    let Some(_lock) = lock("waits: moved at the start") else { return };
    let (hierarchy, mount) = mount();
    let moved = Running::start(&mount, "moved", 3, "0-1");
    let thread = |child: &Child| format!("taskset -pc 0 {0}; taskset -pc 1 {0};", child.id());
    let moves: String = moved.threads.iter().map(thread).collect();
    let script = format!("while :; do {moves} done >/dev/null 2>&1");
    let mover = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    // Without a group of its own.
    let _mover = Running { directory: moved.directory.join("none"), threads: vec![mover] };
    for _ in 0..12 {
        let group = [path("moved")];
        let mut watch = WaitWatch::on_groups(&Root::real(), &hierarchy, &group).unwrap();
        watch.start().unwrap();
        std::thread::sleep(Duration::from_millis(30));
        let answer = watch.finish().unwrap().remove(0);
        // Three threads cannot wait longer than that; what goes on at both ends counts a little more.
        let most = 3.0 * (answer.seconds + 0.5) * 1e9;
        assert!((answer.waited_ns as f64) < most, "{}", text(&answer));
    }
}

/// Gives a process these CPUs back.
struct AllCpus(u32, Vec<u16>);

impl Drop for AllCpus {
    fn drop(&mut self) {
        let _ = affinity::bind(self.0, &self.1);
    }
}

/// A thread that is moved to a CPU waits there from then on, even if nothing is seen of that CPU for long: one that runs under
/// SCHED_FIFO there lets nothing else run.
#[test]
fn what_is_waited_before_the_first_event_of_a_cpu_is_charged() {
    let Some(_lock) = lock("waits: before the first event") else { return };
    let asked = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).output().unwrap().status.success()
    };
    let own = std::process::id();
    let cpus = affinity::allowed_cpus(own).unwrap();
    if !cpus.starts_with(&[0, 1]) {
        return skip("waits: before the first event", "it needs CPUs 0 and 1");
    }
    let (hierarchy, mount) = mount();
    let moved = Running::start(&mount, "first", 1, "0");
    let _beside = Running::start(&mount, "beside", 1, "0");
    // On v1 only the root group has time for threads of that policy.
    let script = format!(
        "echo $$ > {}/cgroup.procs; exec taskset -c 1 sh -c 'while :; do :; done'",
        mount.display()
    );
    let child = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    let there = Running { directory: mount.join("assay-none"), threads: vec![child] };
    let (moved_id, there_id) =
        (moved.threads[0].id().to_string(), there.threads[0].id().to_string());
    // Neither the visits at the start nor what binds the thread show anything of CPU 1.
    let _all = AllCpus(own, cpus);
    let bind = |id: &str, cpus: &str| assert!(asked("taskset", &["-pc", cpus, id]));
    bind(&own.to_string(), "0");
    affinity::bind_self(&[0]).unwrap();
    let mut void = Vec::new();
    for _ in 0..4 {
        bind(&moved_id, "0");
        std::thread::sleep(Duration::from_millis(20));
        let group = [path("first")];
        let mut watch = WaitWatch::on_groups(&Root::real(), &hierarchy, &group).unwrap();
        watch.start().unwrap();
        assert!(asked("chrt", &["-f", "-p", "1", &there_id]), "SCHED_FIFO is refused");
        bind(&moved_id, "1");
        std::thread::sleep(Duration::from_millis(100));
        assert!(asked("chrt", &["-o", "-p", "0", &there_id]));
        std::thread::sleep(Duration::from_millis(50));
        let answer = watch.finish().unwrap().remove(0);
        let mut parts = answer.parts.iter();
        let there = parts.find(|part| part.culprit == Culprit::Ungrouped);
        let there = there.map_or(0, |part| part.ns);
        // The fair server lets the thread run after a part of the 100 ms (Linux 6.12: kernel/sched/deadline.c).
        let all: u64 = answer.parts.iter().map(|part| part.ns).sum();
        let is_charged = answer.verdict == Verdict::Valid && there >= 10_000_000.max(all / 5 * 4);
        void.extend((!is_charged).then(|| text(&answer)));
    }
    // Its waits are short, and the clocks of two CPUs differ.
    assert!(void.len() <= 1, "{} of 4: {}", void.len(), void.concat());
}

/// What `bpftool` shows of the kernel's eBPF objects.
fn shown(arguments: &[&str]) -> String {
    let output = Command::new("bpftool").args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The ids at the beginning of its lines.
fn ids(text: &str) -> BTreeSet<u32> {
    text.lines().filter_map(|line| line.split_once(": ")?.0.parse().ok()).collect()
}

/// The ids of programs of this project that the kernel has.
fn loaded() -> BTreeSet<u32> {
    ids(&shown(&["prog", "show", "name", "assay"]))
}

/// The ids of the maps of these programs.
fn maps_of(programs: &BTreeSet<u32>) -> BTreeSet<u32> {
    let of = |program: &u32| shown(&["prog", "show", "id", &program.to_string()]);
    let text: String = programs.iter().map(of).collect();
    let lists = text.split("map_ids ").skip(1).filter_map(|rest| rest.split_whitespace().next());
    lists.flat_map(|list| list.split(',')).filter_map(|id| id.parse().ok()).collect()
}

/// The ids of the links that attach these programs.
fn links_of(programs: &BTreeSet<u32>) -> BTreeSet<u32> {
    let text = shown(&["link", "show"]);
    let is_of = |line: &&str| {
        let program = line.split("prog ").nth(1).and_then(|rest| rest.split_whitespace().next());
        program.and_then(|id| id.parse().ok()).is_some_and(|id| programs.contains(&id))
    };
    ids(&text.lines().filter(is_of).collect::<Vec<_>>().join("\n"))
}

/// Waits until the programs loaded are such that `is_done`, for up to a minute.
fn await_loaded(what: &str, is_done: impl Fn(&BTreeSet<u32>) -> bool) -> BTreeSet<u32> {
    let begun = Instant::now();
    loop {
        let now = loaded();
        if is_done(&now) {
            return now;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}: {now:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The process that the next test kills.
#[test]
#[ignore = "only watches until it is killed"]
fn watch_until_killed() {
    let (hierarchy, _) = mount();
    let mut watch = WaitWatch::on_process(&Root::real(), &hierarchy, 1).unwrap();
    watch.start().unwrap();
    std::thread::sleep(Duration::from_secs(120));
}

#[test]
fn nothing_stays_in_the_kernel_after_sigkill() {
    if !Path::new("/usr/sbin/bpftool").exists() {
        return skip("waits: SIGKILL", "it needs bpftool");
    }
    let Some(_lock) = lock("waits: SIGKILL") else { return };
    let (before, host) = (loaded(), HostSnapshot::take());
    let watch = ["--exact", "watch_until_killed", "--ignored"];
    let mut child = Command::new(std::env::current_exe().unwrap()).args(watch).spawn().unwrap();
    own::process(child.id());
    let during =
        await_loaded("eight programs are loaded", |now| now.difference(&before).count() >= 8);
    let own: BTreeSet<u32> = during.difference(&before).copied().collect();
    let (maps, links) = (maps_of(&own), links_of(&own));
    assert!(maps.len() >= 5 && links.len() >= 8, "maps {maps:?}, links {links:?} of {own:?}");
    let differences = HostSnapshot::differences_since(&host);
    let missing: Vec<String> = own
        .iter()
        .map(|id| format!("program {id}"))
        .chain(links.iter().map(|id| format!("link {id}")))
        .chain(maps.iter().map(|id| format!("map {id}")))
        .filter(|object| !differences.contains(&format!("new:     eBPF {object}\n")))
        .collect();
    assert!(missing.is_empty(), "a snapshot lacks {missing:?}:\n{differences}");
    child.kill().unwrap();
    child.wait().unwrap();
    HostSnapshot::assert_same(&host, "after SIGKILL");
    await_loaded("programs, links and maps are gone", |now| {
        now.is_disjoint(&own)
            && ids(&shown(&["link", "show"])).is_disjoint(&links)
            && ids(&shown(&["map", "show"])).is_disjoint(&maps)
    });
}
