//! Settings of the real host, including those that the kernel changes as a side effect.

use std::fs;
use std::path::Path;

use assay_host::Ledger;
use assay_sys::kernel::Root;
use assay_test_support::{HostSnapshot, host_alone};

const VM: &str = "/proc/sys/vm";

fn value_of(name: &str) -> String {
    fs::read_to_string(Path::new(VM).join(name)).unwrap().trim().to_owned()
}

/// Sets one of a pair through a ledger, checks that the kernel zeroed the other, and restores both.
fn set_and_restore(written: &str, value: &str, other: &str) {
    let (root, state) = (Root::real(), tempfile::tempdir().unwrap());
    let before = (value_of(written), value_of(other));
    let mut ledger = Ledger::begin(state.path(), "test").unwrap();
    let path = |name: &str| Path::new(VM).join(name);
    ledger.write_one_of(&root, &path(written), value, &path(other)).unwrap();
    assert_eq!((value_of(written).as_str(), value_of(other).as_str()), (value, "0"));
    assert_eq!(ledger.restore(&root), []);
    assert!(ledger.finish().unwrap());
    assert_eq!((value_of(written), value_of(other)), before);
}

#[test]
fn both_of_two_rival_settings_are_restored() {
    let Some(_lock) = host_alone("rival settings", &[]) else { return };
    let before = HostSnapshot::take();
    set_and_restore("dirty_bytes", "268435456", "dirty_ratio");
    set_and_restore("dirty_ratio", "19", "dirty_bytes");
    set_and_restore("dirty_background_bytes", "67108864", "dirty_background_ratio");
    set_and_restore("dirty_background_ratio", "9", "dirty_background_bytes");
    HostSnapshot::assert_same(&before, "after every pair");
}

/// The amount cannot be set to 0 directly: only a change of the ratio does that.
#[test]
fn two_rival_settings_of_0_are_restored() {
    let Some(_lock) = host_alone("rivals that are both 0", &[]) else { return };
    let before = HostSnapshot::take();
    let (root, state) = (Root::real(), tempfile::tempdir().unwrap());
    let mut outer = Ledger::begin(state.path(), "outer").unwrap();
    let ratio = Path::new(VM).join("dirty_background_ratio");
    let bytes = Path::new(VM).join("dirty_background_bytes");
    // 0 is a valid ratio, and zeroes the amount like any other.
    if value_of("dirty_background_bytes") == "0" {
        outer.write_file(&root, &ratio, "0").unwrap();
        set_and_restore("dirty_background_bytes", "67108864", "dirty_background_ratio");
        let refused = fs::write(&bytes, "0").unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(22), "otherwise the detour is not needed");
    }
    assert_eq!(outer.restore(&root), []);
    HostSnapshot::assert_same(&before, "after both were 0");
}

#[test]
fn a_huge_page_mode_is_restored_with_values_the_kernel_recomputed() {
    let mode = Path::new("/sys/kernel/mm/transparent_hugepage/enabled");
    if !mode.exists() {
        assay_test_support::skip("a mode of huge pages", "no transparent huge pages");
        return;
    }
    let Some(_lock) = host_alone("a mode of huge pages", &[]) else { return };
    let before = HostSnapshot::take();
    let (root, state) = (Root::real(), tempfile::tempdir().unwrap());
    for value in ["never", "always", "madvise"] {
        let mut ledger = Ledger::begin(state.path(), value).unwrap();
        ledger.keep_file(&root, &Path::new(VM).join("min_free_kbytes")).unwrap();
        ledger.write_file(&root, mode, value).unwrap();
        assert!(fs::read_to_string(mode).unwrap().contains(&format!("[{value}]")));
        assert_eq!(ledger.restore(&root), []);
        assert!(ledger.finish().unwrap());
        HostSnapshot::assert_same(&before, &format!("after {value}"));
    }
}
