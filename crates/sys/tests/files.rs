//! What the file operations do, and what they refuse.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use assay_sys::files::{Budget, Dir, Trust, check, input, output, output_dir, replace};

#[test]
fn replacing_is_whole_and_leaves_no_draft() {
    let temp = tempfile::tempdir().unwrap();
    let dir = Dir::make_all(&temp.path().join("a/b")).unwrap();
    dir.replace("note", b"one").unwrap();
    dir.replace("note", b"two").unwrap();
    let mut draft = dir.draft("note").unwrap();
    draft.write_all(b"three").unwrap();
    drop(draft);
    assert_eq!(fs::read(dir.path().join("note")).unwrap(), b"two");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_link_is_replaced_but_its_target_is_not() {
    let temp = tempfile::tempdir().unwrap();
    let victim = temp.path().join("victim");
    fs::write(&victim, "theirs").unwrap();
    let dir = Dir::make_all(&temp.path().join("run")).unwrap();
    for name in ["verdict.json", "verdict.json.draft", "events.jsonl"] {
        symlink(&victim, dir.path().join(name)).unwrap();
    }
    fs::hard_link(&victim, dir.path().join("hard")).unwrap();
    dir.replace("verdict.json", b"ours").unwrap();
    assert!(dir.append("events.jsonl").is_err());
    assert!(dir.append("hard").is_err());
    assert!(dir.create("verdict.json.draft").is_err());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "theirs");
    assert!(dir.has_file("verdict.json") && !dir.has_file("events.jsonl"));
}

#[test]
fn no_name_leads_outside_its_folder() {
    let temp = tempfile::tempdir().unwrap();
    let dir = Dir::make_all(&temp.path().join("run")).unwrap();
    symlink(temp.path(), dir.path().join("up")).unwrap();
    for name in ["../x", "/etc/x", "up/x", "a/../../x", "", "."] {
        assert!(dir.replace(name, b"").is_err(), "{name}");
        assert!(dir.create(name).is_err(), "{name}");
        assert!(dir.remove_tree(name).is_err(), "{name}");
    }
    assert!(dir.make_dir("up").is_err() && dir.dir("up").is_err());
    assert!(!temp.path().join("x").exists());
}

#[test]
fn opening_a_fifo_does_not_block() {
    let temp = tempfile::tempdir().unwrap();
    let dir = Dir::open(temp.path()).unwrap();
    let _fifo = dir.make_fifo("gate").unwrap();
    assert!(dir.read("gate").unwrap_err().to_string().contains("not a regular file"));
    assert!(dir.remove_file("gate").unwrap() && !dir.remove_file("gate").unwrap());
}

#[test]
fn a_private_folder_is_accessible_to_its_owner_only() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("state");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let dir = Dir::make_private(&path).unwrap();
    dir.restrict_to_owner().unwrap();
    drop(dir.create("ledger").unwrap());
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&path), mode(&path.join("ledger"))), (0o700, 0o600));
}

#[test]
fn a_folder_others_may_change_is_refused_with_owner_mode_and_remedy() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: it takes root to give a folder away");
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let theirs = temp.path().join("theirs");
    fs::create_dir_all(theirs.join("mine")).unwrap();
    assert!(check(&theirs.join("mine/run"), None, Trust::Checked).is_ok());
    chown(&theirs, Some(65534), None).unwrap();
    for path in ["theirs", "theirs/run", "theirs/mine", "theirs/mine/run"] {
        let error = check(&temp.path().join(path), None, Trust::Checked).unwrap_err().to_string();
        assert!(error.contains("user 65534") && error.contains("0755"), "{error}");
        assert!(error.contains("--allow-shared-dir"), "{error}");
        assert!(error.contains("in a container, user 65534 stands for all"), "{error}");
    }
    assert!(check(&theirs.join("run"), None, Trust::UserConfirmed).is_ok());
    let caller = assay_sys::files::Caller { uid: 65534, gid: 65534 };
    assert!(check(&theirs.join("run"), Some(caller), Trust::Checked).is_ok());
    // Shared and sticky like /tmp: fine above a folder of ours, not as the folder itself.
    let shared = temp.path().join("shared");
    fs::create_dir_all(shared.join("mine")).unwrap();
    fs::create_dir(shared.join("other")).unwrap();
    chown(shared.join("other"), Some(65534), None).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    assert!(check(&shared.join("mine/run"), None, Trust::Checked).is_ok());
    assert!(check(&shared.join("new"), None, Trust::Checked).is_ok());
    assert!(check(&shared, None, Trust::Checked).is_err());
    assert!(check(&shared.join("other/run"), None, Trust::Checked).is_err());
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(check(&shared.join("mine"), None, Trust::Checked).is_err());
}

