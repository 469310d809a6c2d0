//! docs/reference/settings.md, generated from the table.

use std::fmt::Write;

use super::{HostSetting, SideEffect, host_settings};
use crate::knob::reference::late;

const HEAD: &str = "\
# Settings of the host

A study sets them for the duration of each repeat ([study file](../study-file.md)). Each is recorded in the ledger before it
is changed, and its previous value is restored, even after SIGKILL ([safety](../safety.md)).

Names that are not on this page are refused, even if the kernel has them. Some settings cannot be restored
(`kernel.modules_disabled`), some act when they are written (`vm.compact_memory`), some can make a machine unusable
(`vm.overcommit_memory`). Bytes take units (`64 MiB`). *Since* is the first kernel with the setting, if later than 4.15.
";

/// The page as Markdown.
#[must_use]
pub fn settings_reference() -> String {
    let mut page = HEAD.to_owned();
    let (sysctls, huge): (Vec<&HostSetting>, Vec<&HostSetting>) =
        host_settings().iter().partition(|setting| setting.is_sysctl());
    page.push_str("\n## `sysctls`\n");
    table(&mut page, &sysctls);
    page.push_str(
        "\n## `thp`: transparent huge pages\n\nFiles below \
         `/sys/kernel/mm/transparent_hugepage`. A text instead of a table is `enabled`. \
         All need CONFIG_TRANSPARENT_HUGEPAGE.\n",
    );
    table(&mut page, &huge);
    page
}

fn table(page: &mut String, settings: &[&HostSetting]) {
    page.push_str("\n| name | values | unit | since | |\n|---|---|---|---|---|\n");
    for setting in settings {
        let config = setting.config.filter(|_| setting.is_sysctl());
        let unit = if setting.unit.is_empty() { "-" } else { setting.unit };
        let _ = writeln!(
            page,
            "| `{}` | {} | {unit} | {} | {}{}{} |",
            setting.key(),
            setting.range.cell(),
            late(setting.since),
            setting.about,
            effect(setting.effect),
            config.map(|config| format!("; {config}")).unwrap_or_default(),
        );
    }
}

fn effect(effect: SideEffect) -> String {
    match effect {
        SideEffect::None => String::new(),
        SideEffect::Zeroes(other) => format!("; writing it sets `{other}` to 0"),
        SideEffect::Recomputes(path) => {
            format!("; writing it makes the kernel recompute {path}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_on_the_page_and_described() {
        let page = settings_reference();
        for setting in host_settings() {
            assert!(page.contains(&format!("| `{}` |", setting.key())), "{}", setting.name);
            assert!(!setting.about.is_empty(), "{}", setting.name);
        }
        assert!(page.is_ascii());
    }
}
