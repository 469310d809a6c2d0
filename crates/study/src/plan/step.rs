//! What a repeat of a trial does, in order, as commands that a person would type.
//!
//! `assay check` prints them, and `--explain-steps` makes a script of them; the runner follows the plan
//! itself, not this list.

use std::path::{Path, PathBuf};

use crate::workload::Placeholders;
use crate::workload::fio::Target;
use crate::{DiskSource, Ends, Format};
use assay_host::facts::UsedHierarchy;
use assay_host::knob::SideEffect;
use assay_host::scratch::EXT4_EXTENDED;
use assay_record::run_folder::{PlacementRecord, SettingRecord};
use assay_sys::escape::shell_word;
use assay_sys::units::MemoryPolicy;
use serde::Serialize;

use crate::plan::null_blk::null_blk_attributes;
use crate::plan::room::part_size;
use crate::plan::setting::SettingPlan;
use crate::plan::trial::{
    AfterPlan, DiskPlan, GroupPlan, KnobPlan, Part, StoragePlan, ToolPlan, Trial, WorkloadPlan,
};

/// The name of all that is made by hand. A run has names of its own.
const NAME: &str = "assay-by-hand";

/// Around text that the shell expands: all other text is quoted, and none of a study's has it.
const RAW: char = '\u{1}';

/// One change of the host, as commands of a shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedChange {
    /// What is done.
    pub change: String,
    /// How it is restored; empty if restoring another change restores it too.
    pub inverse: String,
}

/// The changes of a repeat of `trial`, in order.
#[must_use]
pub fn changes(trial: &Trial) -> Vec<PlannedChange> {
    let mut steps = Steps::default();
    if trial.disks.iter().any(|disk| disk.format != Format::None) {
        steps.make_dir(&mounts());
    }
    for disk in &trial.disks {
        steps.disk(disk);
    }
    for setting in &trial.settings {
        steps.setting(setting);
    }
    if trial.makes_groups() {
        for hierarchy in &trial.hierarchies {
            steps.top(hierarchy);
        }
    }
    for group in trial.groups.iter().filter(|group| group.existing.is_none()) {
        for hierarchy in &trial.hierarchies {
            steps.group(hierarchy, &directory(hierarchy, &group.name), group.is_inner);
        }
        for knob in &group.knobs {
            steps.knob(trial, group, knob);
        }
    }
    steps.workloads(trial);
    steps.0
}

/// A repeat of `trial` as a script: its changes, the wait for its end, the counters, and the way back.
#[must_use]
pub fn script(trial: &Trial) -> String {
    let changes = changes(trial);
    let forth = changes.iter().map(|one| one.change.clone());
    let back = changes.iter().rev().map(|one| one.inverse.clone()).filter(|one| !one.is_empty());
    let lines = forth.chain(["# until its end".to_owned(), end(trial)]).chain(counters(trial));
    lines.chain(["# and back".to_owned()]).chain(back).collect::<Vec<_>>().join("\n")
}

/// Waits for the end of a repeat.
fn end(trial: &Trial) -> String {
    let at_most = trial.at_most.as_secs_f64();
    let all = trial.groups.iter().flat_map(|group| &group.workloads);
    let ending = (1..).zip(all).filter(|(_, workload)| !workload.until_stopped);
    let ending: Vec<String> = ending.map(|(number, _)| format!("$w{number}")).collect();
    let awaited = match trial.ends {
        Ends::First => ending.first().cloned().unwrap_or_default(),
        Ends::All => ending.join(" "),
        Ends::Time => String::new(),
    };
    match awaited.as_str() {
        "" => format!("sleep {at_most}"),
        all => {
            let each = "for one; do tail -f /dev/null --pid=$one; done";
            format!("timeout {at_most} sh -c '{each}' sh {all}")
        }
    }
}

