//! Tests of the committed objects.

mod bytes;
mod loading;
