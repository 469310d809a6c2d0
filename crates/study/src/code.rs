//! Codes of all diagnostics of study files. A code is never reused for another mistake, because
//! scripts and notes of readers refer to it. docs/reference/diagnostics.md explains each one.

// A01: the text is not TOML.
pub(crate) const SYNTAX: &str = "A0101";
pub(crate) const DUPLICATE_KEY: &str = "A0102";

// A02: keys, types and names.
pub(crate) const UNKNOWN_KEY: &str = "A0201";
pub(crate) const WRONG_TYPE: &str = "A0202";
pub(crate) const MISSING_KEY: &str = "A0203";
// The fourth of them was a key of `[design]` that early versions refused.
pub(crate) const INVALID_NAME: &str = "A0205";
pub(crate) const MISPLACED_KEY: &str = "A0206";

// A03: values.
pub(crate) const NOT_A_QUANTITY: &str = "A0301";
pub(crate) const UNKNOWN_WORD: &str = "A0302";
pub(crate) const OUT_OF_RANGE: &str = "A0303";
pub(crate) const KNOB_VALUE: &str = "A0304";
pub(crate) const LADDER: &str = "A0305";
pub(crate) const EMPTY_LIST: &str = "A0306";
pub(crate) const MIXED_LIST: &str = "A0307";
pub(crate) const REPEATED_VALUE: &str = "A0308";
pub(crate) const MISSPELT_FIO_OPTION: &str = "A0309";
pub(crate) const UNKNOWN_FIO_OPTION: &str = "A0310";
pub(crate) const OWNED_FIO_OPTION: &str = "A0311";
pub(crate) const UNKNOWN_KNOB: &str = "A0312";
pub(crate) const UNKNOWN_MEASURE: &str = "A0313";
pub(crate) const BROKEN_TEMPLATE: &str = "A0315";
pub(crate) const UNKNOWN_OPTION: &str = "A0330";
pub(crate) const OWNED_OPTION: &str = "A0331";
pub(crate) const OPTION_VALUE: &str = "A0332";
pub(crate) const METRIC_SOURCE: &str = "A0333";
pub(crate) const STRANGE_OPTION: &str = "A0334";
pub(crate) const NOT_A_SETTING: &str = "A0320";
pub(crate) const UNKNOWN_SETTING: &str = "A0340";
pub(crate) const SETTING_VALUE: &str = "A0341";
pub(crate) const PLACE_VALUE: &str = "A0342";

// A04: references.
pub(crate) const UNDEFINED_WORKLOAD: &str = "A0401";
pub(crate) const UNDEFINED_DISK: &str = "A0402";
pub(crate) const UNDEFINED_FACTOR: &str = "A0403";
pub(crate) const UNUSED_FACTOR: &str = "A0404";
pub(crate) const UNSET_KNOB: &str = "A0405";
pub(crate) const DUPLICATE_GROUP: &str = "A0406";
pub(crate) const UNUSED_WORKLOAD: &str = "A0407";
pub(crate) const UNUSED_DISK: &str = "A0408";
pub(crate) const IDLE_GROUP: &str = "A0409";
pub(crate) const NO_PROMISES: &str = "A0410";
pub(crate) const NO_GROUPS: &str = "A0411";
pub(crate) const TEMPLATE_VALUE: &str = "A0412";
pub(crate) const TOO_LARGE: &str = "A0413";
pub(crate) const JOB_FILE: &str = "A0414";
pub(crate) const LONG_WARM_UP: &str = "A0415";
pub(crate) const WHICH_DISK: &str = "A0416";
pub(crate) const NOTHING_MEASURED: &str = "A0417";
pub(crate) const KNOB_WITHOUT_NUMBER: &str = "A0418";
pub(crate) const INNER_PROCESSES: &str = "A0419";
pub(crate) const KNOB_OF_ANOTHER_KIND: &str = "A0420";
pub(crate) const RIVAL_SETTINGS: &str = "A0440";
pub(crate) const PLACED_WHAT: &str = "A0441";
pub(crate) const MISSING_OPTION: &str = "A0430";
pub(crate) const PREPARATION: &str = "A0431";
pub(crate) const START_AFTER: &str = "A0432";
pub(crate) const NEEDS_A_PLACE: &str = "A0433";
pub(crate) const OUTSIDE_AND_MEASURED: &str = "A0434";
pub(crate) const UNDEFINED_LEVEL: &str = "A0450";
pub(crate) const FEW_LEVELS: &str = "A0451";
pub(crate) const SIDES_OF_A_RATIO: &str = "A0452";
pub(crate) const ONE_REPEAT: &str = "A0453";
pub(crate) const METRIC_RELATION: &str = "A0454";
pub(crate) const UNDEFINED_GROUP: &str = "A0455";
pub(crate) const NOTHING_IS_LEFT: &str = "A0456";
pub(crate) const PROGRESS_WITHIN: &str = "A0457";

/// Diagnostics that report something missing. They are held back while the syntax is wrong or a
/// part has the wrong type: some of the file was not read then, and what seems missing may be
/// there.
pub(crate) const CLAIM_ABSENCE: &[&str] = &[
    MISSING_KEY,
    UNDEFINED_WORKLOAD,
    UNDEFINED_DISK,
    UNDEFINED_FACTOR,
    UNUSED_FACTOR,
    UNSET_KNOB,
    UNUSED_WORKLOAD,
    UNUSED_DISK,
    IDLE_GROUP,
    NO_PROMISES,
    NO_GROUPS,
    WHICH_DISK,
    NOTHING_MEASURED,
    UNDEFINED_LEVEL,
    UNDEFINED_GROUP,
    MISSING_OPTION,
];
