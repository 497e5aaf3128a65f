//! Which functions can be a stateful tool's work.

use std::{future::Future, sync::Arc};

use serde::de::DeserializeOwned;

use super::{
    body::{Later, NoArguments, Plain},
    parse,
};
use crate::{CallContext, Execution, IntoReturn, Invocation, StateWork, ToolReturn, ToolState};

/// A function that can be a stateful tool's work: `Fn(&mut State, Args, CallContext)`, or
/// `Fn(State, Args, CallContext)` with a future of the answer and the state; the last one or two
/// parameters may be left out.
///
/// `Shape` only tells these apart; it is never written out.
#[diagnostic::on_unimplemented(
    message = "this function cannot be a stateful tool's work",
    note = "a plain one takes `&mut State`, then its arguments, then a `CallContext`; it returns an `IntoReturn`",
    note = "an async one takes the state by value and returns a `Send` future of `(answer, state)`"
)]
pub trait StateFunction<Shape>: Send + Sync + 'static {
    /// What it works on.
    type State: ToolState;
    /// What it takes.
    type Args: DeserializeOwned;
    /// Where it runs unless something else is said.
    const EXECUTION: Execution;
    /// Starts it on a copy of a row.
    fn work(
        self: Arc<Self>,
        invocation: Invocation,
        state: Self::State,
        execution: Execution,
    ) -> StateWork<Self::State>;
}

macro_rules! state_functions {
    ($(
        <$($generic:ident)?> $args:ty:
            ($($parameter:ty),*) from |$read:pat_param, $context:pat_param| ($($value:expr),*);
    )+) => {$(
        impl<F, S, R, $($generic)?> StateFunction<((S, $($parameter),*), Plain)> for F
        where
            F: Fn(&mut S, $($parameter),*) -> R + Send + Sync + 'static,
            S: ToolState,
            R: IntoReturn,
            $($generic: DeserializeOwned,)?
        {
            type State = S;
            type Args = $args;
            const EXECUTION: Execution = Execution::Blocking;

            fn work(
                self: Arc<Self>,
                invocation: Invocation,
                mut state: S,
                execution: Execution,
            ) -> StateWork<S> {
                let work = move || {
                    let Invocation { arguments, context: $context } = invocation;
                    let answer = |$read: $args| self(&mut state, $($value),*).into_return();
                    (parse::arguments(arguments).and_then(answer), state)
                };
                plain(execution, work)
            }
        }

        impl<F, S, R, $($generic)?> StateFunction<((S, $($parameter),*), Later)> for F
        where
            F: Fn(S, $($parameter),*) -> R + Send + Sync + 'static,
            S: ToolState,
            R: Future<Output: StateAnswer<S>> + Send,
            $($generic: DeserializeOwned,)?
        {
            type State = S;
            type Args = $args;
            const EXECUTION: Execution = Execution::Async;

            fn work(self: Arc<Self>, invocation: Invocation, state: S, _: Execution) -> StateWork<S> {
                StateWork::Waits(Box::pin(async move {
                    let Invocation { arguments, context: $context } = invocation;
                    let $read = match parse::arguments::<$args>(arguments) {
                        Ok(read) => read,
                        Err(unfit) => return (Err(unfit), state),
                    };
                    let answer = self(state, $($value),*);
                    answer.await.into_parts()
                }))
            }
        }
    )+};
}

state_functions! {
    <> NoArguments: () from |_, _| ();
    <A> A: (A) from |args, _| (args);
    <A> A: (A, CallContext) from |args, context| (args, context);
}

fn plain<S>(execution: Execution, work: impl FnOnce() -> (ToolReturn, S) + Send + 'static) -> StateWork<S> {
    if execution == Execution::Blocking {
        return StateWork::Blocks(Box::new(work));
    }
    let (returned, state) = work();
    StateWork::Done(returned, state)
}

/// What an async stateful function gives back: `(answer, state)`.
pub trait StateAnswer<S> {
    /// The return and the state.
    fn into_parts(self) -> (ToolReturn, S);
}

impl<R: IntoReturn, S> StateAnswer<S> for (R, S) {
    fn into_parts(self) -> (ToolReturn, S) {
        (self.0.into_return(), self.1)
    }
}
