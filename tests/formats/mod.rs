mod accept;
pub(crate) mod bfcl;
mod cli;
mod engine;
mod golden;
mod media;
mod nothing_lost;
mod pairs;
mod rules;
