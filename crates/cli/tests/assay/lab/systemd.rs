//! Slices that a real systemd makes, in a guest with cgroup v2: `assay audit` reads what systemd wrote.

use assay_test_support::skip;
use serde_json::Value;

use super::watched::on_6_12;

/// Parts of a guest's script. Systemd is the first process of a namespace of processes: it may be older than the guest's
/// kernel, and needs nothing of the guest's own first process. `db.slice` has the protection that a service below it has,
/// `web.slice` has not.
pub(super) const SYSTEMD: &str = r#"
units=/run/systemd/system
unit() { # name, text
    mkdir -p $units && printf '%b' "$2" >$units/$1
}
service() { # name, slice, a setting
    unit $1 "[Unit]\nDefaultDependencies=no\n[Service]\nSlice=$2\n$3\nExecStart=/bin/sleep 900\n"
}
unit web.slice '[Slice]\nCPUWeight=300\n'
unit db.slice '[Slice]\nMemoryLow=96M\n'
service shop.service web.slice 'CPUWeight=300\nMemoryLow=64M'
service batch.service web.slice 'CPUQuota=30%%'
service sql.service db.slice 'MemoryLow=64M'
unit assay-lab.target '[Unit]\nDefaultDependencies=no\nWants=shop.service batch.service sql.service\n'
if [ -x /lib/systemd/systemd ]; then
    env -i container=lab PATH="$PATH" unshare --pid --fork --mount-proc /lib/systemd/systemd --system \
        --unit=assay-lab.target --log-target=null --show-status=0 >/run/systemd.said 2>&1 &
    for service in web.slice/shop web.slice/batch db.slice/sql; do
        for _ in $(seq 120); do
            [ -n "$(cat /sys/fs/cgroup/$service.service/cgroup.procs 2>/run/missing)" ] && break
            sleep 1
        done
    done
    part systemd "$assay" audit --json
fi
"#;

/// Groups of which a rule says something, with the names of their units.
fn found<'d>(document: &'d Value, code: &str) -> Vec<(&'d str, &'d str)> {
    let findings = document["findings"].as_array().unwrap().iter();
    let of = findings.filter(|finding| finding["code"] == code);
    let text = |value: &'d Value| value.as_str().unwrap_or_default();
    of.map(|one| (text(&one["group"]), text(&one["owner"]["name"]))).collect()
}

/// The row of a group in a table of the document.
fn row<'d>(document: &'d Value, table: &str, group: &str) -> &'d Value {
    let rows = document[table].as_array().unwrap();
    rows.iter().find(|row| row["group"] == group).unwrap_or_else(|| panic!("{document:#}"))
}

#[test]
fn what_systemd_was_asked_for_is_read_from_its_slices() {
    let test = "slices of systemd";
    let Some(guest) = on_6_12(test) else { return };
    let Some(part) = guest.parts.get("systemd") else {
        return skip(test, "no systemd on this host, whose programs the guest has");
    };
    let document = part.json();
    let (shop, sql) = ("/web.slice/shop.service", "/db.slice/sql.service");
    assert_eq!(found(&document, "A-ANCESTOR"), [(shop, "shop.service")], "{document:#}");
    assert_eq!(found(&document, "A-NOT-ENABLED"), [], "{document:#}");
    let set = |group| row(&document, "protection", group)["set"].as_u64();
    assert_eq!([set(shop), set(sql)], [Some(64 << 20); 2]);
    let effective = |group| row(&document, "protection", group)["effective"]["value"].as_u64();
    assert_eq!(effective(shop), Some(0));
    assert!(effective(sql) > Some(0), "{document:#}");
    // 300 of 400: the other service of the slice has systemd's default.
    assert_eq!(row(&document, "worth", shop)["of_level"], 0.75);
}
