//! The engine as a whole: order, faults, limits, and that it equals a plain loop.

mod basics;
mod embed;
mod faults;
mod limits;
mod oracle;
mod restart;
mod state;
mod tools;
