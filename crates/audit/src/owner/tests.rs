//! Owners of groups as a snapshot knows them.

use std::cell::Cell;

use super::*;
use crate::fake::Fake;

thread_local! {
    /// How often a path was parsed for its owner.
    pub(crate) static PARSED: Cell<usize> = const { Cell::new(0) };
}

pub(super) fn count() {
    PARSED.with(|parsed| parsed.set(parsed.get() + 1));
}

#[test]
fn what_a_user_names_is_a_claim_and_takes_no_name_of_the_host() {
    let id = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809";
    let words = |delegated: &[(&str, u32)], names: &[&str], path: &str| {
        let map = delegated.iter().map(|(path, uid)| ((*path).to_owned(), Claimant::Uid(*uid)));
        let map = map.collect();
        let names = names.iter().map(|key| (key.replace("ID", id), "web".to_owned())).collect();
        let host = Fake::v2().change(|host| (host.delegated, host.names) = (map, names));
        named(&host.snapshot(), &path.replace("ID", id)).unwrap().to_string()
    };
    let path = "/batch/mine/libpod-ID.scope";
    let named = "container web (podman 1a2b3c4d5e6f)";
    assert_eq!(words(&[], &["ID"], path), named);
    let claimed = "container podman 1a2b3c4d5e6f, claimed by uid 7";
    assert_eq!(words(&[("/batch", 7)], &["ID"], path), claimed);
    assert_eq!(words(&[("/batch/mine", 7)], &["ID"], path), claimed);
    assert_eq!(words(&[("/bat", 7)], &["ID"], path), named, "not a group above");
    let own = words(&[("/batch", 7)], &["7:ID"], path);
    assert_eq!(own, format!("{named}, claimed by uid 7"));
}

#[test]
fn a_name_is_that_of_the_snapshot() {
    let id = "1a2b3c4d5e6f";
    let path = format!("/kubepods/burstable/pod7f-01/{id}");
    let host = |names: &[(&str, &str)]| {
        let names = names.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned()));
        Fake::v2().change(|snapshot| snapshot.names = names.collect()).snapshot()
    };
    let words = |names: &[(&str, &str)]| named(&host(names), &path).unwrap().to_string();
    assert_eq!(
        words(&[(id, "web"), ("7f-01", "shop/web-0")]),
        "container web (1a2b3c4d5e6f) of pod shop/web-0"
    );
    assert_eq!(words(&[]), "container 1a2b3c4d5e6f of pod 7f-01");
}

#[test]
fn a_claim_of_others_takes_no_name_and_that_of_a_container_shows_the_containers() {
    let (id, inner) = ("1a2b3c4d5e6f", "7a2b3c4d5e6f");
    let prefixed = format!("5:{inner}");
    let all = [(id, "web"), (inner, "db"), (prefixed.as_str(), "db")];
    let words = |by: Option<Claimant>, at: &str, path: &str| {
        let names = all.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned()));
        let names = names.collect();
        let by = by.map(|by| (at.to_owned(), by)).into_iter().collect();
        let host = Fake::v2().change(|host| (host.names, host.delegated) = (names, by)).snapshot();
        (named(&host, path).unwrap().to_string(), claimant(path, delegated(&host, path)).is_some())
    };
    let path = format!("/docker/{id}/docker/{inner}");
    let claimed = format!("container docker {inner}, claimed by");
    let by_container = format!("{claimed} container web (docker {id})");
    assert_eq!(words(None, "", &path), (by_container, true));
    let at = format!("/docker/{id}");
    let by_group = words(Some(Claimant::Gid(5)), "/docker", &path);
    assert_eq!(by_group, (format!("{claimed} gid 5"), true));
    let by_all = words(Some(Claimant::Everyone), "/", &path);
    assert_eq!(by_all, (format!("{claimed} everyone"), true));
    // The container's own group is the host's.
    assert_eq!(words(None, "", &at), (format!("container web (docker {id})"), false));
}

#[test]
fn a_claim_survives_being_written_and_read() {
    let container = Box::new(owner_in("/lxc.payload.x", None).unwrap());
    for (by, written) in [
        (Claimant::Uid(7), r#"{"uid":7}"#),
        (Claimant::Gid(7), r#"{"gid":7}"#),
        (Claimant::Everyone, r#""everyone""#),
        (Claimant::Container(container), r#"{"container":{"kind":"lxc","name":"x"}}"#),
    ] {
        let owner = Box::new(owner_in("/a.service", None).unwrap());
        let claim = Owner::Claimed { by, owner };
        let text = serde_json::to_string(&claim).unwrap();
        assert!(text.contains(&format!(r#""by":{written}"#)), "{text}");
        assert_eq!(serde_json::from_str::<Owner>(&text).unwrap(), claim);
    }
    // Formerly only users were told.
    let former = r#"{"kind":"claimed","uid":7,"owner":{"kind":"unit","name":"a.service"}}"#;
    let claim = serde_json::from_str::<Owner>(former).unwrap();
    assert_eq!(claim.to_string(), "unit a.service, claimed by uid 7");
}
