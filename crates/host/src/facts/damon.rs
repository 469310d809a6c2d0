//! Active DAMON schemes.

use assay_facts::{Available, DamonScheme};
use assay_kernel::{Root, damon};

pub(super) fn schemes(root: &Root) -> Available<Vec<DamonScheme>> {
    let fact = |scheme: damon::Scheme| DamonScheme {
        name: scheme.name,
        action: scheme.action,
        pid: scheme.pid,
    };
    match damon::schemes(root) {
        Ok(schemes) => Available::Value(schemes.into_iter().map(fact).collect()),
        Err(why) => Available::NotAvailable(why),
    }
}
