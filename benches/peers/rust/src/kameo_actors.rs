//! One kameo actor for each tool, one `ask` for each call.

use std::collections::HashMap;

use kameo::{
    Actor,
    actor::{ActorRef, Spawn},
    mailbox,
    message::{Context, Message},
};

use crate::trivial::{RawCall, TOOLS, add};

#[derive(Actor)]
pub(crate) struct Adder;

pub(crate) struct Add(String);

impl Message<Add> for Adder {
    type Reply = String;

    async fn handle(&mut self, Add(arguments): Add, _: &mut Context<Self, String>) -> String {
        add(&arguments)
    }
}

/// Unbounded mailboxes, because all messages of a list are sent before the first answer is awaited.
pub(crate) fn start() -> HashMap<String, ActorRef<Adder>> {
    let actor = || Adder::spawn_with_mailbox(Adder, mailbox::unbounded());
    (0..TOOLS).map(|i| (format!("tool_{i}"), actor())).collect()
}

pub(crate) async fn run(actors: &HashMap<String, ActorRef<Adder>>, calls: Vec<RawCall>) -> Vec<String> {
    let mut answers = Vec::with_capacity(calls.len());
    for (_, name, arguments) in calls {
        answers.push(actors[&name].ask(Add(arguments)).enqueue().await.expect("the actor lives"));
    }
    let mut texts = Vec::with_capacity(answers.len());
    for answer in answers {
        texts.push(answer.await.expect("an answer"));
    }
    texts
}
