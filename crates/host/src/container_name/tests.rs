//! Names in made-up files of runtimes.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use crate::facts::owner::owner;
use assay_sys::files::Dir;

use super::*;

const ID: &str = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809";

/// The words for the owner of `path`, on a host with one file.
fn words(path: &str, file: &str, text: &str) -> String {
    let top = tempfile::tempdir().unwrap();
    let file = top.path().join(file.replace("ID", ID));
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text.replace("ID", ID)).unwrap();
    let owner = owner(&path.replace("ID", ID)).unwrap();
    Names::new(&Root::at(top.path())).name(owner).to_string()
}

#[test]
fn each_runtime_keeps_names_in_files_of_its_own() {
    for (path, file, text, expected) in [
        (
            "/system.slice/docker-ID.scope",
            "var/lib/docker/containers/ID/config.v2.json",
            r#"{"ID":"ID","Name":"/web","State":{}}"#,
            "container web (docker 1a2b3c4d5e6f)",
        ),
        (
            "/machine.slice/libpod-ID.scope",
            "var/lib/containers/storage/overlay-containers/containers.json",
            r#"[{"id":"other","names":["no"]},{"id":"ID","names":["web"]}]"#,
            "container web (podman 1a2b3c4d5e6f)",
        ),
        (
            "/libpod_parent/libpod-ID",
            "var/lib/containers/storage/vfs-containers/containers.json",
            r#"[{"id":"ID","names":["web"]}]"#,
            "container web (podman 1a2b3c4d5e6f)",
        ),
        (
            "/kubepods/podUID/crio-ID",
            "run/containers/storage/overlay-containers/ID/userdata/config.json",
            r#"{"annotations":{"io.kubernetes.container.name":"web"}}"#,
            "container web (CRI-O 1a2b3c4d5e6f) of pod UID",
        ),
        (
            "/b.slice/cri-containerd-ID.scope",
            "run/containerd/io.containerd.runtime.v2.task/k8s.io/ID/config.json",
            r#"{"annotations":{"io.kubernetes.cri.container-name":"web"}}"#,
            "container web (containerd 1a2b3c4d5e6f)",
        ),
        (
            "/b.slice/cri-containerd-ID.scope",
            "run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/ID/config.json",
            r#"{"annotations":{"io.kubernetes.cri.container-name":"web"}}"#,
            "container web (containerd 1a2b3c4d5e6f)",
        ),
        (
            "/machine.slice/libpod-ID.scope",
            "run/containers/storage/overlay-containers/volatile-containers.json",
            r#"[{"id":"ID","names":["web"]}]"#,
            "container web (podman 1a2b3c4d5e6f)",
        ),
        (
            "/system.slice/nerdctl-ID.scope",
            "run/containerd/io.containerd.runtime.v2.task/default/ID/config.json",
            r#"{"annotations":{"io.kubernetes.cri.container-name":"no","nerdctl/name":"web"}}"#,
            "container web (nerdctl 1a2b3c4d5e6f)",
        ),
        (
            "/kubepods/podUID/ID",
            "run/containerd/io.containerd.runtime.v2.task/k8s.io/ID/config.json",
            r#"{"annotations":{"io.kubernetes.cri.container-name":"web","nerdctl/name":"no"}}"#,
            "container web (1a2b3c4d5e6f) of pod UID",
        ),
        ("/kubepods/pod12-ab", "var/log/pods/shop_web-0_12-ab/web/0.log", "", "pod shop/web-0"),
        (
            "/docker/ID",
            "var/lib/docker/containers/ID/config.v2.json",
            "no JSON",
            "container docker 1a2b3c4d5e6f",
        ),
    ] {
        let path = path.replace("UID", "uid");
        assert_eq!(words(&path, file, text).replace("uid", "UID"), expected, "{path}");
    }
}

