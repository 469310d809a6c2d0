//! Masks in place of names, so that a snapshot can be shown to strangers: rules find the same in it.
//!
//! Names are masked word by word: managers build names of groups from others (`shop-web.slice` is in `shop.slice`). Words that rules,
//! or readers of paths, know stay, and so do numbers.

use std::collections::{HashMap, HashSet};

use assay_host::facts::Available;
use assay_host::facts::owner::{Claimant, Container, Owner, Pod, is_unit};
use serde_json::Value;

use crate::settings::CPU_STATE;
use crate::snapshot::{Disk, Group, Hierarchy, Snapshot};

/// What systemd, runtimes and the kernel call things, and folders that every host has.
const KNOWN: &str = "assay \
    app background device init machine mount nspawn path scope service session slice socket swap system systemd target timer user \
    dbus getty journald logind networkd oomd resolved serial timesyncd tty udevd \
    besteffort buildah burstable conmon container containerd cri crio crun docker dockerd kubelet kubepods libpod moby nerdctl parent pod \
    podman runc \
    ch incus libvirt lxc lxd monitor payload qemu xen \
    nomad reserve batch extern interactive job slurm slurmctld slurmd slurmstepd step task uid \
    bin boot by cgroup conf config control d dev disk etc fs home id kernel label lib local log mapper mnt null opt partuuid proc root run \
    sbin share srv sys tmp unified usr uuid var vm yaml";

/// The digits of an id that are enough to tell it, and that are shown of it.
const OF_ID: usize = 12;

/// The masks of a snapshot: the same word has the same one wherever it stands.
#[derive(Debug, Default)]
pub struct Masks {
    known: HashSet<String>,
    words: HashMap<String, String>,
    /// How many there are of each length; of words without a length, at 0.
    numbers: HashMap<usize, usize>,
}

impl Snapshot {
    /// Puts masks in place of the names of the host, groups, units, containers, pods, folders, and whatever else users may name.
    pub fn mask(&mut self) -> Masks {
        let mut masks = Masks::new(self);
        let Self { machine, hierarchies, disks, names, names_left_out, .. } = self;
        for group in hierarchies.iter_mut().flat_map(|hierarchy| &mut hierarchy.groups) {
            group.path = masks.name(&group.path);
        }
        // No rule reads it, so that not even a word that is known stays.
        masks.available(&mut machine.name, |_, _| "host".to_owned());
        *names = std::mem::take(names)
            .into_iter()
            .map(|(id, name)| (masks.name(&id), masks.name(&name)))
            .collect();
        self.delegated = std::mem::take(&mut self.delegated)
            .into_iter()
            .map(|(path, mut by)| {
                masks.claimant(&mut by);
                (masks.name(&path), by)
            })
            .collect();
        self.units = std::mem::take(&mut self.units)
            .into_iter()
            .map(|(unit, mut files)| {
                for file in &mut files {
                    file.path = masks.name(&file.path);
                    file.settings.iter_mut().for_each(|line| *line = masks.setting(line));
                }
                (masks.name(&unit), files)
            })
            .collect();
        for path in disks.iter_mut().flat_map(|disk| &mut disk.mounted) {
            *path = masks.name(path);
        }
        for (path, text) in &mut machine.files {
            match path.as_str() {
                "/proc/self/cgroup" | "/proc/swaps" => masks.available(text, Masks::name),
                CPU_STATE => masks.available(text, Masks::cpu_state),
                _ => masks.reason(text),
            }
        }
        // Texts after the names that they may repeat.
        hierarchies.iter_mut().for_each(|hierarchy| masks.hierarchy(hierarchy));
        disks.iter_mut().for_each(|disk| masks.reason(&mut disk.scheduler));
        let left_out = names_left_out.iter_mut().chain(&mut self.units_left_out);
        left_out.for_each(|text| *text = masks.text(text));
        if let Some(kubelet) = &mut self.kubelet {
            masks.reason(kubelet);
            if let Available::Value(kubelet) = kubelet {
                kubelet.files.iter_mut().for_each(|file| *file = masks.name(file));
            }
        }
        masks
    }
}

