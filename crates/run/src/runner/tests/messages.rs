//! What users are received when a step fails.

use std::path::Path;

use assay_host::scratch::Progress;
use assay_sys::kernel::Error;

use super::fake_host::{FakeHost, group, script, trial};
use crate::runner::context::fraction;
use crate::runner::failure::Failure;
use crate::runner::privileges::{check, may_use, named, others};

#[test]
fn a_failure_names_operation_path_and_hint_of_the_host_or_the_folder() {
    let host =
        Failure::from(Error::unexpected("set", Path::new("/sys/x"), "the hint").with_value("5"));
    let text = host.to_string();
    for part in ["set", "/sys/x", "`5`", "the hint"] {
        assert!(text.contains(part), "{text}");
    }
    let place = tempfile::tempdir().unwrap();
    let files = assay_sys::files::Dir::open(place.path()).unwrap();
    files.make_new_dir("taken").unwrap();
    let error = Failure::from(files.make_new_dir("taken").err().unwrap());
    assert!(matches!(error, Failure::Record(_)), "files made by name belong to the run folder");
    assert!(error.to_string().contains("taken"), "{error}");
}

#[test]
fn only_the_filling_of_an_image_has_a_length() {
    assert_eq!(fraction(&Progress::Filling { done: 1, total: 4 }), 0.25);
    assert_eq!(fraction(&Progress::Filling { done: 0, total: 0 }), 0.0);
    assert_eq!(fraction(&Progress::Partitioning { partitions: 3 }), 1.0);
}

#[test]
fn users_are_looked_up_before_anything_is_changed() {
    let host = FakeHost::new();
    host.put("/etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1001:1001::/home/ann:/bin/sh\n");
    host.put("/etc/group", "ann:x:1001:\n");
    let of = |user: &str| {
        let mut workload = script("g.w", "true");
        workload.user = Some(user.to_owned());
        workload
    };
    let workloads = vec![of("ann"), of("1001"), of("root"), script("g.own", "true")];
    let trial = trial(vec![group("g", workloads)]);
    assert_eq!(named(&trial).collect::<Vec<_>>(), ["ann", "1001", "root"]);
    let found = others(&host.root(), &trial).unwrap();
    let found: Vec<_> = found.iter().map(|user| (user.uid, user.name.as_deref())).collect();
    if !rustix::process::geteuid().is_root() && rustix::process::geteuid().as_raw() == 1001 {
        assert!(found.is_empty(), "{found:?}");
    } else {
        assert_eq!(found, [(1001, Some("ann"))], "each user once, and never root");
    }
    let unknown = super::fake_host::trial(vec![group("g", vec![of("bob")])]);
    let error = check(&host.root(), &[trial, unknown]).unwrap_err().to_string();
    let early = !rustix::process::geteuid().is_root() && error.contains("may not become another");
    assert!(early || error.contains("bob") && error.contains("/etc/passwd"), "{error}");
}

#[test]
fn a_user_needs_both_rights_on_a_raw_device_as_owner_or_by_a_group() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    let place = tempfile::tempdir().unwrap();
    let device = place.path().join("disk");
    std::fs::write(&device, "").unwrap();
    let own = device.metadata().unwrap();
    let user = |uid, groups: &[u32]| assay_sys::kernel::privileges::User {
        uid,
        gid: 4_000_000,
        groups: groups.to_vec(),
        name: None,
        home: None,
    };
    let (stranger, member) = (user(4_000_000, &[]), user(4_000_000, &[own.gid()]));
    for (mode, by_others, by_group) in
        [(0o660, false, true), (0o640, false, false), (0o666, true, true), (0o606, true, false)]
    {
        std::fs::set_permissions(&device, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(may_use(&device, &stranger).is_ok(), by_others, "{mode:o}");
        assert_eq!(may_use(&device, &member).is_ok(), by_group, "{mode:o}");
    }
    std::fs::set_permissions(&device, std::fs::Permissions::from_mode(0o0)).unwrap();
    assert!(may_use(&device, &user(0, &[])).is_ok(), "root needs no right");
    let error = may_use(&device, &stranger).unwrap_err().to_string();
    assert!(error.contains("user 4000000") && error.contains("`format`"), "{error}");
    let gone = may_use(&place.path().join("gone"), &stranger).unwrap_err().to_string();
    assert!(gone.contains("gone"), "{gone}");
}
