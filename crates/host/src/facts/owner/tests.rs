//! Paths as each manager makes them (docs/blame.md).

use super::*;

const ID: &str = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809";
const UID: &str = "6c1a4e95-1f2d-4b6c-9c0f-0a1b2c3d4e5f";

/// The words for a path, in which `ID` and `UID` stand for those above, and `U_ID` for the uid with `_`.
fn words(path: &str) -> String {
    let path = path.replace("U_ID", &UID.replace('-', "_")).replace("UID", UID).replace("ID", ID);
    owner(&path).map_or("-".to_owned(), |owner| {
        owner.to_string().replace(ID, "ID").replace(&ID[..12], "ID").replace(UID, "UID")
    })
}

#[test]
fn paths_of_each_manager_have_their_owner() {
    for (path, expected) in [
        // systemd
        ("/", "-"),
        ("/system.slice", "unit system.slice"),
        ("/system.slice/nginx.service", "unit nginx.service"),
        ("/system.slice/system-getty.slice/getty@tty1.service", "unit getty@tty1.service"),
        ("/user.slice/user-1000.slice/session-2.scope", "unit session-2.scope"),
        ("/user.slice/user-1000.slice/user@1000.service", "unit user@1000.service"),
        ("/user.slice/user-1000.slice/user@1000.service/mine", "unit user@1000.service"),
        (
            "/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope",
            "unit a.scope, claimed by uid 1000",
        ),
        ("/user.slice/user-0.slice/user@0.service/a.scope", "unit a.scope"),
        (r"/system.slice/dev-disk-by\x2dlabel-EFI.swap", "unit dev-disk-by-label-EFI.swap"),
        ("/system.slice/nginx.service/workers", "unit nginx.service"),
        ("/init.scope", "unit init.scope"),
        ("/.service", "-"),
        ("/batch", "-"),
        // Docker, Podman, containerd, nerdctl
        ("/system.slice/docker-ID.scope", "container docker ID"),
        ("/docker/ID", "container docker ID"),
        ("/docker/ID/system.slice/nginx.service", "container docker ID"),
        ("/docker/buildkit", "-"),
        ("/machine.slice/libpod-ID.scope", "container podman ID"),
        ("/machine.slice/libpod-ID.scope/container", "container podman ID"),
        ("/machine.slice/libpod-conmon-ID.scope", "unit libpod-conmon-ID.scope"),
        ("/system.slice/web.service/libpod-payload-ID", "container podman ID"),
        ("/system.slice/web.service/runtime", "unit web.service"),
        ("/kubepods/burstable/podUID/kata_ID", "container ID of pod UID"),
        ("/kata_overhead/ID", "container ID"),
        ("/firecracker", "-"),
        ("/firecracker/vm-7", "machine vm-7"),
        ("/libpod_parent/libpod-ID", "container podman ID"),
        ("/libpod_parent/ID", "-"),
        ("/libpod_parent/ID/libpod-ID", "container podman ID"),
        (
            "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope/container",
            "container podman ID, claimed by uid 1000",
        ),
        ("/b.slice/cri-containerd-ID.scope", "container containerd ID"),
        ("/system.slice/nerdctl-ID.scope", "container nerdctl ID"),
        ("/a/b/ID", "container ID"),
        ("/ID", "container ID"),
        // Kubernetes, systemd driver
        ("/kubepods.slice", "unit kubepods.slice"),
        ("/kubepods.slice/kubepods-burstable.slice", "unit kubepods-burstable.slice"),
        ("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podU_ID.slice", "pod UID"),
        (
            "/kubepods.slice/kubepods-podU_ID.slice/cri-containerd-ID.scope",
            "container containerd ID of pod UID",
        ),
        (
            "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podU_ID.slice/crio-ID.scope/container",
            "container CRI-O ID of pod UID",
        ),
        ("/kubepods.slice/kubepods-podU_ID.slice/crio-conmon-ID.scope", "pod UID"),
        // Kubernetes, cgroupfs driver
        ("/kubepods/podUID", "pod UID"),
        ("/kubepods/burstable/podUID/ID", "container ID of pod UID"),
        ("/kubepods/besteffort/podUID/crio-ID", "container CRI-O ID of pod UID"),
        ("/podman", "-"),
        // LXC, Proxmox
        ("/lxc.payload.web", "LXC container web"),
        ("/lxc.payload.web/system.slice/nginx.service", "LXC container web"),
        ("/lxc.monitor.web", "-"),
        ("/lxc.pivot", "-"),
        ("/lxc/101/ns", "LXC container 101"),
        ("/lxc/payload/web", "LXC container web"),
        ("/lxc/monitor/web", "-"),
        ("/lxc/101/ns/docker/ID", "container docker ID, claimed by LXC container 101"),
        ("/qemu.slice/102.scope", "machine 102"),
        // libvirt
        (r"/machine.slice/machine-qemu\x2d3\x2dweb\x2d1.scope/libvirt/vcpu0", "machine web-1"),
        ("/machine/web.libvirt-qemu/emulator", "machine web"),
        ("/machine/lxc-264-web.libvirt-lxc", "machine web"),
        ("/machine.slice/machine-arch.scope", "unit machine-arch.scope"),
        // Nomad
        ("/nomad.slice/share.slice/UID.db.1.scope", "container db.1 (nomad 6c1a4e95-1f2)"),
        ("/nomad/UID.db", "container db (nomad 6c1a4e95-1f2)"),
        ("/nomad.slice/share.slice", "unit share.slice"),
        ("/a.slice/UID.db.scope", "unit UID.db.scope"),
        // Slurm
        ("/system.slice/slurmstepd.scope/system", "unit slurmstepd.scope"),
        ("/system.slice/slurmstepd.scope/job_71/step_0/user/task_2", "Slurm job 71 step 0"),
        ("/system.slice/node1_slurmstepd.scope/job_71", "Slurm job 71"),
        (
            "/system.slice/slurmstepd.scope/s2BX4DKG9Q1A00/step_batch/slurm",
            "Slurm job s2BX4DKG9Q1A00 step batch",
        ),
        ("/slurm/uid_1000/job_71/step_extern/task_0", "Slurm job 71 step extern"),
    ] {
        assert_eq!(words(path), expected, "{path}");
    }
}

