//! Slices that a real systemd makes, in a guest with cgroup v2: `assay audit` reads what systemd wrote.

use assay_test_support::skip;
use serde_json::Value;

use super::guest::on_v2;

/// Parts of a guest's script.
pub(super) const SYSTEMD: &str = r#"
if [ -x /lib/systemd/systemd ]; then
    part systemd sh "$scripts/lab/systemd" "$assay" audit -o json
    part unit "$assay" audit --manifest /run/systemd/system/shop.service -o json
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
    let Some(guest) = on_v2(test) else { return };
    let Some(part) = guest.parts.get("systemd") else {
        return skip(test, "no systemd on this host, whose programs the guest has");
    };
    assert_eq!(part.code, 0, "{}", part.said);
    let document = part.json();
    let (shop, sql) = ("/web.slice/shop.service", "/db.slice/sql.service");
    assert_eq!(found(&document, "A-ANCESTOR"), [(shop, "shop.service")], "{document:#}");
    assert_eq!(found(&document, "A-NOT-ENABLED"), [], "{document:#}");
    let set = |group| row(&document, "protection", group)["set"].as_u64();
    assert_eq!([set(shop), set(sql)], [Some(64 << 20); 2]);
    let effective = |group| row(&document, "protection", group)["effective"]["value"].as_u64();
    assert_eq!(effective(shop), Some(0));
    assert!(effective(sql) > Some(0), "{document:#}");
    let unit = guest.part("unit").json();
    let rows = unit["fulfilments"][0]["rows"].as_array().unwrap();
    let kept = rows.iter().filter(|row| row["standing"] == "kept");
    assert_eq!((rows.len(), kept.count()), (3, 3), "{unit:#}");
    // 300 of 400: the other service of the slice has systemd's default.
    assert_eq!(row(&document, "worth", shop)["of_level"], 0.75);
}
