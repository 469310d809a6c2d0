//! Options of workloads.

use super::{Check, fio};
use crate::model::Workload;

pub(super) fn check(check: &mut Check<'_>) {
    for (name, workload) in &check.study.workloads {
        if let Workload::Fio { args } = workload {
            for (option, value) in args {
                fio::check(check, &format!("workloads.{name}.args"), option, value);
            }
        }
    }
}
