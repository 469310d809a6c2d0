//! The operations of the language: their names, what they count as, and what they need.

/// What an operation is counted as (`FLOW_TYPE` of filebench). Only `Io` and `Aio` are in the
/// IO Summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filebench) enum Class {
    Io,
    Aio,
    Sync,
    Other,
    Composite,
}

/// Whether its bytes are read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filebench) enum Way {
    Neither,
    Reads,
    Writes,
}

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filebench) enum Kind {
    OpenFile,
    CreateFile,
    CloseFile,
    DeleteFile,
    StatFile,
    Fsync,
    FsyncSet,
    ReadWholeFile,
    WriteWholeFile,
    AppendFile,
    AppendFileRand,
    Read,
    Write,
    AioWrite,
    AioWait,
    MakeDir,
    RemoveDir,
    ListDir,
    Hog,
    Delay,
    Block,
    Wakeup,
    SemBlock,
    SemPost,
    EventLimit,
    IopsLimit,
    OpsLimit,
    BwLimit,
    FinishOnCount,
    FinishOnBytes,
    Print,
    TestRandVar,
    /// Defined by the script out of others.
    Composite,
}

/// All that have a name of their own.
const TABLE: &[(&str, Kind, Class, Way)] = &[
    ("openfile", Kind::OpenFile, Class::Io, Way::Neither),
    ("createfile", Kind::CreateFile, Class::Io, Way::Neither),
    ("closefile", Kind::CloseFile, Class::Io, Way::Neither),
    ("deletefile", Kind::DeleteFile, Class::Io, Way::Neither),
    ("statfile", Kind::StatFile, Class::Io, Way::Neither),
    ("fsync", Kind::Fsync, Class::Io, Way::Neither),
    ("fsyncset", Kind::FsyncSet, Class::Io, Way::Neither),
    ("readwholefile", Kind::ReadWholeFile, Class::Io, Way::Reads),
    ("writewholefile", Kind::WriteWholeFile, Class::Io, Way::Writes),
    ("appendfile", Kind::AppendFile, Class::Io, Way::Writes),
    ("appendfilerand", Kind::AppendFileRand, Class::Io, Way::Writes),
    ("read", Kind::Read, Class::Io, Way::Reads),
    ("write", Kind::Write, Class::Io, Way::Writes),
    ("aiowrite", Kind::AioWrite, Class::Aio, Way::Writes),
    ("aiowait", Kind::AioWait, Class::Aio, Way::Neither),
    ("makedir", Kind::MakeDir, Class::Io, Way::Neither),
    ("removedir", Kind::RemoveDir, Class::Io, Way::Neither),
    ("listdir", Kind::ListDir, Class::Io, Way::Neither),
    ("hog", Kind::Hog, Class::Other, Way::Neither),
    ("delay", Kind::Delay, Class::Other, Way::Neither),
    ("block", Kind::Block, Class::Sync, Way::Neither),
    ("wakeup", Kind::Wakeup, Class::Sync, Way::Neither),
    ("semblock", Kind::SemBlock, Class::Sync, Way::Neither),
    ("sempost", Kind::SemPost, Class::Sync, Way::Neither),
    ("eventlimit", Kind::EventLimit, Class::Other, Way::Neither),
    ("iopslimit", Kind::IopsLimit, Class::Other, Way::Neither),
    ("opslimit", Kind::OpsLimit, Class::Other, Way::Neither),
    ("bwlimit", Kind::BwLimit, Class::Other, Way::Neither),
    ("finishoncount", Kind::FinishOnCount, Class::Other, Way::Neither),
    ("finishonbytes", Kind::FinishOnBytes, Class::Other, Way::Neither),
    ("print", Kind::Print, Class::Other, Way::Neither),
    ("testrandvar", Kind::TestRandVar, Class::Other, Way::Neither),
];

impl Kind {
    /// The operation of this name.
    pub(in crate::filebench) fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|(own, ..)| *own == name).map(|(_, kind, ..)| *kind)
    }

    /// All names, for suggestions.
    pub(in crate::filebench) fn names() -> Vec<&'static str> {
        TABLE.iter().map(|(name, ..)| *name).collect()
    }

    pub(in crate::filebench) fn class(self) -> Class {
        let row = TABLE.iter().find(|(_, kind, ..)| *kind == self);
        row.map_or(Class::Composite, |(_, _, class, _)| *class)
    }

    pub(in crate::filebench) fn way(self) -> Way {
        let row = TABLE.iter().find(|(_, kind, ..)| *kind == self);
        row.map_or(Way::Neither, |(_, _, _, way)| *way)
    }

    /// Whether it takes a file out of a set whatever its `fd` says.
    pub(in crate::filebench) fn picks(self) -> bool {
        matches!(
            self,
            Self::OpenFile
                | Self::CreateFile
                | Self::MakeDir
                | Self::RemoveDir
                | Self::ListDir
                | Self::FsyncSet
        )
    }

    /// Whether it acts on another operation, which `target` must name.
    pub(in crate::filebench) fn needs_target(self) -> bool {
        matches!(self, Self::Wakeup | Self::SemPost)
    }
}
