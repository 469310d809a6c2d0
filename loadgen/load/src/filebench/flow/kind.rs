//! The operations of the language: their names, classes and requirements.

/// The class an operation is counted in (`FLOW_TYPE` of filebench). Only `Io` and `Aio` are in the
/// IO Summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filebench) enum Class {
    Io,
    Aio,
    Sync,
    Other,
    Composite,
}

/// Direction of the transferred bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filebench) enum DataDirection {
    Neither,
    Reads,
    Writes,
}

/// The type of an operation.
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
    /// Defined by the script from other operations.
    Composite,
}

/// All built-in operations.
const TABLE: &[(&str, Kind, Class, DataDirection)] = &[
    ("openfile", Kind::OpenFile, Class::Io, DataDirection::Neither),
    ("createfile", Kind::CreateFile, Class::Io, DataDirection::Neither),
    ("closefile", Kind::CloseFile, Class::Io, DataDirection::Neither),
    ("deletefile", Kind::DeleteFile, Class::Io, DataDirection::Neither),
    ("statfile", Kind::StatFile, Class::Io, DataDirection::Neither),
    ("fsync", Kind::Fsync, Class::Io, DataDirection::Neither),
    ("fsyncset", Kind::FsyncSet, Class::Io, DataDirection::Neither),
    ("readwholefile", Kind::ReadWholeFile, Class::Io, DataDirection::Reads),
    ("writewholefile", Kind::WriteWholeFile, Class::Io, DataDirection::Writes),
    ("appendfile", Kind::AppendFile, Class::Io, DataDirection::Writes),
    ("appendfilerand", Kind::AppendFileRand, Class::Io, DataDirection::Writes),
    ("read", Kind::Read, Class::Io, DataDirection::Reads),
    ("write", Kind::Write, Class::Io, DataDirection::Writes),
    ("aiowrite", Kind::AioWrite, Class::Aio, DataDirection::Writes),
    ("aiowait", Kind::AioWait, Class::Aio, DataDirection::Neither),
    ("makedir", Kind::MakeDir, Class::Io, DataDirection::Neither),
    ("removedir", Kind::RemoveDir, Class::Io, DataDirection::Neither),
    ("listdir", Kind::ListDir, Class::Io, DataDirection::Neither),
    ("hog", Kind::Hog, Class::Other, DataDirection::Neither),
    ("delay", Kind::Delay, Class::Other, DataDirection::Neither),
    ("block", Kind::Block, Class::Sync, DataDirection::Neither),
    ("wakeup", Kind::Wakeup, Class::Sync, DataDirection::Neither),
    ("semblock", Kind::SemBlock, Class::Sync, DataDirection::Neither),
    ("sempost", Kind::SemPost, Class::Sync, DataDirection::Neither),
    ("eventlimit", Kind::EventLimit, Class::Other, DataDirection::Neither),
    ("iopslimit", Kind::IopsLimit, Class::Other, DataDirection::Neither),
    ("opslimit", Kind::OpsLimit, Class::Other, DataDirection::Neither),
    ("bwlimit", Kind::BwLimit, Class::Other, DataDirection::Neither),
    ("finishoncount", Kind::FinishOnCount, Class::Other, DataDirection::Neither),
    ("finishonbytes", Kind::FinishOnBytes, Class::Other, DataDirection::Neither),
    ("print", Kind::Print, Class::Other, DataDirection::Neither),
    ("testrandvar", Kind::TestRandVar, Class::Other, DataDirection::Neither),
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

    pub(in crate::filebench) fn data_direction(self) -> DataDirection {
        let row = TABLE.iter().find(|(_, kind, ..)| *kind == self);
        row.map_or(DataDirection::Neither, |(_, _, _, data_direction)| *data_direction)
    }

    /// Whether it selects a file from a set regardless of its `fd`.
    pub(in crate::filebench) fn selects_file(self) -> bool {
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
