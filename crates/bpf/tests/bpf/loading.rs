//! The running kernel takes the programs.

use assay_bpf::{BLAME, Programs};
use assay_kernel::Root;

#[test]
fn x() {
    let programs = Programs::load(&Root::real(), BLAME).unwrap_or_else(|e| panic!("{e}"));
    let settings = programs.map("settings").unwrap();
    let words = [1u32, std::process::id(), 0, 1].map(u32::to_ne_bytes).concat();
    settings.set(&0u32.to_ne_bytes(), &words).unwrap();
    std::thread::sleep(std::time::Duration::from_secs(1));
    let m = programs.map(".bss").unwrap().get(&[0; 4]).unwrap();
    let w: Vec<u64> =
        m.chunks_exact(8).map(|c| u64::from_ne_bytes(c.try_into().unwrap())).collect();
    eprintln!("{} {:?}", m.len(), &w[..30]);
}
