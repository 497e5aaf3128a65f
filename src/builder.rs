//! How an engine is put together.

use std::{fmt, sync::Arc, time::Duration};

use tokio::runtime::{Builder, Handle, Runtime};
use toolyard_actors::{
    AgentLimits, CatalogChange, Extension, OverflowConfig, RestartPolicy, RetryPolicy, ToolLimits, YardConfig,
};
use toolyard_contract::{
    ActivationController, IntoTool, PermissionPolicy, PermissionRules, ProviderOptions, RulePolicy,
    ToolProvider,
};

#[cfg(feature = "python")]
use crate::python::setup::PythonSetup;
use crate::{
    Engine,
    config::{Builtins, Config, ConfigError, Settings},
    extensions::OwnExtensions,
    providers::Providers,
    system::{MakeRuntime, StartError, SystemThread},
};

/// Puts an [`Engine`] together. Every setting has a default.
#[derive(Default)]
pub struct EngineBuilder {
    config: YardConfig,
    changes: Vec<CatalogChange>,
    runtime: Option<MakeRuntime>,
    builtins: Builtins,
    providers: Vec<Arc<dyn ToolProvider>>,
    provider_options: ProviderOptions,
    extensions: Vec<Arc<dyn Extension>>,
    #[cfg(feature = "python")]
    pub(crate) python: PythonSetup,
    #[cfg(feature = "mcp")]
    mcp_servers: crate::mcp::setup::McpServers,
    #[cfg(feature = "mcp")]
    mcp_host: toolyard_actors::mcp::McpHost,
    #[cfg(feature = "docker")]
    pub(crate) sandboxes: toolyard_actors::sandbox::SandboxPool,
}

impl EngineBuilder {
    /// Adds a tool, or one that others hold too. Names are compared without case, and must differ.
    #[must_use]
    pub fn tool(mut self, tool: impl IntoTool) -> Self {
        self.changes.push(CatalogChange::Add(tool.into_tool()));
        self
    }

    /// Adds several tools, in order.
    #[must_use]
    pub fn tools(self, tools: impl IntoIterator<Item = impl IntoTool>) -> Self {
        tools.into_iter().fold(self, Self::tool)
    }

    /// Adds a provider, whose tools come when the engine is [started](Engine::start). Of two tools
    /// with one name the engine's own stays, then that of the earlier provider.
    #[must_use]
    pub fn provider(mut self, provider: impl ToolProvider) -> Self {
        self.providers.push(Arc::new(provider));
        self
    }

    /// Adds an extension: a part that lives with the engine and brings it tools. Extensions start in the order in which they
    /// are added, after sandboxes, Python files and MCP servers.
    #[must_use]
    pub fn extension(mut self, extension: impl Extension) -> Self {
        self.extensions.push(Arc::new(extension));
        self
    }

    /// Sets what is passed through to providers when they are asked for their tools. Default: nothing.
    #[must_use]
    pub fn provider_options(mut self, options: ProviderOptions) -> Self {
        self.provider_options = options;
        self
    }

    /// Lets `alias` stand for the tool `name`; a tool that has the alias as its own name wins.
    #[must_use]
    pub fn alias(mut self, alias: impl Into<String>, name: impl Into<String>) -> Self {
        self.changes.push(CatalogChange::Alias(alias.into(), name.into()));
        self
    }

    /// Takes the settings of a configuration, with the built-in tools that it asks for. Calls of the others are
    /// `inactive`.
    ///
    /// What is set after it wins over it.
    ///
    /// # Errors
    /// When it names a tool that is not built in, the folder of the file tools cannot be opened, or an MCP server is not
    /// described in a way that can be used.
    pub fn config(mut self, config: &Config) -> Result<Self, ConfigError> {
        #[cfg(feature = "python")]
        self.python.take(&config.python);
        #[cfg(feature = "mcp")]
        self.mcp_servers.take(&config.mcp)?;
        #[cfg(all(feature = "docker", feature = "python"))]
        self.python.take_sandbox(&config.sandbox.pool_config().sandbox);
        config.apply(&mut self.config);
        #[cfg(feature = "docker")]
        self.sandboxes.configure(config.sandbox.pool_config());
        let (tools, registry) = config.builtins(
            #[cfg(feature = "docker")]
            &self.sandboxes,
        )?;
        for (alias, name) in registry.aliases() {
            self = self.alias(alias, name);
        }
        for name in registry.names().filter(|name| tools.get(name).is_none()) {
            let remedy =
                "name it in `--tools`, or in `enable` in the part [tools] of the configuration".to_owned();
            self.changes.push(CatalogChange::Off { name: name.to_owned(), remedy });
        }
        self.builtins = Builtins { tools: tools.tools().to_vec(), said: config.clone() };
        if !config.permissions.is_empty() {
            warn_of_rules(&config.permissions);
            self = self.permissions(RulePolicy::new(config.permissions.clone())?);
        }
        Ok(self.tools(tools))
    }

