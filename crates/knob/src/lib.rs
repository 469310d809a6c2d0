//! Knobs: the interface files that divide a machine, their ranges, and what each becomes on the
//! hierarchy and the scheduler that a host really has.
//!
//! A study names a knob by its cgroup v2 name, or by its v1 name where v2 has no counterpart.
//! This room turns that into the file and the text to write; it opens no file itself.

mod knob;
mod reading;
mod table;
mod translate;

pub use knob::{Home, Knob, Unit, ValueRange};
pub use reading::numeric_reading;
pub use table::{all, find, suggest};
pub use translate::{DiskQueue, RootSetting, Translation, Untranslatable, Version, translate};
