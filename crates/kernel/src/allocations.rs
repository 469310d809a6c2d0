//! An allocator that counts, for tests which prove that something allocates nothing: such a test
//! makes it its global allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Without a destructor and with a constant beginning, so that reading it allocates nothing.
    static MADE: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts how often each thread asks for memory.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counting;

/// How often the calling thread has asked for memory, or for more of it.
#[must_use]
pub fn made() -> u64 {
    MADE.with(Cell::get)
}

fn count() {
    MADE.with(|made| made.set(made.get() + 1));
}

// SAFETY: every call goes to the system's allocator with its arguments unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`, which is the same there.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, which is the same there.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`, which is the same there.
        unsafe { System.realloc(memory, layout, size) }
    }
}