impl Masks {
    fn new(snapshot: &Snapshot) -> Self {
        let mut masks = Self::default();
        masks.keep(KNOWN);
        for path in snapshot.machine.files.keys() {
            masks.keep(path);
        }
        for Disk { name, partitions, .. } in &snapshot.disks {
            masks.keep(name);
            partitions.keys().for_each(|name| masks.keep(name));
        }
        for Hierarchy { name, controllers, groups, .. } in &snapshot.hierarchies {
            masks.keep(name);
            controllers.iter().for_each(|name| masks.keep(name));
            groups.iter().flat_map(|group| group.files.keys()).for_each(|file| masks.keep(file));
        }
        masks
    }

    fn keep(&mut self, text: &str) {
        let words = text.split(|sign: char| !sign.is_alphanumeric());
        self.known.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
    }

    /// A name, or a path of names, in masks.
    #[must_use]
    pub fn name(&mut self, text: &str) -> String {
        let (mut masked, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(sign) = rest.chars().next() {
            let end = match rest.strip_prefix("\\x").and_then(|escaped| escaped.get(..2)) {
                // A sign that systemd has escaped: no part of a word.
                Some(_) => 4,
                None if !sign.is_alphanumeric() => sign.len_utf8(),
                None => {
                    let end = rest.find(|sign: char| !sign.is_alphanumeric());
                    end.unwrap_or(rest.len())
                }
            };
            let (part, after) = rest.split_at(end);
            match sign.is_alphanumeric() {
                true => masked.push_str(&self.word(part)),
                false => masked.push_str(part),
            }
            rest = after;
        }
        masked
    }

    fn word(&mut self, word: &str) -> String {
        let is_number = word.bytes().all(|sign| sign.is_ascii_digit());
        if self.known.contains(word) || is_number && word.len() < OF_ID && word.len() != 8 {
            return word.to_owned();
        }
        if let Some(uid) = word.strip_prefix("pod").filter(|uid| !uid.is_empty()) {
            return format!("pod{}", self.word(uid));
        }
        let is_hex =
            word.bytes().all(|sign| sign.is_ascii_digit() || (b'a'..=b'f').contains(&sign));
        if is_hex && ([4, 8].contains(&word.len()) || word.len() >= OF_ID) {
            return self.id(word);
        }
        if let Some(mask) = self.words.get(word) {
            return mask.clone();
        }
        // As Slurm names its jobs, which begin with `s`.
        let kind = if word.starts_with('s') { 's' } else { 'w' };
        let mask = format!("{kind}{:04}", self.next(0));
        self.words.insert(word.to_owned(), mask.clone());
        mask
    }

    /// An id, or a part of one, as long as before. The beginning of one has the beginning of its mask.
    fn id(&mut self, word: &str) -> String {
        let width = word.len().min(OF_ID);
        let beginning = word.get(..width).unwrap_or(word);
        let mask = match self.words.get(beginning) {
            Some(mask) => mask.clone(),
            // What is a number stays, and none may look like it.
            None => loop {
                let mask = format!("{:0width$x}", self.next(width));
                if mask.bytes().any(|sign| sign.is_ascii_alphabetic()) {
                    self.words.insert(beginning.to_owned(), mask.clone());
                    break mask;
                }
            },
        };
        format!("{mask:0<length$}", length = word.len())
    }

    fn next(&mut self, length: usize) -> usize {
        let number = self.numbers.entry(length).or_default();
        *number += 1;
        *number
    }

    /// A sentence, such as an error: paths in it, and words that are names elsewhere.
    #[must_use]
    pub fn text(&mut self, text: &str) -> String {
        let mut masked = String::with_capacity(text.len());
        for part in text.split_inclusive(char::is_whitespace) {
            if part.contains('/') {
                masked += &self.name(part);
                continue;
            }
            for word in part.split_inclusive(|sign: char| !sign.is_alphanumeric()) {
                let bare = word.trim_end_matches(|sign: char| !sign.is_alphanumeric());
                let is_id =
                    bare.len() >= OF_ID && bare.bytes().all(|sign| sign.is_ascii_hexdigit());
                let mask = self.words.get(bare).cloned().unwrap_or_else(|| match is_id {
                    true => self.word(bare),
                    false => bare.to_owned(),
                });
                masked += &mask;
                masked += word.strip_prefix(bare).unwrap_or_default();
            }
        }
        masked
    }

    /// `Key=value` of a unit: paths in it, and names of units.
    fn setting(&mut self, line: &str) -> String {
        let Some((key, value)) = line.split_once('=') else { return self.name(line) };
        let mut masked = format!("{key}=");
        for part in value.split_inclusive(char::is_whitespace) {
            let is_name = part.contains('/') || is_unit(part.trim_end());
            masked += &if is_name { self.name(part) } else { part.to_owned() };
        }
        masked
    }

    /// The pods and containers in the kubelet's state.
    fn cpu_state(&mut self, text: &str) -> String {
        let Ok(mut state) = serde_json::from_str::<Value>(text) else { return self.name(text) };
        if let Some(Value::Object(pods)) = state.get_mut("entries") {
            *pods = std::mem::take(pods)
                .into_iter()
                .map(|(uid, mut containers)| {
                    if let Value::Object(all) = &mut containers {
                        let own = std::mem::take(all).into_iter();
                        *all = own.map(|(name, cpus)| (self.name(&name), cpus)).collect();
                    }
                    (self.name(&uid), containers)
                })
                .collect();
        }
        state.to_string()
    }

    fn claimant(&mut self, by: &mut Claimant) {
        if let Claimant::Container(owner) = by {
            self.owner(owner);
        }
    }

    fn owner(&mut self, owner: &mut Owner) {
        let pod = |masks: &mut Self, Pod { uid, name, .. }: &mut Pod| {
            [Some(uid), name.as_mut()].into_iter().flatten().for_each(|one| *one = masks.name(one));
        };
        match owner {
            Owner::Unit { name } | Owner::Lxc { name } | Owner::Machine { name } => {
                *name = self.name(name);
            }
            Owner::Container(Container { id, name, pod: of, .. }) => {
                [Some(id), name.as_mut()]
                    .into_iter()
                    .flatten()
                    .for_each(|one| *one = self.name(one));
                of.iter_mut().for_each(|of| pod(self, of));
            }
            Owner::Pod(one) => pod(self, one),
            Owner::SlurmJob { job, step } => {
                [Some(job), step.as_mut()]
                    .into_iter()
                    .flatten()
                    .for_each(|one| *one = self.name(one));
            }
            Owner::Claimed { by, owner } => {
                self.claimant(by);
                self.owner(owner);
            }
        }
    }

    fn hierarchy(&mut self, hierarchy: &mut Hierarchy) {
        hierarchy.mount = self.name(&hierarchy.mount.display().to_string()).into();
        hierarchy.left_out.iter_mut().for_each(|text| *text = self.text(text));
        hierarchy.loose.iter_mut().for_each(|loose| self.reason(loose));
        for Group { threads, files, open_on, real_time, .. } in &mut hierarchy.groups {
            files.values_mut().for_each(|text| self.reason(text));
            [Some(threads), real_time.as_mut()]
                .into_iter()
                .flatten()
                .for_each(|one| self.reason(one));
            open_on.iter_mut().for_each(|devices| self.reason(devices));
        }
    }

    fn available(&mut self, text: &mut Available<String>, mask: fn(&mut Self, &str) -> String) {
        match text {
            Available::Value(text) => *text = mask(self, text),
            Available::NotAvailable(why) => *why = self.text(why),
        }
    }

    /// Why something was not read.
    fn reason<T>(&mut self, one: &mut Available<T>) {
        if let Available::NotAvailable(why) = one {
            *why = self.text(why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;
    use crate::snapshot::Kubelet;

    /// Every name holds the word; nothing else in a snapshot does.
    #[test]
    fn no_name_is_left() {
        let id = "0a1b".repeat(16);
        let owner = Owner::Lxc { name: "hush-lxc".to_owned() };
        let refused =
            || Available::NotAvailable("cannot read /sys/fs/cgroup/hush a/cpu.max: no".to_owned());
        let mut snapshot = Fake::v2()
            .disk("sda", "8:0", "[none] bfq")
            .group("/hush.slice", &[("cpu.max", "1 2")])
            .group("/hush.slice/hush-hush2.slice", &[])
            .group(&format!("/hush.slice/hush-hush2.slice/docker-{id}.scope"), &[])
            .group("/lxc.payload.hush\\x2dhush", &[])
            .unit("hush.service", &["IOReadIOPSMax=/dev/disk/by-id/hush 10", "Slice=hush.slice"])
            .host_file("/proc/self/cgroup", "0::/hush/a\n")
            .host_file(CPU_STATE, r#"{"entries":{"hush-1":{"hush":"1-2"}},"checksum":7}"#)
            .change(|host| {
                host.machine.name = Available::Value("db-hush".to_owned());
                host.names.insert(format!("1000:{id}"), "/hush".to_owned());
                host.names_left_out.push("cannot read /home/hush/x: no".to_owned());
                host.delegated
                    .insert("/hush".to_owned(), Claimant::Container(Box::new(owner.clone())));
                host.units_left_out = Some("hush.service: no".to_owned());
                host.hierarchies[0].left_out =
                    Some("at least 3 in container hush (docker 0a1b0a1b0a1b)".to_owned());
                host.hierarchies[0].groups[1].threads =
                    Available::NotAvailable("cannot read /x/hush".to_owned());
                host.hierarchies[0].groups[1].files.insert("cpu.max".to_owned(), refused());
                host.disks[0].mounted.push("/srv/hush".to_owned());
                let files = vec!["/home/hush/config.yaml".to_owned()];
                let kubelet = Kubelet { files, settings: Default::default() };
                host.kubelet = Some(Available::Value(kubelet));
            })
            .snapshot();
        snapshot.mask();
        let text = serde_json::to_string(&snapshot).unwrap();
        for name in ["hush", "0a1b"] {
            assert!(!text.contains(name), "{name}: {text}");
        }
        assert!(
            text.contains("IOReadIOPSMax=/dev/disk/by-id/") && text.contains(" 10\""),
            "{text}"
        );
        assert!(text.contains("1-2") && text.contains("/config.yaml"), "{text}");
        Snapshot::parse(&text).unwrap();
    }

    #[test]
    fn a_word_has_one_mask_and_forms_stay() {
        let mut masks = Masks::default();
        masks.keep(KNOWN);
        let id = "9f".repeat(32);
        let long = masks.name(&format!("/system.slice/docker-{id}.scope"));
        let short = masks.name(id.get(..12).unwrap());
        assert!(
            long.starts_with(&format!("/system.slice/docker-{short}")) && long.len() == 91,
            "{long}"
        );
        assert_eq!(masks.name("/a.slice/a-b.slice"), "/w0001.slice/w0001-w0002.slice");
        let (dashes, underscores) =
            (masks.name("pod12ab34cd-12ab-cafe"), masks.name("pod12ab34cd_12ab_cafe"));
        assert_eq!(dashes.replace('-', "_"), underscores);
        assert!(!dashes.contains("12ab") && dashes.len() == 21, "{dashes}");
        assert_eq!(masks.name("/user.slice/user-1000.slice"), "/user.slice/user-1000.slice");
        assert_eq!(
            masks.name("machine-qemu\\x2d1\\x2da.scope"),
            "machine-qemu\\x2d1\\x2dw0001.scope"
        );
    }
}
