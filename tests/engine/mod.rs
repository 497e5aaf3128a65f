//! The engine as a whole: order, faults, limits, and that it equals a plain loop.

mod activation;
mod basics;
mod embed;
mod fairness;
mod faults;
mod limits;
mod oracle;
mod rates;
mod restart;
mod retries;
mod state;
pub(crate) mod tools;