/// Writes this text to the path that the user named; returns the error message.
fn put(path: &Path, text: &str) -> Result<(), String> {
    replace(path, text.as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn a_new_output_replaces_the_old_one_when_it_is_complete() {
    let temp = tempfile::tempdir().unwrap();
    let (file, link) = (temp.path().join("out"), temp.path().join("link"));
    put(&file, "one").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    fs::hard_link(&file, temp.path().join("copy")).unwrap();
    let mut half = output(&file).unwrap();
    half.write_all(b"half").unwrap();
    drop(half);
    assert_eq!(fs::read(&file).unwrap(), b"one", "what is not finished leaves all as it was");
    // A link in a folder of our own is followed.
    symlink("out", &link).unwrap();
    put(&link, "two").unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read(&file).unwrap(), b"two");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
    assert_eq!(fs::read(temp.path().join("copy")).unwrap(), b"one", "another name of the old one");
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 3, "no draft remains");
}

#[test]
fn an_output_may_be_a_stream() {
    let temp = tempfile::tempdir().unwrap();
    put(Path::new("/dev/null"), "gone").unwrap();
    let fifo = temp.path().join("fifo");
    let dir = Dir::open(temp.path()).unwrap();
    let mut reader = dir.make_fifo("fifo").unwrap();
    put(&fifo, "text").unwrap();
    let mut received = [0; 4];
    std::io::Read::read_exact(&mut reader, &mut received).unwrap();
    assert_eq!(&received, b"text");
    // As `--out /dev/stdout` with `>> log`: existing contents stay.
    fs::write(temp.path().join("log"), "before ").unwrap();
    let log = fs::File::options().append(true).open(temp.path().join("log")).unwrap();
    let own = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&log));
    put(Path::new(&own), "after").unwrap();
    assert_eq!(fs::read(temp.path().join("log")).unwrap(), b"before after");
    let error = put(temp.path(), "").unwrap_err();
    assert!(error.contains("directory") && error.contains("hint: name a file"), "{error}");
}

/// The attacks of another user of the host: the output path lies in a folder like /tmp.
#[test]
fn no_output_follows_a_link_of_another_user() {
    let temp = tempfile::tempdir().unwrap();
    let shared = temp.path().join("shared");
    fs::create_dir_all(temp.path().join("etc")).unwrap();
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    let victim = temp.path().join("etc/passwd");
    fs::write(&victim, "root's").unwrap();
    symlink(&victim, shared.join("out.csv")).unwrap();
    symlink(temp.path().join("etc"), shared.join("results")).unwrap();
    for path in ["out.csv", "results/passwd", "results/new", "results/../etc/passwd"] {
        let error = put(&shared.join(path), "ours").unwrap_err();
        assert!(error.contains("is a link in a folder that others can write to"), "{error}");
    }
    assert!(output_dir(&shared.join("results")).is_err());
    assert!(output_dir(&shared.join("results/inner")).is_err());
    assert_eq!(fs::read(&victim).unwrap(), b"root's");
    assert_eq!(fs::read_dir(temp.path().join("etc")).unwrap().count(), 1);
    // A file of ours there is replaced, and a folder created.
    put(&shared.join("mine"), "one").unwrap();
    put(&shared.join("mine"), "two").unwrap();
    assert_eq!(fs::read(shared.join("mine")).unwrap(), b"two");
    output_dir(&shared.join("new/inner")).unwrap().replace("runs.csv", b"").unwrap();
    assert!(shared.join("new/inner/runs.csv").is_file());
    if !rustix::process::geteuid().is_root() {
        println!("skipped: it takes root to give files away");
        return;
    }
    fs::write(shared.join("theirs"), "theirs").unwrap();
    let _fifo = Dir::open(&shared).unwrap().make_fifo("pipe").unwrap();
    for (name, why) in [("theirs", "a file of user 65534"), ("pipe", "a stream of user 65534")] {
        chown(shared.join(name), Some(65534), None).unwrap();
        let error = put(&shared.join(name), "ours").unwrap_err();
        assert!(error.contains(why) && error.contains("hint:"), "{error}");
    }
    assert_eq!(fs::read(shared.join("theirs")).unwrap(), b"theirs");
}