/// Prints what the kernel has counted for each group.
fn counters(trial: &Trial) -> Vec<String> {
    let files = [
        ("cpu", "cpu.stat", "cpu.stat"),
        ("cpuacct", "cpu.stat", "cpuacct.usage"),
        ("io", "io.stat", "blkio.*io_service_bytes"),
        ("memory", "memory.current", "memory.usage_in_bytes"),
    ];
    let mut lines = Vec::new();
    for hierarchy in &trial.hierarchies {
        let top = word(&directory(hierarchy, "").display().to_string());
        for (_, v2, v1) in files.iter().filter(|(name, ..)| hierarchy.controllers.contains(*name)) {
            let file = shell_word(if hierarchy.is_v2 { v2 } else { v1 });
            lines.push(format!("find {top} -mindepth 2 -name {file} -exec grep -H . {{}} +"));
        }
    }
    lines.dedup();
    lines
}

/// Text that the shell expands.
fn raw(text: &str) -> String {
    format!("{RAW}{text}{RAW}")
}

/// A word of a command line, in which the shell expands nothing but [`raw`] text.
fn word(text: &str) -> String {
    let quoted = |(index, part): (usize, &str)| match (index % 2, part) {
        (1, raw) => raw.to_owned(),
        (_, "") if !text.is_empty() => String::new(),
        (_, plain) => shell_word(plain),
    };
    text.split(RAW).enumerate().map(quoted).collect()
}

/// Where file systems are mounted.
fn mounts() -> PathBuf {
    Path::new("/run").join(NAME)
}

/// A group in one hierarchy; without a name the top group.
fn directory(hierarchy: &UsedHierarchy, group: &str) -> PathBuf {
    let top = hierarchy.base.join(NAME);
    if group.is_empty() { top } else { top.join(group) }
}

/// The device of a disk, which a variable holds if only the kernel knows its name; or its directory.
fn device(disk: &DiskPlan) -> String {
    match &disk.source {
        DiskSource::Loop => raw(&format!("${{disk_{}}}", disk.name.replace('-', "_"))),
        DiskSource::NullBlk(_) => format!("/dev/assay-{}", disk.name),
        DiskSource::Block { device, .. } => device.clone(),
        DiskSource::Directory { path } => format!("{}/{NAME}-{}", path.replace(RAW, ""), disk.name),
    }
}

/// The kernel's name of the whole disk.
fn kernel_name(disk: &DiskPlan) -> String {
    match (&disk.whole, &disk.source) {
        (Some(whole), _) => whole.clone(),
        (None, DiskSource::Loop) => device(disk).replace('}', "##*/}"),
        (None, _) => device(disk).rsplit('/').next().unwrap_or_default().to_owned(),
    }
}

/// A part of a disk, from 1: the kernel puts a `p` after a digit.
fn part(disk: &DiskPlan, number: usize) -> String {
    let device = device(disk);
    let is_number = |text: &str| text.ends_with(|last: char| last.is_ascii_digit());
    let p = if disk.source == DiskSource::Loop || is_number(&device) { "p" } else { "" };
    format!("{device}{p}{number}")
}

fn mount(disk: &DiskPlan, number: usize) -> String {
    mounts().join(format!("{}-{number}", disk.name)).display().to_string()
}

/// Where the data of a workload is.
fn target(disk: &DiskPlan, storage: &StoragePlan, workload: &str) -> Target {
    let &StoragePlan { offset, size, .. } = storage;
    let device_of = |path| Target::Device { path, offset, size };
    let below = |above: String| Target::Directory { path: format!("{above}/{workload}"), size };
    match storage.part {
        Part::Device => device_of(device(disk)),
        Part::Partition(index) => device_of(part(disk, index + 1)),
        Part::Mount(index) => below(mount(disk, index + 1)),
        Part::Directory => below(device(disk)),
    }
}

#[derive(Default)]
struct Steps(Vec<PlannedChange>);

impl Steps {
    fn add(&mut self, change: impl Into<String>, inverse: impl Into<String>) {
        self.0.push(PlannedChange { change: change.into(), inverse: inverse.into() });
    }

    fn make_dir(&mut self, path: &Path) {
        let path = word(&path.display().to_string());
        self.add(format!("mkdir {path}"), format!("rmdir {path}"));
    }

    /// A value that goes with something else.
    fn write(&mut self, value: &str, path: &str) {
        self.add(write(value, path), "");
    }

    /// Keeps the value of a file, of choices the active one, and returns what restores it.
    fn keep(&mut self, path: &str) -> String {
        let name = format!("kept{}", self.0.len());
        self.add(format!(r"{name}=$(sed 's/.*\[\(.*\)\].*/\1/' {})", word(path)), "");
        write(&raw(&format!("\"${name}\"")), path)
    }

