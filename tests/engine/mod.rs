//! The engine as a whole: order, faults, limits, and that it equals a plain loop.

mod activation;
mod basics;
mod churn;
mod direct;
mod embed;
mod fairness;
mod faults;
mod forget;
mod huge_results;
mod inherit;
mod limits;
mod managers;
mod nodes;
mod oracle;
mod providers;
mod rates;
mod restart;
mod retries;
pub(crate) mod state;
mod state_cut;
mod state_files;
mod state_resume;
mod state_shape;
mod times;
pub(crate) mod tools;
mod waiting_nodes;
