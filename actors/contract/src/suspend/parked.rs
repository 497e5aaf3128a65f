//! One call that waits, and what an answer to it is bound to.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{StateMark, SuspendedCall};
use crate::{
    ExactValue, PermissionCheck, ToolSpec,
    canonical::{canonical, canonical_as_written},
    digest::short_digest,
};

/// A call that waits for an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ParkedCall {
    /// Its position in its list.
    pub index: usize,
    /// The call, with the id of its request.
    pub call: SuspendedCall,
    /// What it waits for.
    pub need: Need,
    /// Why, for whoever answers.
    pub reason: String,
    /// What an answer is bound to.
    pub binding: Binding,
    /// What its tool wants to find again when it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Value>,
    /// The state of its tool, if that keeps one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StateMark>,
    /// True: it was given free to run. If its process went away since, nobody knows how far it came.
    #[serde(default)]
    pub claimed: bool,
}

/// What a call waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Somebody must approve it.
    Approval {
        /// What it does.
        action: String,
        /// To what.
        resource: String,
        /// The rule that says so.
        rule: String,
    },
    /// Its tool has asked for a value.
    Input,
}

/// What an answer holds for. The id of a request is a digest of all of it, of the arguments as they will be
/// executed, and of the action and the resource that were shown: so an answer for one call never fits another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// Makes the request differ from every other one, so that it can be answered once.
    pub nonce: String,
    /// The tool's own name, letter by letter.
    pub tool: String,
    /// A digest of the tool's input schema.
    pub schema: String,
    /// The version of the policy that asked; empty when the tool asked.
    pub policy: String,
    /// The agent on whose behalf the call runs.
    pub agent: Option<String>,
    /// When the request ends.
    pub expires_at: Timestamp,
}

impl Binding {
    /// Binds to a tool as it is now.
    pub fn new(
        spec: &ToolSpec,
        policy: impl Into<String>,
        agent: Option<&str>,
        nonce: String,
        expires_at: Timestamp,
    ) -> Self {
        Self {
            nonce,
            tool: spec.name.clone(),
            schema: schema_digest(&spec.input_schema),
            policy: policy.into(),
            agent: agent.map(str::to_owned),
            expires_at,
        }
    }

    /// The id of the request for this call: the same call bound to the same has the same id.
    ///
    /// `executed` are the arguments with the values that the runtime fills in, so that an approval does not
    /// hold for others. The digest tells nobody what they are: the nonce is part of it.
    pub fn request_id(&self, need: &Need, executed: &str) -> String {
        let expires_at = self.expires_at.to_string();
        let arguments = canonical_as_written(executed).unwrap_or_else(|_| executed.to_owned());
        let agent = self.agent.as_ref().map_or_else(String::new, |agent| format!("agent {agent}"));
        let (kind, action, resource) = match need {
            Need::Approval { action, resource, .. } => ("approval", action.as_str(), resource.as_str()),
            Need::Input => ("input", "", ""),
        };
        let parts: [&str; 10] = [
            &self.tool,
            &arguments,
            &self.schema,
            &self.policy,
            &agent,
            &self.nonce,
            &expires_at,
            kind,
            action,
            resource,
        ];
        short_digest("request", parts)
    }
}

fn schema_digest(schema: &ExactValue) -> String {
    let text = schema.to_string();
    short_digest("schema", [canonical(&text).unwrap_or(text).as_str()])
}

impl ParkedCall {
    /// Says what no longer holds of that what an answer is bound to. `executed` are the call's arguments with
    /// the values that the runtime would fill in now.
    ///
    /// # Errors
    /// Names what has changed.
    pub fn check_unchanged(&self, spec: &ToolSpec, policy: &str, executed: &str) -> Result<(), &'static str> {
        if spec.name != self.binding.tool {
            return Err("its tool is not there any more");
        }
        if schema_digest(&spec.input_schema) != self.binding.schema {
            return Err("the tool's schema has changed");
        }
        if matches!(self.need, Need::Approval { .. }) && self.binding.policy != policy {
            return Err("the permission policy has changed");
        }
        if self.binding.request_id(&self.need, executed) != self.call.request_id {
            return Err(
                "the call is no longer the one that was shown: its tool, action, resource, agent, expiry, arguments, \
                 or what the runtime fills in have changed",
            );
        }
        Ok(())
    }

    /// What was approved, where the call waited for that.
    pub fn approved(&self) -> Option<PermissionCheck> {
        match &self.need {
            Need::Approval { action, resource, .. } => {
                Some(PermissionCheck { action: action.clone(), resource: resource.clone() })
            }
            Need::Input => None,
        }
    }

    /// What is shown to whoever must answer.
    pub fn request(&self) -> Request<'_> {
        let (action, resource) = match &self.need {
            Need::Approval { action, resource, .. } => (Some(action.as_str()), Some(resource.as_str())),
            Need::Input => (None, None),
        };
        Request {
            id: &self.call.request_id,
            index: self.index,
            tool: &self.call.tool,
            action,
            resource,
            reason: &self.reason,
            expires_at: self.binding.expires_at,
        }
    }
}

/// A request as it is shown. Keys are written in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Request<'a> {
    /// What an answer names.
    pub id: &'a str,
    /// The call's position.
    pub index: usize,
    /// The tool.
    pub tool: &'a str,
    /// What the call does; `null` when its tool asks for a value.
    pub action: Option<&'a str>,
    /// To what.
    pub resource: Option<&'a str>,
    /// Why it waits.
    pub reason: &'a str,
    /// When the request ends.
    pub expires_at: Timestamp,
}