    fn disk(&mut self, disk: &DiskPlan) {
        let (name, node) = (&disk.name, word(&device(disk)));
        let wipe = format!("wipefs --quiet --all {node}");
        match &disk.source {
            DiskSource::Loop => {
                let image = word(&format!("{NAME}-{name}.img"));
                let fill =
                    format!("head -c {} /dev/urandom > {image}; sync {image}", disk.size.get());
                self.add(fill, format!("rm {image}"));
                let variable = format!("disk_{}", name.replace('-', "_"));
                let attach = "losetup --find --show --direct-io=on";
                let detach = format!("losetup --detach {node}");
                self.add(format!("{variable}=$({attach} {image})"), detach);
            }
            DiskSource::NullBlk(_) => {
                let path = format!("/sys/kernel/config/nullb/assay-{name}");
                self.make_dir(Path::new(&path));
                self.write(&(disk.size.get() >> 20).to_string(), &format!("{path}/size"));
                for (attribute, value) in null_blk_attributes(disk) {
                    self.write(&value, &format!("{path}/{attribute}"));
                }
                let power = format!("{path}/power");
                self.add(write("1", &power), write("0", &power));
            }
            DiskSource::Block { erase, .. } => {
                let is_blank = format!("[ -z \"$(wipefs {node})\" ] || exit 1");
                self.add(if erase.is_some() { wipe.clone() } else { is_blank }, wipe);
            }
            DiskSource::Directory { .. } => {
                self.add(format!("mkdir {node}"), format!("rm -r {node}"));
            }
        }
        self.parts(disk);
        let queue = format!("/sys/block/{}/queue", kernel_name(disk));
        let scheduler = disk.scheduler.iter().map(|name| ("scheduler", name));
        let others = disk.queue.iter().map(|(attribute, value)| (attribute.as_str(), value));
        for (attribute, value) in scheduler.chain(others) {
            let path = format!("{queue}/{}", attribute.replace(RAW, ""));
            // A disk that was made vanishes with its queue.
            let inverse = match &disk.source {
                DiskSource::Block { .. } => self.keep(&path),
                _ => String::new(),
            };
            self.add(format!("echo {} > {}", shell_word(value), word(&path)), inverse);
        }
    }

    /// Partitions and file systems.
    fn parts(&mut self, disk: &DiskPlan) {
        let count = disk.partitions as usize;
        if count > 0 {
            let length = part_size(disk).get() >> 20;
            let label = if count <= 4 { "dos" } else { "gpt" };
            let start = |index: u64| format!("'start={}MiB, size={length}MiB'", 1 + index * length);
            let starts: Vec<String> = (0..u64::from(disk.partitions)).map(start).collect();
            let table = format!("printf '%s\\n' 'label: {label}' {}", starts.join(" "));
            let node = word(&device(disk));
            // Not all kernels read tables; partx(8) adds the partitions in any case.
            let write = "sfdisk --quiet --no-reread --no-tell-kernel --wipe always";
            let change = format!("{table} | {write} {node}; partx --update {node}");
            self.add(change, format!("partx --delete {node}"));
        }
        let make = match disk.format {
            Format::None => return,
            Format::Ext4 => format!("mkfs.ext4 -F -q -E {EXT4_EXTENDED}"),
            Format::Xfs => "mkfs.xfs -f -q -K".to_owned(),
        };
        for number in 1..=count.max(1) {
            let node = if count == 0 { device(disk) } else { part(disk, number) };
            let (node, target) = (word(&node), mount(disk, number));
            self.add(format!("{make} {node}"), "");
            self.make_dir(Path::new(&target));
            let target = word(&target);
            self.add(format!("mount {node} {target}"), format!("umount {target}"));
        }
    }

    /// A setting that has the value already, or that follows from another, is not written.
    fn setting(&mut self, plan: &SettingPlan) {
        let SettingRecord { path, written, implied, .. } = &plan.record;
        if *implied || plan.found == *written {
            return;
        }
        let own = write(&plan.found, path);
        let inverse = match plan.setting().map(|setting| (setting.effect, setting.rival())) {
            // 0 cannot be written: its rival was in effect.
            Some((SideEffect::Zeroes(_), Some(rival))) if plan.found == "0" => {
                self.keep(&rival.path())
            }
            Some((SideEffect::Recomputes(other), _)) => format!("{own}; {}", self.keep(other)),
            _ => own,
        };
        self.add(write(written, path), inverse);
    }

