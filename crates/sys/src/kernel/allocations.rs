//! A counting allocator for tests that prove that something does not allocate: such a test sets it as
//! its global allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Without a destructor and const-initialised, so that reading it does not allocate.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting the allocations of each thread.
#[derive(Debug, Default, Clone, Copy)]
pub struct CountingAllocator;

/// Number of allocations and reallocations of the calling thread.
#[must_use]
pub fn count() -> u64 {
    COUNT.with(Cell::get)
}

fn increment() {
    COUNT.with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is forwarded to the system's allocator with its arguments unchanged.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        increment();
        // SAFETY: the caller upholds the contract of `alloc`, which is the same there.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `dealloc`, which is the same there.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        increment();
        // SAFETY: the caller upholds the contract of `realloc`, which is the same there.
        unsafe { System.realloc(memory, layout, size) }
    }
}