#[test]
fn pods_have_the_class_of_their_level() {
    for (path, expected) in [
        ("/kubepods.slice/kubepods-pod1_2.slice", Qos::Guaranteed),
        (
            "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1_2.slice",
            Qos::BestEffort,
        ),
        ("/kubepods/burstable/pod1-2", Qos::Burstable),
    ] {
        let Some(Owner::Pod(pod)) = owner(path) else { panic!("{path} is no pod") };
        assert_eq!((pod.uid.as_str(), pod.qos), ("1-2", expected), "{path}");
    }
}

#[test]
fn a_name_is_shown_beside_the_id() {
    let pod = Pod { uid: UID.into(), qos: Qos::Burstable, name: Some("shop/web-0".into()) };
    let container = Container {
        runtime: Some(Runtime::Containerd),
        id: ID.into(),
        name: Some("nginx".into()),
        pod: Some(pod),
    };
    let shown = Owner::Container(container).to_string();
    assert_eq!(shown, "container nginx (containerd 1a2b3c4d5e6f) of pod shop/web-0");
}

#[test]
fn any_bytes_are_read_without_a_panic() {
    for path in [
        r"/\x.scope",
        r"/a\xzz.service",
        r"/\xff.service",
        "/pod",
        "//..//",
        "/kubepods/pod",
        "/\u{e9}.slice",
    ] {
        let _ = owner(path);
    }
    assert_eq!(words(r"/\xff.service"), r"unit \xff.service");
}

#[test]
fn what_a_user_calls_a_group_is_a_claim_wherever_groups_are_delegated() {
    let words = |path: &str, delegated| {
        let owner = owner_in(&path.replace("ID", ID), delegated).unwrap();
        owner.to_string().replace(&ID[..12], "ID")
    };
    let mine = |levels| Some(Delegated { levels, by: Claimant::Uid(7) });
    assert_eq!(words("/a.slice/docker-ID.scope", None), "container docker ID");
    let claimed = "container docker ID, claimed by uid 7";
    let unknown = Some(Delegated { levels: 1, by: Claimant::Unknown });
    assert_eq!(
        words("/a.slice/docker-ID.scope", unknown),
        "container docker ID, claimed by someone unknown"
    );
    assert_eq!(words("/a.slice/docker-ID.scope", mine(1)), claimed);
    // The container's own group is root's, no matter which user owns its directory; what is made in it is not.
    assert_eq!(words("/a.slice/docker-ID.scope", mine(2)), "container docker ID");
    assert_eq!(words("/a.slice/docker-ID.scope/init.scope", mine(2)), "container docker ID");
    assert_eq!(words("/kubepods/podu-1/ID/kubepods/pod9", mine(2)), "pod 9, claimed by uid 7");
    // The first user on the way counts.
    let path = "/user.slice/user-1000.slice/user@1000.service/b.service";
    assert_eq!(words(path, mine(5)), "unit b.service, claimed by uid 1000");
}

