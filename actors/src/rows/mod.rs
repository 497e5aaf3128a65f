//! The rows of tools that keep state: they outlive the actors that serve them.

mod hold;
mod origin;
mod table;

pub(crate) use self::{
    hold::hold_all,
    origin::{StateOrigin, new_state},
    table::{RowTable, SharedShard, spread},
};
