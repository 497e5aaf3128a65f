//! The sandboxes of agents that are gone.

use actix::{Handler, Message};

use super::SandboxPoolActor;

/// Ends the sandbox of an agent that is gone.
#[derive(Message)]
#[rtype(result = "()")]
pub(in crate::sandbox) struct Forget(pub(in crate::sandbox) String);

impl Handler<Forget> for SandboxPoolActor {
    type Result = ();

    fn handle(&mut self, Forget(agent): Forget, ctx: &mut Self::Context) {
        let unused = |ticket: &u64| self.leased.get(ticket).is_some_and(|leased| leased.users == 0);
        let Some(ticket) = self.agents.get(&agent).copied().filter(unused) else { return };
        if let Some(kept) = self.take_lease(ticket) {
            self.end(kept, ctx);
        }
    }
}