#[test]
fn an_annotation_of_another_runtime_names_nothing() {
    let keys = [
        CRIO_NAME,
        CRI_NAME,
        NERDCTL_NAME,
        "io.kubernetes.cri-o.ContainerName",
        "io.podman.annotations.container-name",
    ];
    let storage = "run/containers/storage/overlay-containers/ID/userdata/config.json";
    let task = "run/containerd/io.containerd.runtime.v2.task/default/ID/config.json";
    for (path, file, own) in [
        ("/machine.slice/libpod-ID.scope", storage, None),
        ("/a.slice/crio-ID.scope", storage, Some(CRIO_NAME)),
        ("/a.slice/cri-containerd-ID.scope", task, Some(CRI_NAME)),
        ("/a.slice/nerdctl-ID.scope", task, Some(NERDCTL_NAME)),
        ("/a.slice/ID", task, Some(NERDCTL_NAME)),
    ] {
        for key in keys {
            let shown = words(path, file, &format!(r#"{{"annotations":{{"{key}":"web"}}}}"#));
            assert_eq!(shown.contains("web"), own == Some(key), "{path} {key}: {shown}");
        }
    }
}

#[test]
fn a_name_from_outside_is_one_short_line() {
    let text = format!(r#"{{"Name":"/a\nb\u001b[2J{}"}}"#, "x".repeat(1000));
    let shown = words("/docker/ID", "var/lib/docker/containers/ID/config.v2.json", &text);
    assert!(shown.starts_with("container ab[2Jxxx") && shown.len() < 200, "{shown}");
}

#[test]
fn links_pipes_and_long_files_are_not_read() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("var/lib/docker/containers");
    fs::create_dir_all(&folder).unwrap();
    let elsewhere = top.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("config.v2.json"), r#"{"Name":"/web"}"#).unwrap();
    symlink(&elsewhere, folder.join(ID)).unwrap();
    let name = || Names::new(&Root::at(top.path())).docker(ID);
    assert_eq!(name(), None, "a link");
    fs::remove_file(folder.join(ID)).unwrap();
    fs::create_dir(folder.join(ID)).unwrap();
    let file = folder.join(ID).join("config.v2.json");
    let dir = Dir::open(&folder.join(ID)).unwrap();
    drop(dir.make_fifo("config.v2.json"));
    assert_eq!(name(), None, "a pipe");
    fs::remove_file(&file).unwrap();
    let long = format!(r#"{{"Name":"/web","Args":"{}"}}"#, "x".repeat(LIMIT as usize));
    fs::write(&file, long).unwrap();
    assert_eq!(name(), None, "a long file");
    fs::write(&file, r#"{"Name":"/web"}"#).unwrap();
    assert_eq!(name().as_deref(), Some("web"));
}

#[test]
fn a_list_of_thousands_of_containers_is_read_and_a_longer_one_is_named() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("var/lib/containers/storage/overlay-containers");
    fs::create_dir_all(&folder).unwrap();
    let path = format!("/machine.slice/libpod-{ID}.scope");
    let words = |length: u64| {
        let metadata = "x".repeat(length as usize);
        let list = format!(r#"[{{"id":"{ID}","names":["web"],"metadata":"{metadata}"}}]"#);
        fs::write(folder.join("containers.json"), list).unwrap();
        let root = Root::at(top.path());
        let names = Names::new(&root);
        (names.name(owner(&path).unwrap()).to_string(), names.left_out())
    };
    let named = "container web (podman 1a2b3c4d5e6f)".to_owned();
    assert_eq!(words(LONGEST_LIST - 1000), (named, Vec::new()));
    let (unnamed, left_out) = words(LONGEST_LIST);
    assert_eq!((unnamed.as_str(), left_out.len()), ("container podman 1a2b3c4d5e6f", 1));
    let why = "overlay-containers/containers.json: it is longer than 16777216 bytes";
    assert!(left_out[0].contains(why), "{left_out:?}");
}

#[test]
fn what_others_put_in_the_place_of_a_folder_of_root_names_nothing() {
    let top = tempfile::tempdir().unwrap();
    let set = |path: &str, mode| {
        fs::set_permissions(top.path().join(path), Permissions::from_mode(mode)).unwrap();
    };
    fs::create_dir_all(top.path().join("data/pods/shop_web-0_9")).unwrap();
    fs::create_dir_all(top.path().join("var/log")).unwrap();
    ["data", "data/pods", "var", "var/log"].iter().for_each(|path| set(path, 0o755));
    let words = || {
        let root = Root::at(top.path());
        let names = Names::new(&root);
        (names.name(owner("/kubepods/pod9").unwrap()).to_string(), names.left_out())
    };
    let pods = top.path().join("var/log/pods");
    symlink("../../data/pods", &pods).unwrap();
    assert_eq!(words(), ("pod shop/web-0".to_owned(), Vec::new()), "a link that root has made");
    // As on Ubuntu, where a group of users may write to it.
    set("var/log", 0o777);
    let (unnamed, left_out) = words();
    assert_eq!((unnamed.as_str(), left_out.len()), ("pod 9", 1));
    assert!(left_out[0].contains("var/log/pods") && left_out[0].contains("not followed"));
    fs::remove_file(&pods).unwrap();
    fs::create_dir_all(pods.join("shop_web-0_9")).unwrap();
    set("var/log/pods", 0o755);
    assert_eq!(words().0, "pod shop/web-0", "nobody else can make a directory of root's");
}

#[test]
fn folders_in_which_others_may_write_name_nothing() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("var/lib/docker/containers");
    let own = folder.join(ID);
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("config.v2.json"), r#"{"Name":"/web"}"#).unwrap();
    fs::create_dir_all(top.path().join("var/log/pods/shop_web-0_9")).unwrap();
    let words = |path: &str| {
        let owner = owner(&path.replace("ID", ID)).unwrap();
        Names::new(&Root::at(top.path())).name(owner).to_string()
    };
    let set = |folder: &Path, mode| fs::set_permissions(folder, Permissions::from_mode(mode));
    let all = ["var", "var/lib", "var/lib/docker", "var/lib/docker/containers", "var/log/pods"];
    for folder in all.map(|folder| top.path().join(folder)).iter().chain([&own]) {
        set(folder, 0o755).unwrap();
    }
    let (named, unnamed) = ("container web (docker 1a2b3c4d5e6f)", "container docker 1a2b3c4d5e6f");
    assert_eq!(words("/docker/ID"), named);
    for part in [&own, &folder] {
        set(part, 0o757).unwrap();
        assert_eq!(words("/docker/ID"), unnamed, "{}", part.display());
        set(part, 0o755).unwrap();
    }
    let pods = top.path().join("var/log/pods");
    set(&top.path().join("var/log"), 0o775).unwrap();
    assert_eq!(words("/kubepods/pod9"), "pod shop/web-0");
    set(&pods, 0o777).unwrap();
    assert_eq!(words("/kubepods/pod9"), "pod 9");
    if chown(&own, None, Some(4711)).is_err() {
        return assay_test_support::skip("folders of other users", "not root");
    }
    assert_eq!(words("/docker/ID"), named, "the group may not write");
    set(&own, 0o775).unwrap();
    assert_eq!(words("/docker/ID"), unnamed, "a group of users");
    set(&own, 0o755).unwrap();
    chown(&own, Some(4711), None).unwrap();
    assert_eq!(words("/docker/ID"), unnamed, "another user");
}

#[test]
fn what_is_claimed_by_a_container_takes_no_name_but_shows_that_of_the_container() {
    let inner = "0".repeat(64);
    let path = format!("/docker/ID/docker/{inner}");
    let file = format!("var/lib/docker/containers/{inner}/config.v2.json");
    let json = r#"{"Name":"/web"}"#;
    let unnamed = "container docker 000000000000, claimed by container";
    assert_eq!(words(&path, &file, json), format!("{unnamed} docker 1a2b3c4d5e6f"));
    let shown = words(&path, "var/lib/docker/containers/ID/config.v2.json", json);
    assert_eq!(shown, format!("{unnamed} web (docker 1a2b3c4d5e6f)"));
}

/// A host with a list of all of Podman's containers in a folder, and so many other ids.
fn listed(folder: &str, uid: u32) -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = top.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let list = format!(r#"[{{"id":"{ID}","names":["web"]}},{{"id":"b","names":[]}}]"#);
    put(&format!("{folder}/containers.json"), &list);
    put("proc/self/status", &format!("Name:\tx\nUid:\t0\t{uid}\t0\t0\n"));
    put("etc/passwd", "root:x:0:0::/root:/bin/sh\nme:x:1000:1000:Me:/home/me:/bin/sh\n");
    put("var/log/pods/shop_web-0_uid-1/web/0.log", "");
    put("run/containerd/io.containerd.runtime.v2.task/k8s.io/x", "");
    top
}

#[test]
fn lists_of_all_containers_are_read_once_however_many_ask() {
    let top = listed("var/lib/containers/storage/overlay-containers", 0);
    let root = Root::at(top.path());
    let names = Names::new(&root);
    let mut shown = String::new();
    let mut ask = |path: &str| shown = names.name(owner(path).unwrap()).to_string();
    ask(&format!("/machine.slice/libpod-{ID}.scope"));
    for number in 0..1000 {
        ask(&format!("/machine.slice/libpod-{number:064x}.scope"));
    }
    for number in 0..1000 {
        ask(&format!("/kubepods/pod{number}"));
    }
    // Two lists of each driver in two folders, and the folder of pods, once each.
    let lists = 2 * 2 * DRIVERS.len();
    assert_eq!(names.folders.opened.get(), lists + 1);
    for number in 0..1000 {
        ask(&format!("/a.slice/cri-containerd-{number:064x}.scope"));
    }
    // Of each container of containerd its bundle, and once the namespaces of the three folders.
    assert_eq!(names.folders.opened.get(), lists + 1 + 1000 + 3);
    ask(&format!("/machine.slice/libpod-{ID}.scope"));
    assert_eq!(shown, "container web (podman 1a2b3c4d5e6f)");
}

#[test]
fn what_a_user_claims_has_a_name_from_files_of_that_user_only_and_for_that_user() {
    let path = "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope";
    let words = |folder: &str, uid| {
        let top = listed(folder, uid);
        let owner = owner(&path.replace("ID", ID)).unwrap();
        Names::new(&Root::at(top.path())).name(owner).to_string()
    };
    let unnamed = "container podman 1a2b3c4d5e6f, claimed by uid 1000";
    let home = format!("home/me/{OF_USER}/overlay-containers");
    assert_eq!(words("var/lib/containers/storage/overlay-containers", 0), unnamed);
    assert_eq!(words(&home, 0), unnamed, "root reads no files of users");
    assert_eq!(words(&home, 1001), unnamed);
    let named = "container web (podman 1a2b3c4d5e6f), claimed by uid 1000";
    assert_eq!(words(&home, 1000), named);
}