#[test]
fn a_folder_writable_by_the_users_private_group_is_trusted() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: it takes root to give a folder away");
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let caller = Some(assay_sys::files::Caller { uid: 1234, gid: 1234 });
    for (gid, is_fine) in [(1234, true), (1235, false)] {
        let home = temp.path().join(gid.to_string());
        fs::create_dir(&home).unwrap();
        chown(&home, Some(1234), Some(gid)).unwrap();
        // As a umask of 002 makes it.
        fs::set_permissions(&home, fs::Permissions::from_mode(0o775)).unwrap();
        assert_eq!(check(&home.join("runs/one"), caller, Trust::Checked).is_ok(), is_fine);
    }
}

/// S3 and its fix: someone swaps a folder between check and use.
#[test]
fn the_folder_checked_is_the_one_used() {
    let temp = tempfile::tempdir().unwrap();
    let (run, other) = (temp.path().join("run"), temp.path().join("other"));
    fs::create_dir(&run).unwrap();
    fs::create_dir(&other).unwrap();
    let identity = Dir::open(&run).unwrap().identity().unwrap();
    let checked = check(&run, None, Trust::Checked).unwrap();
    fs::rename(&run, temp.path().join("moved")).unwrap();
    symlink(&other, &run).unwrap();
    assert_eq!(checked.open().unwrap().identity().unwrap(), identity);
    // New folders are created in the directory that was checked, not where a link leads.
    let checked = check(&temp.path().join("moved/new/run"), None, Trust::Checked).unwrap();
    assert!(checked.path().ends_with("moved/new/run"));
    symlink(&other, temp.path().join("moved/new")).unwrap();
    assert!(checked.make().unwrap_err().to_string().contains("links are not followed"));
    assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
    assert!(check(&temp.path().join("absent"), None, Trust::Checked).unwrap().open().is_err());
}

/// A link of another user would lead root's new folders anywhere.
#[test]
fn a_folder_is_not_looked_for_through_a_link_of_others() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: it takes root to give a folder away");
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let (theirs, other) = (temp.path().join("theirs"), temp.path().join("other"));
    let link = theirs.join("link");
    for folder in [&theirs, &other] {
        fs::create_dir(folder).unwrap();
    }
    symlink(&other, &link).unwrap();
    let is_fine =
        |trust| [link.clone(), link.join("new/run")].map(|path| check(&path, None, trust).is_ok());
    assert_eq!(is_fine(Trust::Checked), [true; 2]);
    chown(&theirs, Some(65_534), None).unwrap();
    assert_eq!(is_fine(Trust::Checked), [false; 2]);
    assert_eq!(is_fine(Trust::UserConfirmed), [true; 2]);
}