    /// Sets how many calls may run at once. Default 16,384.
    #[must_use]
    pub fn max_in_flight(mut self, calls: usize) -> Self {
        self.config.limits.max_in_flight = calls;
        self
    }

    /// Sets how many calls may occupy a thread of the blocking pool. Default 64.
    #[must_use]
    pub fn max_blocking(mut self, calls: usize) -> Self {
        self.config.limits.max_blocking = calls;
        self
    }

    /// Sets how many lists may be under way. Default 10,000.
    #[must_use]
    pub fn max_lists(mut self, lists: usize) -> Self {
        self.config.limits.max_lists = lists;
        self
    }

    /// Sets what one agent may take, where it has no limits of its own. Default: no limit but the
    /// engine's.
    #[must_use]
    pub fn limits_of_each_agent(mut self, limits: AgentLimits) -> Self {
        self.config.limits.agent = limits;
        self
    }

    /// Sets what the agent with this id may take.
    #[must_use]
    pub fn agent_limits(mut self, agent: impl Into<String>, limits: AgentLimits) -> Self {
        self.config.limits.agents.insert(agent.into(), limits);
        self
    }

    /// Sets limits of the tool with this name, over what the tool says itself.
    #[must_use]
    pub fn tool_limits(mut self, tool: impl Into<String>, limits: ToolLimits) -> Self {
        self.config.limits.tools.insert(tool.into(), limits);
        self
    }

    /// Sets how long a call or a list waits to be admitted; then it is `not_started`, or not taken.
    /// Default 30 s.
    #[must_use]
    pub fn admission_timeout(mut self, patience: Duration) -> Self {
        self.config.limits.admission_timeout = patience;
        self
    }

