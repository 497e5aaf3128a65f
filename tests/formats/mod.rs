mod accept;
mod bfcl;
mod cli;
mod engine;
mod golden;
mod nothing_lost;
mod pairs;
mod rules;