#[test]
fn what_is_named_within_a_container_is_a_claim_of_that_container() {
    let inner = "0".repeat(64);
    let all = |path: &str, delegated: Option<Delegated>| {
        let path = path.replace("ID", ID).replace("INNER", &inner);
        let by = claimant(&path, delegated.clone()).map(|by| by.to_string());
        let owner = owner_in(&path, delegated).unwrap().to_string();
        let short = |text: String| text.replace(&ID[..12], "ID").replace(&inner[..12], "INNER");
        (short(owner), by.map(short))
    };
    let outer = "container docker ID";
    let own = (outer.to_owned(), None);
    assert_eq!(all("/system.slice/docker-ID.scope", None), own);
    let below = (outer.to_owned(), Some(outer.to_owned()));
    assert_eq!(all("/system.slice/docker-ID.scope/init.scope", None), below);
    for path in [
        "/system.slice/docker-ID.scope/docker-INNER.scope",
        "/docker/ID/docker/INNER",
        "/docker/ID/a.slice/docker-INNER.scope/docker-ID.scope/docker/INNER",
    ] {
        let claimed = format!("container docker INNER, claimed by {outer}");
        assert_eq!(all(path, None), (claimed, Some(outer.to_owned())), "{path}");
    }
    for (path, expected) in [
        ("/docker/ID/kubepods/pod9", "pod 9, claimed by container docker ID"),
        ("/docker/ID/lxc.payload.x", "LXC container x, claimed by container docker ID"),
        ("/lxc.payload.x/docker/ID", "container docker ID, claimed by LXC container x"),
        ("/qemu.slice/1.scope/docker/ID", "container docker ID, claimed by machine 1"),
        ("/docker/ID/slurmstepd.scope/job_7", "Slurm job 7, claimed by container docker ID"),
        (
            "/machine.slice/machine-arch.scope/docker-ID.scope",
            "container docker ID, claimed by unit machine-arch.scope",
        ),
        (
            "/machine.slice/systemd-nspawn@arch.service/payload/init.scope",
            "unit init.scope, claimed by unit systemd-nspawn@arch.service",
        ),
    ] {
        assert_eq!(all(path, None).0, expected, "{path}");
    }
    // A pod is no container: what is in it is the kubelet's.
    assert_eq!(all("/kubepods/pod9/ID", None), ("container ID of pod 9".to_owned(), None));
    // Who owns a directory on the way, or may write to it, counts where that is no further down.
    let by = |by, levels| Some(Delegated { levels, by });
    let nested = "/docker/ID/docker/INNER";
    let gid = all(nested, by(Claimant::Gid(5), 1)).0;
    assert_eq!(gid, "container docker INNER, claimed by gid 5");
    // A runtime gives the container's own group to a user: root of the container makes what is in it all the same.
    let mapped = all(nested, by(Claimant::Uid(1000), 2));
    assert_eq!(mapped.0, "container docker INNER, claimed by container docker ID");
    assert_eq!(mapped.1.as_deref(), Some(outer));
    let inside = all(nested, by(Claimant::Everyone, 3)).0;
    assert_eq!(inside, "container docker INNER, claimed by container docker ID");
    let whole = all(nested, by(Claimant::Everyone, 0)).0;
    assert_eq!(whole, "container docker INNER, claimed by everyone");
}

#[test]
fn a_name_is_one_line_whatever_its_escapes_say() {
    for name in
        [r"a\x0ab.service", r"a\x1b.service", r"a\xc2\x85.service", r"a\xe2\x80\xae.service"]
    {
        assert_eq!(words(&format!("/{name}")), format!("unit {name}"));
    }
    let path = r"/machine.slice/machine-qemu\x2d3\x2dweb\x0a7.scope";
    assert!(!words(path).contains('\n'), "{}", words(path));
    // Names may come from documents as well.
    let owner = Owner::Lxc { name: "a\nb".into() };
    assert_eq!(shown(Some(&owner), "/c\nd"), r"LXC container a\nb  /c\nd");
}
