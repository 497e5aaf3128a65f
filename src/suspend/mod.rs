//! Lists that wait for somebody, and go on later: in this process, or in another one.

mod file;

use toolyard_actors::{Claim, EngineError, ExecuteOptions, Report, ResumeError, RunControl};
use toolyard_contract::{Answers, PermissionRule, Refusal, SuspendedList};

pub use self::file::{ReservedFile, SuspendFile, SuspendFileError};
use crate::Engine;

impl Engine {
    /// Goes on with a suspended list: runs what was approved, answers what was denied, and gives the
    /// whole list in its original order. Nothing that has a result runs again; calls that were not
    /// answered stay suspended, and are asked about again where their requests no longer hold.
    ///
    /// The record changes with it, so that it can be resumed until nothing waits any more.
    ///
    /// # Errors
    /// Names the first answer that cannot be taken, or says why the engine does not take the list;
    /// then nothing ran and the record is as it was.
    ///
    /// # Cancellation
    /// Dropping the future cancels what runs; the record says that it was claimed.
    pub async fn resume(
        &self,
        list: &mut SuspendedList,
        answers: &Answers,
        options: ExecuteOptions,
    ) -> Result<Report, ResumeError> {
        if self.yard().is_closed() {
            return Err(EngineError::Stopped.into());
        }
        let before = list.clone();
        let claim = self.claim(list, answers, &options)?;
        let ran = self.run_claim(list, claim, options, RunControl::new()).await;
        Ok(ran.inspect_err(|_| *list = before)?)
    }

    /// Takes answers without running anything yet, for those who keep the record on a disk.
    ///
    /// Once the changed record is safe there, [`run_claim`](Self::run_claim) goes on. A crash in
    /// between makes the claimed calls `lost`: see [`SuspendedList::recover`].
    ///
    /// # Errors
    /// Names the first answer that cannot be taken; then nothing has changed.
    pub fn claim(
        &self,
        list: &mut SuspendedList,
        answers: &Answers,
        options: &ExecuteOptions,
    ) -> Result<Claim, Refusal> {
        self.yard().claim(list, answers, options)
    }

    /// Runs what was claimed, and gives the whole list as it stands then.
    ///
    /// # Errors
    /// When the engine does not take the list; then the claim is taken back.
    ///
    /// # Cancellation
    /// Dropping the future cancels what runs; the record still says that it was claimed.
    pub async fn run_claim(
        &self,
        list: &mut SuspendedList,
        claim: Claim,
        options: ExecuteOptions,
        control: RunControl,
    ) -> Result<Report, EngineError> {
        self.yard().run_claim(list, claim, options, control).await
    }

    /// The rules that people have approved for the rest of an agent's session, oldest first. They
    /// live as long as the engine.
    pub fn session_rules(&self, agent: Option<&str>) -> Vec<PermissionRule> {
        self.yard().session_rules(agent)
    }
}
