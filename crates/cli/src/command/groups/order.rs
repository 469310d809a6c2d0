//! The sort orders of groups as values of `--sort` and as keys of `--watch`.

use assay_session::GroupOrder;
use clap::ValueEnum;

/// What groups are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Order {
    /// As a tree
    Path,
    /// CPU time
    Cpu,
    /// Memory now
    Memory,
    /// Processes in the group itself
    Processes,
    /// Bytes read from disks
    Read,
    /// Bytes written to disks
    Write,
}

impl Order {
    /// All orders with their keys in `--watch`.
    pub(super) const KEYS: [(u8, Self); 6] = [
        (b'c', Self::Cpu),
        (b'm', Self::Memory),
        (b'p', Self::Processes),
        (b'r', Self::Read),
        (b'w', Self::Write),
        (b't', Self::Path),
    ];
}

impl From<Order> for GroupOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Path => Self::Path,
            Order::Cpu => Self::Cpu,
            Order::Memory => Self::Memory,
            Order::Processes => Self::Processes,
            Order::Read => Self::Read,
            Order::Write => Self::Write,
        }
    }
}
