//! What can be said on the command line.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde_json::value::RawValue;
use toolyard_actors::moment;

#[cfg(feature = "sim")]
mod sim;

#[cfg(feature = "sim")]
pub(crate) use self::sim::{PaceOption, SimOptions};
use crate::{activation::ActivationOptions, output::OutputForm};

/// Runs the tool calls that language-model agents make.
#[derive(Debug, Parser)]
#[command(name = "toolyard", version, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// What to log to standard error: a level, or a filter like `toolyard=debug`; also by `TOOLYARD_LOG`
    #[arg(long, global = true, value_name = "FILTER")]
    pub(crate) log_level: Option<String>,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Runs the calls of a document and prints one result per call
    Call(Box<CallOptions>),
    /// Shows how the calls of a document would be batched, and why; runs nothing
    Plan(Box<PlanOptions>),
    /// Goes on with a suspended list: runs what is approved, answers what is denied
    Resume(Box<ResumeOptions>),
    /// Lists the tools with their schemas
    Tools(Box<ToolsOptions>),
    /// Looks at MCP servers
    #[cfg(feature = "mcp")]
    Mcp(Box<McpOptions>),
    /// Runs code in a container, and makes the image for that
    #[cfg(feature = "docker")]
    #[command(subcommand)]
    Sandbox(Box<SandboxVerb>),
    /// Checks what calls may need, and says what is missing and how to get it
    Doctor(DoctorOptions),
    /// Shows or replaces the states in a store
    #[command(subcommand)]
    State(Box<StateVerb>),
    /// Simulates many agents, and says how their calls went
    #[cfg(feature = "sim")]
    Sim(Box<SimOptions>),
}

#[derive(Debug, Subcommand)]
pub(crate) enum StateVerb {
    /// Prints the states of a store, which `state load` takes
    Dump(DumpOptions),
    /// Replaces the states of the tools in FILE; the others in the store stay
    Load(Box<LoadOptions>),
}

#[derive(Args, Debug)]
pub(crate) struct DumpOptions {
    /// The tool whose states are wanted [default: all]
    pub(crate) tool: Option<String>,
    /// The store
    #[arg(long, value_name = "FILE")]
    pub(crate) state: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct LoadOptions {
    /// The states, as `state dump` prints them
    pub(crate) file: PathBuf,
    /// The store; made when it is not there
    #[arg(long, value_name = "FILE")]
    pub(crate) state: PathBuf,
    #[command(flatten)]
    pub(crate) state_wait: StateWait,
    #[command(flatten)]
    pub(crate) engine: EngineOptions,
}

#[derive(Args, Debug)]
pub(crate) struct CallOptions {
    #[command(flatten)]
    pub(crate) input: InputOptions,
    #[command(flatten)]
    pub(crate) engine: EngineOptions,
    #[command(flatten)]
    pub(crate) list: ListOptions,
    /// With --jsonl: run documents at once, up to --max-in-flight, and answer each as it ends
    #[arg(long, requires = "jsonl")]
    pub(crate) unordered: bool,
    /// Load the tools' states from this store before, if it is there, and save them to it after
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) state_wait: StateWait,
    /// The form of the results
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) output: OutputForm,
    /// Write what is needed to go on with calls that wait; see `resume`
    #[arg(long, value_name = "FILE", conflicts_with = "jsonl")]
    pub(crate) suspend: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) record: RecordOptions,
}

/// Without an answer, nothing runs; requests that do not hold any more are made anew.
#[derive(Args, Debug)]
pub(crate) struct ResumeOptions {
    /// What `call --suspend` has written; it is replaced before and after running
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Let the call run that waits for this request
    #[arg(long, value_name = "ID")]
    pub(crate) approve: Vec<String>,
    /// Refuse the call that waits for this request; the model is told why
    #[arg(long, value_name = "ID[=WHY]")]
    pub(crate) deny: Vec<String>,
    /// Give the call that waits for this request the value that it asked for
    #[arg(long, value_name = "ID=JSON", value_parser = answer)]
    pub(crate) answer: Vec<(String, Box<RawValue>)>,
    #[command(flatten)]
    pub(crate) engine: EngineOptions,
    /// The store that the list works on, where it is not where it was, or where the list had none
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) state_wait: StateWait,
    /// How long one call may take, from the start of its work
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// How long what goes on may take in all
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) deadline: Option<Duration>,
    /// The form of the results
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) output: OutputForm,
    #[command(flatten)]
    pub(crate) record: RecordOptions,
}

