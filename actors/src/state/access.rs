//! Reading and replacing rows from outside a call.

use std::sync::Arc;

use actix::{Handler, Message};
use serde_json::value::RawValue;
use toolyard_contract::{RowKey, RowValue};

use super::StateActor;

/// A state that cannot be written or read.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(crate) struct RowError(Arc<serde_json::Error>);

impl From<serde_json::Error> for RowError {
    fn from(error: serde_json::Error) -> Self {
        Self(Arc::new(error))
    }
}

/// Gives the committed state of one row; `None` when it was never used.
#[derive(Message)]
#[rtype(result = "Result<Option<Box<RawValue>>, RowError>")]
pub(crate) struct GetRow(pub(crate) RowKey);

/// Replaces the state of one row. A call that works on a copy of it ends `lost`.
#[derive(Message)]
#[rtype(result = "Result<(), RowError>")]
pub(crate) struct UpdateRow(pub(crate) RowValue);

impl Handler<GetRow> for StateActor {
    type Result = Result<Option<Box<RawValue>>, RowError>;

    fn handle(&mut self, GetRow(key): GetRow, _: &mut Self::Context) -> Self::Result {
        Ok(self.shard.lock().get(&key)?)
    }
}

impl Handler<UpdateRow> for StateActor {
    type Result = Result<(), RowError>;

    fn handle(&mut self, UpdateRow(row): UpdateRow, _: &mut Self::Context) -> Self::Result {
        Ok(self.shard.lock().put(&row)?)
    }
}
