//! The lines of a unit's file that set resources.

use super::is_understood;

/// Sections in which settings of resources stand.
pub(super) const SECTIONS: [&str; 6] = ["Service", "Slice", "Scope", "Socket", "Mount", "Swap"];

/// All assignments in some sections, in order.
pub(in crate::fulfilment) fn assignments(text: &str, sections: &[&str]) -> Vec<(String, String)> {
    let mut is_ours = false;
    let mut found = Vec::new();
    let lines = joined(text);
    for line in lines.iter().map(|line| line.trim()) {
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_ours = sections.contains(&section);
        } else if let Some((key, value)) = line.split_once('=').filter(|_| is_ours)
            && !line.starts_with(['#', ';'])
        {
            found.push((key.trim().to_owned(), value.trim().to_owned()));
        }
    }
    found
}

/// Lines with those that they continue on. Comments are left out first, also between the two (`config_parse`, src/shared/conf-parser.c).
fn joined(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut begun: Option<String> = None;
    for line in text.lines().filter(|line| !line.trim_start().starts_with(['#', ';'])) {
        let mut whole = begun.take().unwrap_or_default();
        whole.push_str(line);
        let slashes = line.len() - line.trim_end_matches('\\').len();
        if slashes % 2 == 0 {
            lines.push(whole);
            continue;
        }
        whole.pop();
        whole.push(' ');
        begun = Some(whole);
    }
    lines.extend(begun);
    lines
}

/// Of the text of a unit's file the settings of resources, `CPUWeight=200`, in order: all that a snapshot keeps of it.
#[must_use]
pub fn unit_settings(text: &str) -> Vec<String> {
    let kept = |(key, value): (String, String)| match key.as_str() {
        "ExecStart" => client(&value),
        key => is_understood(key).then(|| format!("{key}={value}")),
    };
    assignments(text, &SECTIONS).into_iter().filter_map(kept).collect()
}

/// Of a command that asks a daemon for a container, what it is; no more is kept of any command.
fn client(command: &str) -> Option<String> {
    let mut words = command.trim_start_matches(['-', '@', ':', '+', '!']).split_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    let is_client = ["docker", "podman", "nerdctl"].contains(&program);
    let what = words.next().filter(|what| is_client && ["run", "start"].contains(what))?;
    let is_placed = words.any(|word| word.starts_with("--cgroup"));
    (!is_placed).then(|| format!("ExecStart={program} {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_units_file_only_settings_of_resources_are_kept() {
        let text = "[Unit]\nCPUWeight=1\n[Service]\nExecStart=/bin/x --token=1\nEnvironment=KEY=secret\n\
                    # MemoryMax=1\nCPUWeight = 200\nStartupCPUWeight=500\nCPUWeight=\nStartupExec=1\nMemoryMax=\\\n 1G\n";
        let kept = ["CPUWeight=200", "StartupCPUWeight=500", "CPUWeight=", "MemoryMax=1G"];
        assert_eq!(unit_settings(text), kept);
    }

    #[test]
    fn of_a_command_only_is_kept_that_it_starts_a_container() {
        let kept = |command: &str| unit_settings(&format!("[Service]\nExecStart={command}\n"));
        assert_eq!(kept("-/usr/bin/docker run --rm -e TOKEN=1 x"), ["ExecStart=docker run"]);
        for other in ["/usr/bin/dockerd", "podman run --cgroups=split x", "docker ps", "/bin/run"] {
            assert!(kept(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn a_comment_neither_continues_nor_ends_a_line() {
        let text = "[Service]\n# was \\\nCPUWeight=200\nMemoryMax=\\\n  ; half\n1G\n; x\\\nTasksMax=5\\\\\nCPUQuota=7%\\\n";
        let kept = ["CPUWeight=200", "MemoryMax=1G", "TasksMax=5\\\\", "CPUQuota=7%"];
        assert_eq!(unit_settings(text), kept);
    }
}
