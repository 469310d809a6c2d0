//! What the files say about a limit, before anything is tried: whether there is one, at which level it is, and whether it is lost.

use std::path::{Path, PathBuf};

use assay_sys::kernel::device_program::attached;
use assay_sys::kernel::{Error, Root};
use assay_sys::units::CpuSet;

use crate::probe::asked::{Wish, Wishes};
use crate::probe::levels::{levels, tightest, upwards};
use crate::probe::limit::{Limit, cpus_file, cpus_of};
use crate::probe::proof::io::{is_capped, is_too_slow, tighter_above};
use crate::probe::proof::io_weight::{self, Divided, Part};
use crate::probe::target::{Place, Target};

/// What there is to prove about a limit.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) knob: &'static str,
    /// The group whose file is tried.
    pub(crate) group: PathBuf,
    pub(crate) amount: f64,
    pub(crate) value: Option<String>,
    /// What was asked for.
    pub(crate) wish: Option<Wish>,
    /// Why no proof is needed.
    pub(crate) lost: Option<String>,
    /// Why no proof is possible.
    pub(crate) hindered: Option<String>,
    /// Of a weight of I/O, what it divides.
    pub(crate) divided: Option<Divided>,
}

/// Reads the files of a target about a limit. `None`: there is no limit, and nobody asked for one.
pub(crate) fn claim(
    root: &Root,
    limit: Limit,
    target: &Target,
    place: &Place,
    wishes: &Wishes,
) -> Result<Option<Claim>, Error> {
    let Some(knob) = limit.file(place.is_v2) else { return Ok(None) };
    // Without swap the limit limits nothing.
    if limit == Limit::SwapMax
        && root.read("/proc/swaps").is_ok_and(|text| text.lines().count() < 2)
    {
        return Ok(None);
    }
    let path = place.group.join(knob);
    let mut reader = Reader {
        root,
        limit,
        place,
        claim: Claim {
            knob,
            group: place.group.clone(),
            amount: 0.0,
            value: None,
            wish: wishes.of(&path.display().to_string()),
            lost: None,
            hindered: None,
            divided: None,
        },
    };
    let is_set = match root.exists(&path) {
        _ if limit == Limit::Devices => reader.devices()?,
        true => reader.with_file(target)?,
        false => reader.without_file(target)?,
    };
    if !is_set {
        return Ok(None);
    }
    let mut claim = reader.claim;
    if let Some(Wish { asked, is_met: false }) = &claim.wish
        && claim.lost.is_none()
    {
        let says = claim.value.as_deref().unwrap_or("no limit");
        claim.lost = Some(format!("{} was asked for, and the file says {says}", asked.value));
    }
    if claim.lost.is_none() && target.is_hidden && !place.is_v2 {
        let why = "processes of other PID namespaces are not seen from here: start this one with --pid host";
        claim.hindered = Some(why.to_owned());
    } else if claim.lost.is_none() {
        claim.lost = match (&place.elsewhere, target.processes) {
            (Some(elsewhere), 0) => Some(format!(
                "no process is in the group or below it; those of {} are in {elsewhere}",
                target.outer.as_deref().unwrap_or(&target.name)
            )),
            (None, 0) => Some("no process is in the group or below it".to_owned()),
            (Some(elsewhere), _) => {
                Some(format!("its processes are in {elsewhere}, where this file has no effect"))
            }
            (None, _) => None,
        };
    }
    Ok(Some(claim))
}

struct Reader<'r> {
    root: &'r Root,
    limit: Limit,
    place: &'r Place,
    claim: Claim,
}

