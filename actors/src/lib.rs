//! The actors of toolyard: everything with a mailbox.
//!
//! People use these through the `toolyard` crate; a host with an actix system of its own may send
//! [`ExecuteCalls`] to a [`SupervisorActor`] directly.

#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests choose their times"))]

mod activity;
mod admission;
mod body;
mod call_end;
#[cfg(feature = "child")]
pub mod child;
pub mod code;
mod direct;
mod event;
mod extension;
mod guard;
mod keys;
mod mail;
#[cfg(feature = "mcp")]
pub mod mcp;
mod messages;
pub mod moment;
mod observe;
mod overflow;
pub mod pause;
mod permission;
mod placement;
mod pulse;
#[cfg(feature = "python")]
pub mod python;
mod reply;
mod restart;
mod retry;
mod rows;
#[cfg(feature = "docker")]
pub mod sandbox;
mod state;
mod supervisor;
mod tool;
mod unbegun;
mod watch;
mod yard;

pub use self::{
    admission::{AgentLimits, Limits, ToolLimits},
    direct::{DirectCall, ExecuteIn, ExecuteTool},
    event::{CallInfo, EngineEvent, EventKind, PlanPlace, WaitsFor},
    extension::{Extension, ExtensionError, ExtensionStatus, HostHandle, Offered, Place, Refused},
    messages::{
        CatalogChange, ChangeCatalog, EngineError, ExecuteCalls, ExecuteOptions, Permission, PlanCalls,
        Preview, Problem, Report, ResumeError, Stop,
    },
    observe::{DroppedEvents, EventStream, EventTap},
    overflow::OverflowConfig,
    permission::PermissionConfig,
    restart::{Health, RestartPolicy},
    retry::RetryPolicy,
    supervisor::{
        SupervisorActor,
        catalog::{Catalog, Entry},
        catalog_error::CatalogError,
        control::RunControl,
    },
    watch::OnBlocked,
    yard::{
        AgentTables, Claim, ForgetError, Forgotten, Staging, StateCut, StateError, ToolRows, Yard, YardConfig,
    },
};
