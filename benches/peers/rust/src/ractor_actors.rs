//! One ractor actor for each tool, one message and one reply port for each call.

use std::collections::HashMap;

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, concurrency::oneshot};

use crate::trivial::{RawCall, TOOLS, add};

pub(crate) struct Adder;

pub(crate) struct Add(String, RpcReplyPort<String>);

impl Actor for Adder {
    type Msg = Add;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Add>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: ActorRef<Add>,
        Add(arguments, reply): Add,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        Ok(reply.send(add(&arguments))?)
    }
}

pub(crate) async fn start() -> HashMap<String, ActorRef<Add>> {
    let mut actors = HashMap::new();
    for i in 0..TOOLS {
        let (actor, _) = Actor::spawn(None, Adder, ()).await.expect("an actor");
        actors.insert(format!("tool_{i}"), actor);
    }
    actors
}

pub(crate) async fn run(actors: &HashMap<String, ActorRef<Add>>, calls: Vec<RawCall>) -> Vec<String> {
    let send = |(_, name, arguments): RawCall| {
        let (reply, answer) = oneshot();
        actors[&name].send_message(Add(arguments, reply.into())).expect("the actor lives");
        answer
    };
    let answers: Vec<_> = calls.into_iter().map(send).collect();
    let mut texts = Vec::with_capacity(answers.len());
    for answer in answers {
        texts.push(answer.await.expect("an answer"));
    }
    texts
}