impl Reader<'_> {
    fn with_file(&mut self, target: &Target) -> Result<bool, Error> {
        let (root, place) = (self.root, self.place);
        let text = root.read_trimmed(place.group.join(self.claim.knob))?.replace('\n', "; ");
        self.claim.value = Some(text.clone());
        if self.limit == Limit::CpusetCpus {
            return self.set(target);
        }
        let own = self.limit.amount(root, &place.group, place.is_v2)?;
        self.ask_bundle(target, own, None);
        let is_set = match self.limit {
            Limit::IoMax | Limit::WriteMax => self.caps()?,
            Limit::CpuWeight => own.is_some(),
            Limit::IoWeight => self.part_of_disk(),
            _ => self.bound(own)?,
        };
        Ok(is_set || self.claim.wish.is_some())
    }

    /// Only v2 has groups without the file. A limit further up holds there, too.
    fn without_file(&mut self, target: &Target) -> Result<bool, Error> {
        self.ask_bundle(target, None, None);
        let above = self.place.group.parent().unwrap_or(&self.place.group);
        if let Some(Wish { asked, .. }) = &self.claim.wish {
            self.claim.lost = Some(format!(
                "{} was asked for, and the group has no {}: {} does not enable the controller {}",
                asked.value,
                self.claim.knob,
                above.join("cgroup.subtree_control").display(),
                self.limit.controller()
            ));
            return Ok(true);
        }
        match self.limit {
            Limit::CpusetCpus
            | Limit::IoMax
            | Limit::WriteMax
            | Limit::CpuWeight
            | Limit::IoWeight => Ok(false),
            _ => self.bound(None),
        }
    }

    fn ask_bundle(&mut self, target: &Target, own: Option<f64>, cpus: Option<&CpuSet>) {
        if self.claim.wish.is_none() {
            let bundle = target.bundle.as_ref();
            self.claim.wish = bundle.and_then(|bundle| bundle.wish(self.limit, own, cpus));
        }
    }

    /// An amount, and the tightest one of all levels.
    fn bound(&mut self, own: Option<f64>) -> Result<bool, Error> {
        let Place { mount, is_v2, group, .. } = self.place;
        if self.claim.wish.as_ref().is_some_and(|wish| !wish.is_met) {
            return Ok(true);
        }
        let levels = levels(self.root, mount, group, self.limit, *is_v2)?;
        let Some((at, amount)) = tightest(&levels) else { return Ok(false) };
        self.claim.amount = amount;
        if at > 0 {
            let above = &levels[at].group;
            match own {
                Some(own) => {
                    let [amount, own] = [amount, own].map(|amount| self.limit.shown(amount));
                    let above = self.shown(above);
                    self.claim.lost =
                        Some(format!("{above} above it has {amount}, less than its {own}"));
                }
                None => {
                    self.claim.value = Some(self.root.read_trimmed(above.join(self.claim.knob))?);
                    self.claim.group.clone_from(above);
                }
            }
        }
        Ok(true)
    }

    /// Caps of disks, and those of the levels above.
    fn caps(&mut self) -> Result<bool, Error> {
        let Place { mount, group, .. } = self.place;
        let own = self.root.read(group.join(self.claim.knob))?;
        // On v1 caps of groups above do not hold for those below them (throtl_pd_init of block/blk-throttle.c).
        let levels = if self.place.is_v2 { usize::MAX } else { 1 };
        for above in upwards(mount, group).take(levels).skip(1) {
            let text = self.root.read(above.join(self.claim.knob))?;
            let name = self.shown(above);
            if let Some(tighter) = tighter_above(self.limit, &own, &text) {
                self.claim.lost = Some(format!("{name} above it has {tighter}"));
            } else if is_too_slow(self.limit, &own, &text) {
                self.claim.hindered = Some(format!("{name} above it lets a proof read too slowly"));
            }
        }
        Ok(is_capped(&own))
    }

    /// Whether there is a weight, and whether anything divides by it.
    fn part_of_disk(&mut self) -> bool {
        let Place { mount, group, is_v2, .. } = self.place;
        let is_set = io_weight::is_set(self.root, group);
        if is_set {
            match io_weight::part(self.root, mount, group, *is_v2) {
                Part::Of(divided) => self.claim.divided = Some(divided),
                Part::Lost(why) => self.claim.lost = Some(why),
                Part::Unknown(why) => self.claim.hindered = Some(why),
            }
        }
        is_set
    }

    /// Whether the group has rules for devices of its own. A v1 group that may use all of them but a few shows only `a *:* rwm`
    /// (security/device_cgroup.c).
    fn devices(&mut self) -> Result<bool, Error> {
        let Place { group, is_v2, .. } = self.place;
        if *is_v2 {
            let ids = attached(self.root, group)?.ids;
            let shown: Vec<String> = ids.iter().map(u32::to_string).collect();
            self.claim.value = Some(format!("program {}", shown.join(", ")));
            return Ok(!ids.is_empty());
        }
        let text = self.root.read(group.join(self.claim.knob))?;
        let allows_all = text.lines().any(|line| line.starts_with("a "));
        self.claim.value = Some(format!("{} rules", text.lines().count()));
        Ok(!allows_all)
    }

    /// Whether a set of CPUs leaves any out, and whether it is the one that was asked for. Of levels with the same set the highest is tried.
    fn set(&mut self, target: &Target) -> Result<bool, Error> {
        let (root, place) = (self.root, self.place);
        let set = |group: &Path| cpus_of(root, group, place.is_v2);
        let own = set(&place.group)?;
        self.ask_bundle(target, None, Some(&own));
        if let Some(Wish { asked, is_met: false }) = &self.claim.wish {
            let asked = &asked.value;
            self.claim.lost = Some(format!("CPUs {asked} were asked for, and it has {own}"));
            return Ok(true);
        }
        let mut at = place.group.as_path();
        while let Some(above) = at.parent()
            && root.exists(above.join(cpus_file(place.is_v2)))
        {
            if set(above)? != own {
                if at != place.group {
                    self.claim.value = Some(root.read_trimmed(at.join(self.claim.knob))?);
                    self.claim.group = at.to_owned();
                }
                return Ok(true);
            }
            at = above;
        }
        Ok(self.claim.wish.is_some())
    }

    fn shown(&self, group: &Path) -> String {
        self.place.shown(group)
    }
}
