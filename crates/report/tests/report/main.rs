//! Tests of reports of synthetic runs through the public interface.

#[cfg(test)]
mod browser;
mod cases;
mod fixture;
#[cfg(test)]
mod index;
#[cfg(test)]
mod live;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod page;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod sampling;
#[cfg(test)]
mod sar;
#[cfg(test)]
mod screens;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod tuning;
#[cfg(test)]
mod vendored;
#[cfg(test)]
mod waiting;
