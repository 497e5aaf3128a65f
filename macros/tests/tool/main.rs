//! The `#[tool]` attribute as its users meet it: with the contract as their only dependency.
#![allow(clippy::unused_async, clippy::needless_pass_by_value, reason = "functions of every shape are tools")]

mod calls;
mod errors;
mod schema;
mod state;