#[derive(Args, Debug)]
pub(crate) struct PlanOptions {
    #[command(flatten)]
    pub(crate) input: InputOptions,
    #[command(flatten)]
    pub(crate) engine: EngineOptions,
    #[command(flatten)]
    pub(crate) list: ListOptions,
}

#[derive(Args, Debug)]
pub(crate) struct ToolsOptions {
    #[command(flatten)]
    pub(crate) engine: EngineOptions,
    /// The form of the list
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) format: ToolsForm,
}

#[cfg(feature = "mcp")]
#[derive(Args, Debug)]
pub(crate) struct McpOptions {
    /// The configuration, for its MCP servers [default: toolyard.toml, if it is there]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// A file of MCP servers, the usual `{"mcpServers": {…}}`
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) mcp_config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) verb: McpVerb,
}

#[cfg(feature = "mcp")]
#[derive(Debug, Subcommand)]
pub(crate) enum McpVerb {
    /// Shows each server's state, after a try to connect to all
    Status,
    /// Lists the tools of one server, or of all, that are switched on
    Tools {
        /// The server
        server: Option<String>,
    },
    /// Lists the prompts of one server, or of all
    Prompts {
        /// The server
        server: Option<String>,
    },
    /// Lists the resources of one server, or of all
    Resources {
        /// The server
        server: Option<String>,
    },
    /// Reads a resource
    Read {
        /// The server
        server: String,
        /// The resource
        uri: String,
    },
    /// Gets a prompt, filled in
    Prompt {
        /// The server
        server: String,
        /// The prompt
        name: String,
        /// Its arguments
        #[arg(value_name = "NAME=TEXT", value_parser = argument)]
        arguments: Vec<(String, String)>,
    },
}

#[cfg(feature = "docker")]
#[derive(Debug, Subcommand)]
pub(crate) enum SandboxVerb {
    /// Runs code once, in a container of its own
    Run(SandboxRunOptions),
    /// Makes the default image from Debian packages; needs no registry
    Build(SandboxBuildOptions),
}

#[cfg(feature = "docker")]
#[derive(Args, Debug)]
pub(crate) struct SandboxRunOptions {
    /// The code; `-` is standard input
    #[arg(value_name = "FILE|-")]
    pub(crate) file: PathBuf,
    /// It is Python [default, unless the file's name ends in `.sh`]
    #[arg(long, conflicts_with = "shell")]
    pub(crate) python: bool,
    /// It is for the shell
    #[arg(long)]
    pub(crate) shell: bool,
    /// How long it may take
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) config: ConfigOption,
}

#[cfg(feature = "docker")]
#[derive(Args, Debug)]
pub(crate) struct SandboxBuildOptions {
    /// The name of the image [default: that of the configuration]
    #[arg(long, value_name = "NAME")]
    pub(crate) image: Option<String>,
    #[command(flatten)]
    pub(crate) config: ConfigOption,
}

#[derive(Args, Debug)]
pub(crate) struct DoctorOptions {
    #[command(flatten)]
    pub(crate) config: ConfigOption,
    /// A file of MCP servers, the usual `{"mcpServers": {…}}`, to check beside those of the configuration
    #[cfg(feature = "mcp")]
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp_config: Option<PathBuf>,
}

/// Where settings come from.
#[derive(Args, Debug)]
pub(crate) struct ConfigOption {
    /// The configuration [default: toolyard.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// How long another run may keep a store.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct StateWait {
    /// How long to wait for another run to let go of the store; 0: not at all
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = wait)]
    state_wait: Duration,
}

impl StateWait {
    pub(crate) fn patience(self) -> Duration {
        self.state_wait
    }
}

/// Where documents come from.
#[derive(Args, Debug)]
pub(crate) struct InputOptions {
    /// A file with one JSON document; `-` is standard input
    #[arg(default_value = "-", value_name = "FILE|-")]
    pub(crate) file: PathBuf,
    /// The input has one document per line; each is answered by one line
    #[arg(long)]
    pub(crate) jsonl: bool,
}

