//! Mailboxes: nobody waits to put something into one.

use actix::{Actor, Addr, Handler, Message, dev::ToEnvelope};

/// A mailbox without a bound of its own: what is in it holds permits, and a full mailbox would only
/// make senders lazy. (actix adds the number of senders, so this is not the largest number.)
pub(crate) const MAILBOX: usize = 1 << 30;

/// Puts a message into an actor's mailbox without waiting.
///
/// Mailbox bounds are no back-pressure in actix, so whoever posts holds a permit. A message to a
/// dead actor is dropped, which answers the calls inside it.
#[allow(clippy::disallowed_methods)] // the one place
pub(crate) fn post<A, M>(actor: &Addr<A>, message: M)
where
    A: Actor + Handler<M>,
    A::Context: ToEnvelope<A, M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    actor.do_send(message);
}
