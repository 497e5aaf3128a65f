//! Which functions can be a tool's work.

use std::future::Future;

use serde::Deserialize;

use crate::{CallContext, Execution, IntoReturn, ToolFuture};

/// A function that can be a tool's work: `Fn()`, `Fn(Args)` or `Fn(Args, CallContext)`, async or not.
///
/// `Shape` only tells these apart; it is never written out.
#[diagnostic::on_unimplemented(
    message = "this function cannot be a tool's work",
    note = "it takes nothing, its arguments, or its arguments and a `CallContext`",
    note = "it returns an `IntoReturn`, or a `Send` future of one"
)]
pub trait ToolFunction<Shape>: Send + Sync + 'static {
    /// What it takes.
    type Args;
    /// Where it runs unless something else is said.
    const EXECUTION: Execution;
    /// Runs it: a plain function before this returns, an async one as the future.
    fn run(&self, args: Self::Args, context: CallContext) -> ToolFuture;
}

/// The arguments of a function that takes none.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(feature = "macros", derive(schemars::JsonSchema), schemars(inline))]
pub struct NoArguments {}

impl<F, R, Kind> ToolFunction<((), Kind)> for F
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Answer<Kind>,
{
    type Args = NoArguments;
    const EXECUTION: Execution = R::EXECUTION;

    fn run(&self, _: NoArguments, _: CallContext) -> ToolFuture {
        self().settle()
    }
}

impl<F, A, R, Kind> ToolFunction<((A,), Kind)> for F
where
    F: Fn(A) -> R + Send + Sync + 'static,
    R: Answer<Kind>,
{
    type Args = A;
    const EXECUTION: Execution = R::EXECUTION;

    fn run(&self, args: A, _: CallContext) -> ToolFuture {
        self(args).settle()
    }
}

impl<F, A, R, Kind> ToolFunction<((A, CallContext), Kind)> for F
where
    F: Fn(A, CallContext) -> R + Send + Sync + 'static,
    R: Answer<Kind>,
{
    type Args = A;
    const EXECUTION: Execution = R::EXECUTION;

    fn run(&self, args: A, context: CallContext) -> ToolFuture {
        self(args, context).settle()
    }
}

/// What a [`ToolFunction`] gives back: its answer, or a future of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an answer of a tool nor a `Send` future of one",
    note = "a value that serde can write becomes one as `Json(value)`"
)]
pub trait Answer<Kind> {
    /// Where the function runs.
    const EXECUTION: Execution;
    /// Gives the answer when it is there.
    fn settle(self) -> ToolFuture;
}

/// Tells the answers of plain functions from those of async ones.
#[derive(Debug)]
pub struct Plain;

impl<R: IntoReturn> Answer<Plain> for R {
    const EXECUTION: Execution = Execution::Blocking;

    fn settle(self) -> ToolFuture {
        ToolFuture::ready(self.into_return())
    }
}

/// Tells the answers of async functions from those of plain ones.
#[derive(Debug)]
pub struct Later;

impl<R: Future<Output: IntoReturn> + Send + 'static> Answer<Later> for R {
    const EXECUTION: Execution = Execution::Async;

    fn settle(self) -> ToolFuture {
        ToolFuture::new(async { self.await.into_return() })
    }
}
