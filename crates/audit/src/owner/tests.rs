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
        let map = delegated.iter().map(|(path, uid)| ((*path).to_owned(), *uid)).collect();
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