/// While root works in a folder of the user who called sudo, that user may not change it.
#[test]
fn a_folder_is_taken_over_and_handed_over_with_our_files_in_it() {
    use std::os::unix::fs::MetadataExt;
    if !rustix::process::geteuid().is_root() {
        println!("skipped: it takes root to give a folder away");
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let run = temp.path().join("run");
    fs::create_dir(&run).unwrap();
    chown(&run, Some(1234), Some(1234)).unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o2777)).unwrap();
    let dir = Dir::open(&run).unwrap();
    dir.take_over().unwrap();
    let found = run.metadata().unwrap();
    assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (0, 0, 0o755));
    dir.make_dir("logs/task").unwrap().replace("fio.json", b"{}").unwrap();
    dir.make_dir("logs/theirs").unwrap();
    chown(run.join("logs/theirs"), Some(65534), None).unwrap();
    fs::write(run.join("logs/theirs/file"), "").unwrap();
    let victim = temp.path().join("victim");
    fs::write(&victim, "root's").unwrap();
    fs::hard_link(&victim, run.join("logs/task/hard")).unwrap();
    symlink(&victim, run.join("logs/task/soft")).unwrap();
    dir.hand_over_tree(assay_sys::files::Caller { uid: 1234, gid: 1234 }).unwrap();
    let owner = |name: &str| run.join(name).symlink_metadata().unwrap().uid();
    assert_eq!(["", "logs", "logs/task", "logs/task/fio.json"].map(owner), [1234; 4]);
    assert_eq!(owner("logs/theirs"), 65534);
    assert_eq!(owner("logs/theirs/file"), 0, "a file in someone else's folder");
    assert_eq!(victim.metadata().unwrap().uid(), 0);
}

/// Directories nested deeper than a stack or a table of descriptors holds.
fn nest(top: &Path, depth: usize) {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    let open = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut here = openat(CWD, top, open, Mode::empty()).unwrap();
    for _ in 0..depth {
        mkdirat(&here, "d", Mode::from_raw_mode(0o700)).unwrap();
        here = openat(&here, "d", open, Mode::empty()).unwrap();
    }
    rustix::fs::mknodat(&here, "file", rustix::fs::FileType::RegularFile, Mode::RUSR, 0).unwrap();
}

#[test]
fn a_tree_is_removed_however_deep_it_is_nested() {
    // In memory if possible: no disk has to write forty thousand directories.
    let memory = Path::new("/dev/shm");
    let temp = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let temp = temp.unwrap();
    let dir = Dir::open(temp.path()).unwrap();
    let top = dir.make_dir("scratch").unwrap();
    for name in ["a", "b"] {
        top.make_dir(name).unwrap();
        nest(&top.path().join(name), 10_000);
    }
    assert!(dir.remove_tree("scratch").unwrap());
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
}

#[test]
fn only_regular_files_up_to_a_limit_are_read() {
    let temp = tempfile::tempdir().unwrap();
    let dir = Dir::open(temp.path()).unwrap();
    fs::write(temp.path().join("file"), "text").unwrap();
    fs::write(temp.path().join("bytes"), b"a\xff").unwrap();
    symlink("file", temp.path().join("link")).unwrap();
    fs::hard_link(temp.path().join("file"), temp.path().join("copy")).unwrap();
    let _fifo = dir.make_fifo("fifo").unwrap();
    assert_eq!(dir.bytes("file", 4).unwrap(), b"text");
    assert_eq!(dir.text("copy", 99).unwrap(), "text", "a copy made of links is read");
    let long = dir.bytes("file", 3).unwrap_err().to_string();
    assert!(long.contains("longer than 3 bytes"), "{long}");
    let odd = dir.text("bytes", 9).unwrap_err().to_string();
    assert!(odd.contains("byte 1 is not UTF-8"), "{odd}");
    for name in ["link", "fifo", "..", "/etc/hostname", "none", "file/x"] {
        assert!(dir.bytes(name, 99).is_err(), "{name}");
    }
    assert_eq!(dir.names().unwrap(), ["bytes", "copy", "fifo", "file", "link"]);
    assert!(input(&temp.path().join("link"), 3).is_err());
    assert_eq!(input(&temp.path().join("link"), 4).unwrap(), b"text");
}

/// More than any test needs.
const PLENTY: Budget = Budget { bytes: 1 << 20, names: 100 };