    /// The top group in one hierarchy, and on v2 what its children need: the kernel shows the files of a
    /// controller only if the parent enables it (Documentation/admin-guide/cgroup-v2.rst, "Enabling and
    /// Disabling").
    fn top(&mut self, hierarchy: &UsedHierarchy) {
        let enabled: Vec<&str> = hierarchy.enabled().collect();
        if hierarchy.is_v2 && !enabled.is_empty() {
            let path = hierarchy.base.join("cgroup.subtree_control").display().to_string();
            let (name, file) = (format!("kept{}", self.0.len()), word(&path));
            self.add(format!("{name}=$(cat {file})"), "");
            let inverse = format!(
                "for one in {}; do case \" ${name} \" in *\" $one \"*) ;; *) echo \"-$one\" > {file};; esac; done",
                enabled.join(" ")
            );
            self.add(write(&requests(hierarchy), &path), inverse);
        }
        self.group(hierarchy, &directory(hierarchy, ""), true);
    }

    /// A group in one hierarchy, ready for processes or groups inside it.
    fn group(&mut self, hierarchy: &UsedHierarchy, path: &Path, is_inner: bool) {
        self.make_dir(path);
        let requests = requests(hierarchy);
        if hierarchy.is_v2 && is_inner && !requests.is_empty() {
            let file = path.join("cgroup.subtree_control").display().to_string();
            self.write(&requests, &file);
        }
        // A new cpuset of v1 is empty (Documentation/admin-guide/cgroup-v1/cpusets.rst).
        if !hierarchy.is_v2 && hierarchy.controllers.contains("cpuset") {
            let above = path.parent().unwrap_or(path);
            for file in ["cpuset.cpus", "cpuset.mems"] {
                let file_in = |path: &Path| word(&path.join(file).display().to_string());
                self.add(format!("cat {} > {}", file_in(above), file_in(path)), "");
            }
        }
    }

    fn knob(&mut self, trial: &Trial, group: &GroupPlan, knob: &KnobPlan) {
        let translation = &knob.translation;
        let serves = |one: &&UsedHierarchy| one.controllers.contains(&translation.controller);
        let Some(hierarchy) = trial.hierarchies.iter().find(serves) else { return };
        let numbers = group.disk.map(|index| &trial.disks[index]).map(numbers);
        for setting in translation.root_settings.iter().filter(|_| numbers.is_some()) {
            let device = numbers.as_deref().unwrap_or_default();
            let path = hierarchy.mount.join(&setting.file).display().to_string();
            let change = write(&setting.value_template.replace("{device}", device), &path);
            if !self.0.iter().any(|one| one.change == change) {
                self.add(change, write(&setting.inverse(device), &path));
            }
        }
        for (file, value) in translation.writes(&numbers.unwrap_or_default()) {
            let path = directory(hierarchy, &group.name).join(file).display().to_string();
            self.write(&value, &path);
        }
    }

