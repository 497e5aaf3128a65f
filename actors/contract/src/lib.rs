//! The values and rules of toolyard, without a runtime: no threads, no clock, no IO.
//!
//! A [`ToolCall`] names a [`Tool`]; [`plan()`] splits a list of calls into batches that may
//! overlap and batches that may not; every call ends as one [`ToolResult`] with an [`Outcome`].
//! The crates above this one run what is decided here.

#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests choose their times"))]

pub mod absent;
pub mod access;
pub mod alias;
pub mod arguments;
pub mod call;
pub mod canonical;
pub mod complete;
mod completion;
pub mod context;
pub mod control;
pub mod decision;
mod digest;
pub mod digits;
pub mod effects;
pub mod exact;
pub mod function;
mod glob;
pub mod hidden;
#[cfg(test)]
mod inert;
pub mod legacy;
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod macro_support;
pub mod name;
pub mod names;
pub mod outcome;
pub mod output;
pub mod permission;
mod plain;
pub mod plan;
pub mod provider;
pub mod rate;
pub mod resolve;
pub mod result;
pub mod runner;
pub mod set;
pub mod spec;
pub mod state;
pub mod strict;
pub mod submit;
pub mod suspend;
pub mod tool;
pub mod work;

pub use access::{Access, AccessMode, ResourceAccess, ResourceKey};
pub use alias::{AliasCycle, Aliases};
pub use arguments::{ArgumentError, Arguments, InjectPolicy};
pub use call::{BadCall, CallId, ToolCall};
pub use complete::{Completion, NextStep};
pub use context::{CallContext, CallHost, Invocation, RunId, SubmitError};
pub use control::{
    ActivationController, ActivationMode, ActivationRule, ActivationRules, NamesTool, PatternError,
    ToolPattern,
};
pub use decision::{DecisionContext, ParallelCategory, ParallelDecision};
pub use effects::EffectTags;
pub use exact::ExactValue;
pub use function::{FunctionTool, IntoReturn, Json, StatefulFunction};
pub use names::NameTable;
pub use outcome::Outcome;
pub use output::{Detail, Failure, Output, Reply, ToolReturn};
pub use permission::{
    Judgement, PermissionCheck, PermissionContext, PermissionDecision, PermissionPolicy, PermissionRule,
    PermissionRules, RuleError, RulePolicy, Verdict,
};
pub use plan::{Batch, BatchKind, Plan, Step, plan};
pub use provider::{Provided, ProviderError, ProviderOptions, ToolProvider};
pub use rate::Rate;
pub use resolve::{BuildError, CustomTail, Resolved, ToolSource};
pub use result::ToolResult;
pub use runner::{Runner, StateReturn};
pub use set::{Duplicate, DuplicatePolicy, SharedTool, ToolSet};
pub use spec::{Execution, FunctionSchema, ToolSpec};
pub use state::{
    Copied, InPlace, JsonState, RowKey, RowKeys, RowReplaced, RowValue, SavedState, Shard, ShardWork,
    StatePart, StateScope, StateWork, Stateful, StatefulTool, ToolState,
};
pub use submit::SubmitOptions;
pub use suspend::{
    Answer, Answers, Binding, ChangedCall, Need, ParkedCall, RecordError, Refusal, Request, Restored,
    Resumption, Standing, StateMark, StoreMark, SuspendedCall, SuspendedList, SuspensionStore,
};
pub use tool::{IntoTool, Tool};
pub use work::ToolFuture;

pub use compact_str::CompactString;

/// For arguments of your own types: `#[derive(JsonSchema)]` with
/// `#[schemars(crate = "toolyard_contract::schemars")]`.
#[cfg(feature = "macros")]
pub use schemars;
#[cfg(feature = "macros")]
pub use toolyard_macros::tool;
