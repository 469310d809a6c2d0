//! /proc/cpuinfo (proc_cpuinfo(5)).

/// The processor's description.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CpuInfo {
    /// `model name` on x86, `cpu` on POWER, `Processor` on old ARM, numbers on arm64; `None` if absent.
    pub model: Option<String>,
    /// Whether the flag `hypervisor` is set: this is a virtual machine (x86 only).
    pub hypervisor: bool,
}

/// Parses the first processor's description.
#[must_use]
pub fn parse(text: &str) -> CpuInfo {
    let fields =
        || text.lines().filter_map(|line| line.split_once(':')).map(|(k, v)| (k.trim(), v.trim()));
    let named = |name: &str| fields().find(|(key, _)| *key == name).map(|(_, value)| value);
    CpuInfo {
        model: ["model name", "cpu", "Processor"]
            .into_iter()
            .find_map(named)
            .filter(|model| !model.is_empty())
            .map(str::to_owned)
            .or_else(|| {
                let (maker, part) = (named("CPU implementer")?, named("CPU part")?);
                Some(format!("implementer {maker}, part {part}"))
            }),
        hypervisor: named("flags")
            .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_and_the_hypervisor_flag_are_parsed() {
        let text =
            "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor\n";
        let info = parse(text);
        assert_eq!(info.model.as_deref(), Some("AMD EPYC"));
        assert!(info.hypervisor);
        assert_eq!(parse("processor : 0\nBogoMIPS : 100\n"), CpuInfo::default());
        let arm =
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n";
        assert_eq!(parse(arm).model.as_deref(), Some("implementer 0x41, part 0xd0c"));
    }
}