    /// Preparations, then the common start, then what starts later.
    fn workloads(&mut self, trial: &Trial) {
        let all = trial.groups.iter().flat_map(|group| {
            group.workloads.iter().map(move |owner| Started { trial, group, owner })
        });
        let all: Vec<(usize, Started<'_>)> = (1..).zip(all).collect();
        for (_, one) in &all {
            self.data(one);
            for prepared in &one.owner.prepare {
                self.add(one.command(prepared, None), "");
            }
            // In a run, fio waits for the common start after it has laid out its files.
            let has_files = matches!(one.target(one.owner), Some(Target::Directory { .. }));
            if one.owner.job().is_some() && has_files {
                self.add(format!("{} --create_only=1", one.command(one.owner, None)), "");
            }
        }
        if let Some(what) = trial.drop_caches {
            let drop = format!("sync; echo {what} > /proc/sys/vm/drop_caches # cannot be restored");
            self.add(drop, "");
        }
        let is_later =
            |one: &&(usize, Started<'_>)| matches!(one.1.owner.after, Some(AfterPlan::Workload(_)));
        let (later, at_once): (Vec<_>, Vec<_>) = all.iter().partition(is_later);
        for (number, one) in at_once.into_iter().chain(later) {
            let before = match &one.owner.after {
                Some(AfterPlan::Workload(name)) => {
                    let other = all.iter().find(|(_, other)| other.owner.name == *name);
                    other.map(|(other, _)| format!("wait $w{other}; ")).unwrap_or_default()
                }
                _ => String::new(),
            };
            let delay = match one.owner.after {
                Some(AfterPlan::Time(length)) => Some(length.as_secs_f64()),
                _ => None,
            };
            let command = one.command(one.owner, delay);
            self.add(
                format!("{before}{command} & w{number}=$!"),
                format!("kill $w{number}; wait $w{number}"),
            );
        }
    }

    /// The directory of a workload's data.
    fn data(&mut self, one: &Started<'_>) {
        let Some(Target::Directory { path, .. }) = one.target(one.owner) else { return };
        self.add(format!("mkdir {}", word(&path)), "");
        if let Some(user) = &one.owner.user {
            self.add(format!("chown {} {}", shell_word(user), word(&path)), "");
        }
    }
}

/// A workload with its group.
struct Started<'t> {
    trial: &'t Trial,
    group: &'t GroupPlan,
    owner: &'t WorkloadPlan,
}

impl Started<'_> {
    fn target(&self, workload: &WorkloadPlan) -> Option<Target> {
        let disk = &self.trial.disks[self.group.disk?];
        Some(target(disk, workload.storage.as_ref()?, &self.owner.name))
    }

    /// The command line of the workload or of one of its preparations: a shell enters the group and
    /// becomes the program.
    fn command(&self, workload: &WorkloadPlan, delay: Option<f64>) -> String {
        let mut steps: Vec<String> = delay.iter().map(|delay| format!("sleep {delay}")).collect();
        let hierarchies = self.trial.hierarchies.iter().filter(|_| !self.group.outside);
        steps.extend(hierarchies.map(|hierarchy| {
            let procs = directory(hierarchy, &self.group.name).join("cgroup.procs");
            format!("echo $$ > {}", word(&procs.display().to_string()))
        }));
        let command = self.placed() + &self.program(workload);
        if steps.is_empty() {
            return command;
        }
        steps.push("exec \"$@\"".to_owned());
        format!("sh -c {} sh {command}", shell_word(&steps.join("; ")))
    }

    fn program(&self, workload: &WorkloadPlan) -> String {
        let target = self.target(workload);
        let words: Vec<String> = match &workload.tool {
            ToolPlan::Fio(job) => {
                let mut job = job.clone();
                job.name.retain(|sign| sign != RAW);
                for (name, value) in &mut job.options {
                    name.retain(|sign| sign != RAW);
                    value.iter_mut().for_each(|value| value.retain(|sign| sign != RAW));
                }
                if let Some(target) = &target {
                    job.set_target(target);
                }
                let option = |(name, value): &(String, Option<String>)| match value {
                    Some(value) => format!("--{name}={value}"),
                    None => format!("--{name}"),
                };
                let own = ["fio".to_owned(), format!("--name={}", job.name)];
                own.into_iter().chain(job.options.iter().map(option)).collect()
            }
            ToolPlan::Invocation(invocation) => {
                let (directory, device) = match target {
                    Some(Target::Directory { path, .. }) => (Some(path), None),
                    Some(Target::Device { path, .. }) => (None, Some(path)),
                    None => (None, None),
                };
                let cpuset = |knob: &&KnobPlan| knob.translation.file == "cpuset.cpus";
                let own = self.group.knobs.iter().find(cpuset);
                let own = own.map(|knob| knob.translation.written.clone());
                let allowed = r"$(sed -n 's/^Cpus_allowed_list:\s*//p' /proc/self/status)";
                let cpus = Some(own.unwrap_or_else(|| raw(allowed)));
                let known = Placeholders { directory, device, cpus };
                let mut own = invocation.clone();
                for text in own.words.iter_mut().chain([&mut own.program]) {
                    text.retain(|sign| sign != RAW);
                }
                let (program, words) = own.command(&known, None);
                std::iter::once(program).chain(words).collect()
            }
        };
        words.iter().map(|text| word(text)).collect::<Vec<_>>().join(" ")
    }

