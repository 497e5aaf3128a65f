//! Running code that a model has written, in containers.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use toolyard_actors::sandbox::{ExecResult, OutputStream, RunKind, RunRequest, SandboxPool};
use toolyard_contract::{
    Access, CallContext, Failure, Invocation, Output, Reply, Tool, ToolFuture, ToolReturn, ToolSpec,
};

/// The tools `sandbox_python` and `sandbox_shell`: each call is a process of its own in a container.
///
/// An agent's calls share a container, and the files in its working folder; calls without an agent have a new one
/// each. Calls of one list run in their order.
#[derive(Debug)]
pub struct SandboxTool {
    spec: ToolSpec,
    kind: RunKind,
    pool: SandboxPool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    code: Option<String>,
    input: Option<String>,
    timeout_s: Option<f64>,
}

impl SandboxTool {
    /// Makes `sandbox_python`.
    pub fn python(pool: SandboxPool) -> Self {
        let description = "Runs Python code in a container without network, each time in a new process, and gives what \
                           it prints and its exit code. Files in the current folder stay there for later calls of the \
                           same agent; a call that is made for no agent begins with an empty folder.";
        Self { spec: spec("sandbox_python", description, "The code."), kind: RunKind::Python, pool }
    }

    /// Makes `sandbox_shell`.
    pub fn shell(pool: SandboxPool) -> Self {
        let description = "Runs shell commands in a container without network, and gives what they print and their exit \
                           code. Files in the current folder stay there for later calls of the same agent; a call \
                           that is made for no agent begins with an empty folder.";
        Self { spec: spec("sandbox_shell", description, "The commands."), kind: RunKind::Shell, pool }
    }

    fn request(&self, arguments: &str) -> Result<RunRequest, Failure> {
        let arguments: Arguments =
            serde_json::from_str(arguments).map_err(|error| Failure::bad_arguments(error.to_string()))?;
        let code = arguments
            .code
            .or(arguments.input)
            .ok_or_else(|| Failure::bad_arguments("no code: give it in `code`"))?;
        let request = match self.kind {
            RunKind::Python => RunRequest::python(code),
            RunKind::Shell => RunRequest::shell(code),
        };
        let Some(seconds) = arguments.timeout_s else { return Ok(request) };
        let most = self.pool.config().sandbox.timeout;
        let timeout = Duration::try_from_secs_f64(seconds)
            .map_err(|_| Failure::bad_arguments("`timeout_s` is not a number of seconds"))?;
        Ok(request.timeout(timeout.min(most)))
    }

    async fn run(&self, invocation: Invocation) -> ToolReturn {
        let context = invocation.context;
        let request = self.request(&invocation.arguments)?;
        let lease = self.pool.lease(context.agent()).await?;
        let listener = context.clone();
        let result = lease.run(request.on_output(move |stream, text| tell(&listener, stream, text))).await?;
        judge(&result)
    }
}

fn spec(name: &str, description: &str, code: &str) -> ToolSpec {
    ToolSpec::new(name)
        .description(description)
        .input_schema(json!({
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": code},
                "input": {"type": "string", "description": "The same as `code`, which wins."},
                "timeout_s": {"type": "number", "minimum": 0, "description": "How long it may take, in seconds."},
            },
            "additionalProperties": false,
        }))
        .effects(["sandbox"])
        .permission_action("sandbox.run")
        .plain_text_input("input")
}

fn tell(context: &CallContext, stream: OutputStream, text: &[u8]) {
    let payload: Value = json!({"stream": stream, "text": String::from_utf8_lossy(text)});
    context.progress(payload);
}

/// Says how the call ended.
fn judge(result: &ExecResult) -> ToolReturn {
    let output = Output::json(result).map_err(|error| Failure::failed(error.to_string()))?;
    if result.is_success() {
        let mut reply = Reply::from(output);
        if result.truncated {
            reply.detail.get_or_insert_default().truncated = true;
        }
        return Ok(reply);
    }
    let last_line = result.stderr_text();
    let last_line = last_line.lines().last().unwrap_or_default();
    let failure = match (result.exit_code, result.signal) {
        _ if result.timed_out => {
            Failure::timed_out(format!("stopped after {:.1} s", result.elapsed.as_secs_f64()))
        }
        _ if result.oom => Failure::failed("its memory ran out"),
        (Some(code), _) => Failure::failed(format!("exit code {code}: {last_line}")),
        (None, Some(signal)) => Failure::failed(format!("ended by signal {signal}")),
        (None, None) => Failure::failed("it did not end by itself"),
    };
    Err(failure.output(output).detail(|detail| detail.truncated = result.truncated))
}

impl Tool for SandboxTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Files connect the calls of an agent.
    fn access(&self, _: &str) -> Access {
        Access::write("sandbox")
    }

    fn release(&self) -> BoxFuture<'static, ()> {
        let pool = self.pool.clone();
        Box::pin(async move { pool.release().await })
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        ToolFuture::new(async move { self.run(invocation).await })
    }
}
