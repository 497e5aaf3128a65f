//! Reading and replacing rows from outside a call.

use std::sync::Arc;

use actix::{Handler, Message};
use serde_json::value::RawValue;
use toolyard_contract::{RowKey, RowValue, Shard};

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

/// Forgets one row; tells whether it was there.
#[derive(Message)]
#[rtype(result = "bool")]
pub(crate) struct RemoveRow(pub(crate) RowKey);

/// Gives all rows of the shard, ordered by agent: a state that existed between two commits.
#[derive(Message)]
#[rtype(result = "Result<Vec<RowValue>, RowError>")]
pub(crate) struct Snapshot;

/// Hands every row of the shard to a sink, ordered by agent, without a copy of them all: a state that
/// existed between two commits. The shard serves nobody meanwhile.
#[derive(Message)]
#[rtype(result = "Result<(), RowError>")]
pub(crate) struct StreamRows(pub(crate) RowSink);

/// Takes rows one by one.
pub(crate) type RowSink = Box<dyn FnMut(RowValue) -> serde_json::Result<()> + Send>;

/// Puts a shard in the place of the actor's. A call that works on a copy of a row ends `lost`.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Adopt(pub(crate) Box<dyn Shard>);

/// Forgets all rows of the shard. A call that works on a copy of one ends `lost`.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct ForgetRows;

impl Handler<StreamRows> for StateActor {
    type Result = Result<(), RowError>;

    fn handle(&mut self, StreamRows(mut sink): StreamRows, _: &mut Self::Context) -> Self::Result {
        Ok(self.shard.lock().for_each(&mut sink)?)
    }
}

impl Handler<Adopt> for StateActor {
    type Result = ();

    fn handle(&mut self, Adopt(shard): Adopt, _: &mut Self::Context) {
        *self.shard.lock() = shard;
    }
}

impl Handler<ForgetRows> for StateActor {
    type Result = ();

    fn handle(&mut self, _: ForgetRows, _: &mut Self::Context) {
        self.shard.lock().clear();
    }
}

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

impl Handler<RemoveRow> for StateActor {
    type Result = bool;

    fn handle(&mut self, RemoveRow(key): RemoveRow, _: &mut Self::Context) -> Self::Result {
        self.shard.lock().remove(&key)
    }
}

impl Handler<Snapshot> for StateActor {
    type Result = Result<Vec<RowValue>, RowError>;

    fn handle(&mut self, _: Snapshot, _: &mut Self::Context) -> Self::Result {
        let shard = self.shard.lock();
        let mut rows = Vec::with_capacity(shard.len());
        shard.for_each(&mut |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }
}