    /// What places the program, and makes it another user's.
    fn placed(&self) -> String {
        let user = self.owner.user.as_deref().map(|user| match user.split_once(':') {
            Some((uid, gid)) => {
                format!(
                    "setpriv --reuid={} --regid={} --clear-groups ",
                    shell_word(uid),
                    shell_word(gid)
                )
            }
            None => {
                format!(
                    "setpriv --reuid={0} --regid=\"$(id -g {0})\" --init-groups ",
                    shell_word(user)
                )
            }
        });
        let own = |one: &&PlacementRecord| one.workload == self.owner.name;
        let placement = self.trial.placements.iter().find(own);
        let cpus = placement.and_then(|one| one.cpus.as_ref());
        let cpus = cpus.map(|cpus| format!("taskset --cpu-list {cpus} "));
        let memory = placement.and_then(|one| one.memory.as_ref()).and_then(numactl);
        [cpus, memory, user].into_iter().flatten().collect()
    }
}

fn numactl(policy: &MemoryPolicy) -> Option<String> {
    let option = match policy {
        MemoryPolicy::FirstTouch => return None,
        MemoryPolicy::Local => return Some("numactl --localalloc ".to_owned()),
        MemoryPolicy::Bind(_) => "membind",
        MemoryPolicy::Preferred(_) => "preferred",
        MemoryPolicy::PreferredMany(_) => "preferred-many",
        MemoryPolicy::Interleave(_) => "interleave",
        MemoryPolicy::WeightedInterleave(_) => "weighted-interleave",
    };
    Some(format!("numactl --{option}={} ", policy.nodes()?))
}

/// `echo VALUE > FILE`.
fn write(value: &str, path: &str) -> String {
    format!("echo {} > {}", word(value), word(path))
}

/// What a group enables for the groups inside it, on v2.
fn requests(hierarchy: &UsedHierarchy) -> String {
    hierarchy.enabled().map(|name| format!("+{name}")).collect::<Vec<_>>().join(" ")
}

/// The numbers of a disk, as interface files take them.
fn numbers(disk: &DiskPlan) -> String {
    match &disk.source {
        // Limits are for whole disks.
        DiskSource::Directory { path } => {
            let source = format!("\"$(findmnt -no SOURCE -T {})\"", word(path));
            raw(&format!("$(lsblk -snro MAJ:MIN,TYPE {source} | sed -n 's/ disk$//p')"))
        }
        _ => raw(&format!("$(cat /sys/block/{}/dev)", word(&kernel_name(disk)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes_of(one: impl FnOnce(&mut Steps)) -> Vec<String> {
        let mut steps = Steps::default();
        one(&mut steps);
        steps.0.into_iter().map(|one| one.change).collect()
    }

    #[test]
    fn enabling_controllers_on_v2_is_a_change_too() {
        let hierarchy = |is_v2| UsedHierarchy {
            is_v2,
            mount: "/sys/fs/cgroup".into(),
            base: "/sys/fs/cgroup".into(),
            controllers: ["cpu", "io", "perf_event"].map(str::to_owned).into(),
        };
        let mkdir = "mkdir /sys/fs/cgroup/assay-by-hand";
        let v2 = [
            "kept0=$(cat /sys/fs/cgroup/cgroup.subtree_control)",
            "echo '+cpu +io' > /sys/fs/cgroup/cgroup.subtree_control",
            mkdir,
            "echo '+cpu +io' > /sys/fs/cgroup/assay-by-hand/cgroup.subtree_control",
        ];
        assert_eq!(changes_of(|steps| steps.top(&hierarchy(true))), v2);
        assert_eq!(changes_of(|steps| steps.top(&hierarchy(false))), [mkdir]);
    }

    #[test]
    fn only_variables_are_left_to_the_shell() {
        assert_eq!(word(&format!("--filename={}p1", raw("${disk_a}"))), "--filename=${disk_a}p1");
        assert_eq!(word("a $b"), "'a $b'");
        assert_eq!(word(""), "''");
    }
}
