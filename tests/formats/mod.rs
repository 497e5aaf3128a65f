mod accept;
mod bfcl;
mod golden;
mod nothing_lost;
mod pairs;
mod rules;
