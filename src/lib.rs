//! Runs the tool calls that language-model agents make: a list of calls comes in, each runs on an
//! actor, and exactly one result per call comes back, in call order.
//!
//! Start at [`Engine::builder`].

#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests choose their times"))]

mod attach;
mod builder;
pub mod builtin;
pub mod config;
mod engine;
pub mod events;
mod extensions;
mod forget;
pub mod formats;
mod inner_state;
mod manage;
#[cfg(feature = "mcp")]
pub mod mcp;
mod node;
pub mod persist;
mod providers;
#[cfg(feature = "python")]
mod python;
#[doc(hidden)] // for the program
pub mod replace;
#[cfg(feature = "docker")]
pub mod sandbox;
#[cfg(feature = "tower")]
mod service;
#[cfg(feature = "sim")]
pub mod sim;
mod stub;
pub mod suspend;
mod system;
#[cfg(any(feature = "metrics", feature = "otel"))]
pub mod telemetry;
pub mod timeline;

pub use attach::{AttachError, Attached};
pub use builder::EngineBuilder;
pub use engine::{Engine, IntoCalls, Run};
pub use node::{Blackboard, NodeStatus, RecordMismatch, ToolNode};
pub use providers::Refresh;
#[cfg(feature = "tower")]
pub use service::ListRequest;
pub use stub::StubTool;
pub use system::StartError;
#[cfg(any(feature = "docker", feature = "mcp", feature = "python"))]
pub use toolyard_actors::child::{InheritEnv, keep_if_asked};
pub use toolyard_actors::code;
pub use toolyard_actors::{
    AgentLimits, AgentTables, CallInfo, Catalog, CatalogChange, CatalogError, ChangeCatalog, Claim,
    DirectCall, DroppedEvents, EngineError, EngineEvent, EventKind, EventStream, EventTap, ExecuteCalls,
    ExecuteIn, ExecuteOptions, ExecuteTool, Extension, ExtensionError, ExtensionStatus, ForgetError,
    Forgotten, Health, HostHandle, Offered, OnBlocked, OverflowConfig, Permission, PermissionConfig, Place,
    PlanCalls, PlanPlace, Preview, Problem, Refused, Report, RestartPolicy, ResumeError, RetryPolicy,
    RunControl, StateError, Stop, SupervisorActor, ToolLimits, ToolRows, WaitsFor,
};
#[cfg(feature = "python")]
pub use toolyard_actors::{
    child::ResourceLimits,
    python::{NanPolicy, PythonConfig, PythonFile, PythonReport, python_version},
};
pub use toolyard_contract::{self as contract, *};
/// Makes a tool of a function: [`contract::tool`] for those who depend on `toolyard` alone.
#[cfg(feature = "macros")]
#[doc(inline)]
pub use toolyard_macros::tool_in_toolyard as tool;