    /// Sets how long a call may take from the start of its work, where neither its tool nor its list
    /// says. Default 300 s; `None`: no limit.
    #[must_use]
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.config.timeout = timeout.into();
        self
    }

    /// Sets how long a whole list may take where it does not say. Default and `None`: no limit.
    #[must_use]
    pub fn deadline(mut self, deadline: impl Into<Option<Duration>>) -> Self {
        self.config.deadline = deadline.into();
        self
    }

    /// Sets how many bytes of one text of a result are handed on; of a longer text the first and the last half of
    /// them, of a longer JSON value a shorter one, which says at each place what is left out. The whole is in a file,
    /// which `detail.full` names: see [`overflow_folder`](Self::overflow_folder). Default 1,000,000.
    #[must_use]
    pub fn max_result_bytes(mut self, bytes: usize) -> Self {
        self.config.max_result_bytes = bytes;
        self
    }

    /// Keeps results that are too large in `folder`, where they stay when the engine ends. An engine that starts with the
    /// same folder removes those that are older than 7 days, then the oldest while they take more than 1 GiB: see
    /// [`overflow`](Self::overflow). Default: a temporary folder that goes with the engine.
    #[must_use]
    pub fn overflow_folder(mut self, folder: impl Into<std::path::PathBuf>) -> Self {
        self.config.overflow.folder = Some(folder.into());
        self
    }

    /// Sets where results that are too large are kept whole, and for how long.
    #[must_use]
    pub fn overflow(mut self, config: OverflowConfig) -> Self {
        self.config.overflow = config;
        self
    }

    /// Sets when a call of an idempotent tool is tried again. Default: never.
    #[must_use]
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.config.retry = policy;
        self
    }

    /// Sets what the chance in the pauses between tries is drawn from.
    #[cfg(feature = "sim")]
    pub(crate) fn retry_seed(mut self, seed: u64) -> Self {
        self.config.retry.seed = Some(seed);
        self
    }

    /// Sets which tools are switched on; several engines may share one controller. Default: all.
    #[must_use]
    pub fn activation(mut self, activation: ActivationController) -> Self {
        self.config.activation = activation;
        self
    }

    /// Lets a policy judge what every call wants to do. Default: none, everything is allowed.
    #[must_use]
    pub fn permissions(mut self, policy: impl PermissionPolicy) -> Self {
        self.config.permissions.policy = Some(Arc::new(policy));
        self
    }

    /// Sets how long a policy that must wait may take; then the call is denied. Default 30 s.
    #[must_use]
    pub fn decide_within(mut self, within: Duration) -> Self {
        self.config.permissions.decide_within = within;
        self
    }

    /// Sets how long a request for an approval or a value stays open. Default 24 h.
    #[must_use]
    pub fn answer_within(mut self, within: Duration) -> Self {
        self.config.permissions.answer_within = within;
        self
    }

    /// Sets what the host does for MCP servers that ask for a model or for the places they may work in. Default:
    /// nothing, and they are told so.
    #[cfg(feature = "mcp")]
    #[must_use]
    pub fn mcp_host(mut self, host: toolyard_actors::mcp::McpHost) -> Self {
        self.mcp_host = host;
        self
    }

    /// Sets how often a tool's actor that died is replaced. Default: 10 times in 60 s.
    #[must_use]
    pub fn restarts(mut self, policy: RestartPolicy) -> Self {
        self.config.restarts = policy;
        self
    }

    /// Forgets agents that have had no list under way for so long, as [`Engine::forget`] does: their rows are gone then,
    /// also from files at the next save. Default and `None`: never.
    #[must_use]
    pub fn forget_idle_agents(mut self, age: impl Into<Option<Duration>>) -> Self {
        self.config.forget_idle_agents = age.into();
        self
    }

    /// Sets how deep tools may submit lists from inside of calls. Default 4.
    #[must_use]
    pub fn child_depth(mut self, depth: usize) -> Self {
        self.config.child_depth = depth;
        self
    }

    /// Sets how many arbiters the engine uses. Default 1; more pay when tools compute.
    #[must_use]
    pub fn arbiters(mut self, arbiters: usize) -> Self {
        self.config.arbiters = arbiters;
        self
    }

    /// Drives tool futures that wait, and blocking bodies, on `handle`'s runtime, where the host's
    /// connections live. Default: the engine's own thread.
    #[must_use]
    pub fn tool_runtime(mut self, handle: Handle) -> Self {
        self.config.tool_runtime = Some(handle);
        self
    }

    /// Makes the runtime of the engine's thread; it must be a current-thread runtime. Default: one
    /// with IO and time. Tests give one whose clock is paused.
    #[must_use]
    pub fn system_runtime(mut self, make: impl FnOnce() -> Runtime + Send + 'static) -> Self {
        self.runtime = Some(Box::new(make));
        self
    }

    /// What an engine is made of, wherever its actors live.
    pub(crate) fn into_parts(self) -> Parts {
        let own = OwnExtensions {
            #[cfg(feature = "docker")]
            sandboxes: self.sandboxes,
            #[cfg(feature = "python")]
            python: self.python.files(),
            #[cfg(feature = "mcp")]
            mcp: self.mcp_servers.pool(self.mcp_host),
        };
        let settings = Settings {
            config: self.config.clone(),
            builtins: self.builtins,
            #[cfg(feature = "mcp")]
            mcp: self.mcp_servers,
        };
        Parts {
            config: self.config,
            changes: self.changes,
            providers: Arc::new(Providers::new(self.providers, self.provider_options)),
            extensions: own.before(self.extensions),
            own,
            settings,
        }
    }

    /// Starts the engine on a thread of its own, imports its Python files, and begins to connect to its MCP servers.
    ///
    /// # Errors
    /// When two tools share a name, a schema cannot be used, an extension cannot start, or there is no thread.
    pub fn build(mut self) -> Result<Engine, StartError> {
        let threads = self.config.limits.max_blocking.saturating_add(8);
        let runtime = self.runtime.take().unwrap_or_else(|| {
            Box::new(move || {
                let built = Builder::new_current_thread().enable_all().max_blocking_threads(threads).build();
                built.expect("an operating system that gives threads and timers")
            })
        });
        let Parts { config, changes, providers, extensions, own, settings } = self.into_parts();
        let (thread, yard) = SystemThread::start(runtime, config, changes, extensions, providers.clone())?;
        Ok(Engine::new(thread, yard, settings, providers, own))
    }
}

/// What an engine is made of.
pub(crate) struct Parts {
    pub(crate) config: YardConfig,
    pub(crate) changes: Vec<CatalogChange>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) extensions: Vec<Arc<dyn Extension>>,
    pub(crate) own: OwnExtensions,
    pub(crate) settings: Settings,
}

impl fmt::Debug for EngineBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineBuilder").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Warns of the rules whose patterns match nothing that there can be: they would deny and ask about nothing.
fn warn_of_rules(rules: &PermissionRules) {
    for rule in &rules.rule {
        let doubt = rule.doubt();
        #[cfg(feature = "http")]
        let doubt = doubt.or_else(|| crate::builtin::web::url_doubt(rule));
        if let Some(doubt) = doubt {
            tracing::warn!("{doubt}");
        }
    }
}