#[test]
fn a_tree_over_budget_leaves_nothing_behind() {
    let temp = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| Dir::make_all(&temp.path().join(name)).unwrap());
    let inner = from.make_dir("a/b").unwrap();
    inner.create("small").unwrap().write_all(b"text").unwrap();
    // A sparse file of 16 TiB, as `truncate -s` makes it; less where the file system's limit is lower.
    let hole = inner.create("x").unwrap();
    [16 << 40, 1 << 40, 2 << 30].iter().find(|size| hole.set_len(**size).is_ok()).unwrap();
    let error = to.copy_in(&from, PLENTY, &|| false).unwrap_err().to_string();
    assert!(error.contains("from/a/b/x") && error.contains("more than 1 MiB"), "{error}");
    assert!(to.is_empty().unwrap(), "the count precedes the copy");
    hole.set_len(0).unwrap();
    for number in 0..97 {
        inner.create(format!("name-{number}")).unwrap();
    }
    let error = to.copy_in(&from, PLENTY, &|| false).unwrap_err().to_string();
    assert!(error.contains("from/a/b") && error.contains("more than 100 names"), "{error}");
    assert!(to.is_empty().unwrap());
    inner.remove_file("name-0").unwrap();
    to.copy_in(&from, PLENTY, &|| false).unwrap();
    assert_eq!(to.text("a/b/small", 9).unwrap(), "text");
}

#[test]
fn a_copy_that_ends_early_leaves_no_partial_file() {
    let temp = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| Dir::make_all(&temp.path().join(name)).unwrap());
    from.create("a").unwrap().write_all(b"text").unwrap();
    let grows = from.create("b").unwrap();
    // The file grows after it was counted: once `a` has been copied.
    let grow = || {
        if to.has_file("a") {
            grows.set_len(4 << 20).unwrap();
        }
        false
    };
    let error = to.copy_in(&from, PLENTY, &grow).unwrap_err().to_string();
    assert!(error.contains("more than 1 MiB"), "{error}");
    assert_eq!(to.names().unwrap(), ["a"]);
    let many = Budget { bytes: 8 << 20, ..PLENTY };
    assert!(to.copy_in(&from, many, &|| to.has_file("b")).is_err());
    assert_eq!(to.names().unwrap(), ["a"], "stopped at the second file");
}

/// As root of a guest leaves it in a folder of the host.
#[test]
fn only_the_contents_of_foreign_files_are_copied() {
    let temp = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| Dir::make_all(&temp.path().join(name)).unwrap());
    let inner = from.make_dir("samples/one").unwrap();
    fs::write(inner.path().join("io.csv"), "rows").unwrap();
    fs::write(from.path().join("program"), "#!/bin/sh").unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    let own_mode = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o6755));
    own_mode(&from.path().join("program")).unwrap();
    own_mode(inner.path()).unwrap();
    symlink("/etc/hostname", from.path().join("manifest.json")).unwrap();
    symlink("/etc", inner.path().join("etc")).unwrap();
    let _fifo = inner.make_fifo("gate").unwrap();
    symlink(temp.path().join("victim"), to.path().join("program")).unwrap();
    let left_out = to.copy_in(&from, PLENTY, &|| false).unwrap();
    let named = |path: &Path| path.strip_prefix(from.path()).unwrap().display().to_string();
    let left_out: Vec<String> = left_out.iter().map(|path| named(path)).collect();
    assert_eq!(left_out, ["manifest.json", "samples/one/etc", "samples/one/gate"]);
    assert_eq!(to.names().unwrap(), ["program", "samples"]);
    assert_eq!(to.text("samples/one/io.csv", 9).unwrap(), "rows");
    let program = to.path().join("program");
    assert!(!program.is_symlink() && mode(&program) & 0o7111 == 0, "{:o}", mode(&program));
    assert_eq!(mode(&to.path().join("samples/one")) & 0o7000, 0);
    assert!(!temp.path().join("victim").exists());
}