/// How the engine is set up.
#[derive(Args, Debug)]
pub(crate) struct EngineOptions {
    /// The configuration; other options win over it [default: toolyard.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The built-in tools to have, by name or alias, or `all` or `none` [default: none with --python, --mcp-config or a
    /// configuration that names tools; else `calculator`, `file_read` and `file_write`]
    #[arg(long, value_delimiter = ',', value_name = "none|all|A,B")]
    pub(crate) tools: Option<Vec<String>>,
    #[command(flatten)]
    pub(crate) activation: ActivationOptions,
    /// Makes the functions of a Python file tools: those that match every GLOB and no !GLOB; or, with the name of a
    /// class first, the public methods of one instance
    #[cfg(feature = "python")]
    #[arg(long, value_name = "FILE[:GLOB,!GLOB]")]
    pub(crate) python: Vec<toolyard::PythonFile>,
    /// A file of MCP servers, the usual `{"mcpServers": {…}}`; their tools are there as `server_tool`
    #[cfg(feature = "mcp")]
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp_config: Option<PathBuf>,
    /// The folder that file tools never lead out of [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) files: FileOptions,
    /// The folder for results that are too large to be printed whole [default: toolyard/results in the state directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) overflow_dir: Option<PathBuf>,
    /// How many calls may run at once; with --unordered, also how many documents
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_in_flight: Option<u32>,
}

/// What the file tools may do inside their folder.
#[derive(Args, Debug)]
pub(crate) struct FileOptions {
    /// How large a file may be that `file_read` reads, and a text that `file_write` writes [default: 1000000]
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_file_bytes: Option<u64>,
    /// The extensions of the files that the file tools may use [default: any]
    #[arg(long, value_delimiter = ',', value_name = "A,B,C")]
    pub(crate) file_extensions: Option<Vec<String>>,
    /// Let `file_write` write only into folders that are there
    #[arg(long)]
    pub(crate) no_create_folders: bool,
}

/// How lists are run.
#[derive(Args, Debug)]
pub(crate) struct ListOptions {
    /// How long one call may take, from the start of its work
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// How long a whole list may take
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) deadline: Option<Duration>,
    /// Skip what has not begun once a call has not ended `ok`
    #[arg(long)]
    pub(crate) stop_on_failure: bool,
    /// Answer declared tools without an implementation by their own validated arguments
    #[arg(long)]
    pub(crate) stub: bool,
    /// On whose behalf the calls run, where the document does not say
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
}

/// What is recorded while calls run.
#[derive(Args, Debug)]
pub(crate) struct RecordOptions {
    /// Write what happens, when, and what each call waits for: a line of JSON for each event
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Write a page that draws what happened: a lane for each actor, a bar for each call, and a table
    #[arg(long, value_name = "FILE.html")]
    pub(crate) timeline: Option<PathBuf>,
}

/// The forms in which tools are listed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum ToolsForm {
    /// Name, description, schemas
    #[default]
    Native,
    /// The `tools` of a request to OpenAI's chat API
    Openai,
    /// The `tools` of a request to Anthropic's messages API
    Anthropic,
    /// The `tools` of a request to Gemini's API
    Gemini,
    /// The `tools` of an MCP server's list
    Mcp,
    /// Each tool's own name, and the name that the other forms give it
    Names,
}

fn answer(text: &str) -> Result<(String, Box<RawValue>), String> {
    let (id, value) = text.split_once('=').ok_or("an answer has the form ID=JSON")?;
    let value = RawValue::from_string(value.to_owned()).map_err(|error| format!("not JSON: {error}"))?;
    Ok((id.to_owned(), value))
}

#[cfg(feature = "mcp")]
fn argument(text: &str) -> Result<(String, String), String> {
    let split = text.split_once('=').ok_or_else(|| format!("{text:?} is not of the form NAME=TEXT"))?;
    Ok((split.0.to_owned(), split.1.to_owned()))
}

fn wait(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("{text:?} is not a number of seconds from 0 up"))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
    let duration = moment::seconds(seconds)?;
    if duration.is_zero() {
        Err(format!("{text:?} is not a positive number of seconds"))
    } else {
        Ok(duration)
    }
}
