//! The body of one call, whichever actor runs it: from its first poll to its answer.

mod begun;
mod runner;
mod spawner;
mod to_end;

pub(crate) use self::{
    begun::Begun,
    runner::{Bodies, Late, Runner, Started},
    spawner::Spawner,
};
