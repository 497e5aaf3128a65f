//! Calls that wait for somebody: what must be kept so that they can go on, here or elsewhere.

mod answer;
mod call;
#[cfg(test)]
mod call_tests;
mod list;
mod parked;
mod state_mark;
mod store;
mod stored;
#[cfg(test)]
mod tests;

pub use self::{
    answer::{Answer, Answers},
    call::SuspendedCall,
    list::{RecordError, Refusal, Resumption, Standing, SuspendedList},
    parked::{Binding, Need, ParkedCall, Request},
    state_mark::{StateMark, StoreMark},
    store::{ChangedCall, Restored, SuspensionStore},
};
