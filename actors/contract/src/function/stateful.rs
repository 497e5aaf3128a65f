//! Tools made of functions that have inner state.

use std::{fmt, sync::Arc};

use serde::de::DeserializeOwned;

use super::StateFunction;
use crate::{
    Execution, IntoTool, Invocation, StateScope, StateWork, Stateful, StatefulTool, Tool, ToolSpec, ToolState,
};

/// A tool with inner state whose work is a function.
///
/// A plain function takes `&mut State` first, then its arguments, then the
/// [`CallContext`](crate::CallContext) if it wants that. An async one takes the state itself and gives back
/// `(answer, state)`. What they do to the state counts only when the call is `ok`.
///
/// As with [`FunctionTool`](crate::FunctionTool), a plain function runs on the blocking pool unless
/// it is [`quick`](Self::quick).
///
/// ```
/// use std::collections::BTreeMap;
/// use toolyard_contract::{IntoTool, StatefulFunction, ToolSpec};
///
/// type Add = BTreeMap<String, u64>;
/// let total = StatefulFunction::with_schema(
///     ToolSpec::new("total"),
///     |_agent| 0,
///     |total: &mut u64, add: Add| {
///         *total += add.values().sum::<u64>();
///         *total
///     },
/// );
/// let tool = total.per_agent().quick().into_tool();
/// assert!(tool.state().is_some());
/// ```
pub struct StatefulFunction<S> {
    spec: ToolSpec,
    scope: StateScope,
    state_type: Option<String>,
    initial: Initial<S>,
    work: Work<S>,
}

type Initial<S> = Box<dyn Fn(Option<&str>) -> S + Send + Sync>;
type Work<S> = Box<dyn Fn(Invocation, S, Execution) -> StateWork<S> + Send + Sync>;

impl<S: ToolState> StatefulFunction<S> {
    /// Makes a tool of a function whose arguments are a type; their schema is the type's, unless
    /// `spec` has one. `initial` makes the state of a row, for an agent where rows are per agent.
    #[cfg(feature = "macros")]
    pub fn new<Shape, F>(
        mut spec: ToolSpec,
        initial: impl Fn(Option<&str>) -> S + Send + Sync + 'static,
        function: F,
    ) -> Self
    where
        F: StateFunction<Shape, State = S>,
        F::Args: DeserializeOwned + schemars::JsonSchema,
    {
        super::schema::fill::<F::Args>(&mut spec);
        Self::with_schema(spec, initial, function)
    }

    /// Makes a tool of a function whose arguments have the schema that `spec` says.
    pub fn with_schema<Shape, F>(
        mut spec: ToolSpec,
        initial: impl Fn(Option<&str>) -> S + Send + Sync + 'static,
        function: F,
    ) -> Self
    where
        F: StateFunction<Shape, State = S>,
        F::Args: DeserializeOwned,
    {
        if F::EXECUTION == Execution::Blocking {
            spec.execution = Execution::Blocking;
        }
        let function = Arc::new(function);
        let work =
            move |invocation, state, execution| Arc::clone(&function).work(invocation, state, execution);
        Self {
            spec,
            scope: StateScope::Engine,
            state_type: None,
            initial: Box::new(initial),
            work: Box::new(work),
        }
    }

    /// Gives each agent a row of its own.
    #[must_use]
    pub fn per_agent(mut self) -> Self {
        self.scope = StateScope::Agent;
        self
    }

    /// Says what the type of the state is called in state files: [`StatefulTool::state_type`].
    #[must_use]
    pub fn state_type(mut self, name: impl Into<String>) -> Self {
        self.state_type = Some(name.into());
        self
    }

    /// Runs the function where the state lives, instead of on the blocking pool.
    ///
    /// For functions that neither block nor compute for long: while one runs, all rows beside its own wait.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.spec.execution = Execution::Async;
        self
    }
}

impl<S: ToolState> StatefulTool for StatefulFunction<S> {
    type State = S;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn scope(&self) -> StateScope {
        self.scope
    }

    fn state_type(&self) -> Option<&str> {
        self.state_type.as_deref()
    }

    fn initial(&self, agent: Option<&str>) -> S {
        (self.initial)(agent)
    }

    fn work(self: Arc<Self>, invocation: Invocation, state: S) -> StateWork<S> {
        (self.work)(invocation, state, self.spec.execution)
    }
}

impl<S: ToolState> IntoTool for StatefulFunction<S> {
    fn into_tool(self) -> Arc<dyn Tool> {
        Arc::new(Stateful::new(self))
    }
}

impl<S> fmt::Debug for StatefulFunction<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatefulFunction").field("spec", &self.spec).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use futures::executor::block_on;

    use super::*;
    use crate::{CallContext, IntoReturn, Outcome, ToolReturn};

    type Add = BTreeMap<String, u64>;

    fn work(tool: StatefulFunction<u64>, arguments: &str, state: u64) -> (ToolReturn, u64) {
        match Arc::new(tool).work(Invocation::detached(arguments), state) {
            StateWork::Done(returned, state) => (returned, state),
            StateWork::Blocks(blocks) => blocks(),
            StateWork::Waits(waits) => block_on(waits),
        }
    }

    fn tool<Shape, F: StateFunction<Shape, State = u64>>(function: F) -> StatefulFunction<u64> {
        StatefulFunction::with_schema(ToolSpec::new("total"), |_| 0, function)
    }

    fn add(total: &mut u64, add: &Add) -> u64 {
        *total += add.values().sum::<u64>();
        *total
    }

    #[test]
    fn functions_of_every_shape_work_on_state() {
        let arguments = r#"{"a": 1, "b": 2}"#;
        let expected = (3_u64.into_return(), 3);
        assert_eq!(work(tool(|total: &mut u64, given: Add| add(total, &given)), arguments, 0), expected);
        let with_context = |total: &mut u64, given: Add, _: CallContext| add(total, &given);
        assert_eq!(work(tool(with_context), arguments, 0), expected);
        let later = async |mut total: u64, given: Add| (add(&mut total, &given), total);
        assert_eq!(work(tool(later), arguments, 0), expected);
        let later_with_context = |mut total: u64, given: Add, _: CallContext| async move {
            (Ok::<_, String>(add(&mut total, &given)), total)
        };
        assert_eq!(work(tool(later_with_context), arguments, 0), expected);
        assert_eq!(work(tool(|total: &mut u64| *total), "{}", 3), expected);
        assert_eq!(work(tool(async |total: u64| (total, total)), "{}", 3), expected);
    }

    #[test]
    fn a_plain_function_blocks_unless_it_is_quick() {
        let start = |tool: StatefulFunction<u64>| Arc::new(tool).work(Invocation::detached("{}"), 0);
        let plain = |total: &mut u64| *total;
        assert_eq!(tool(plain).spec().execution, Execution::Blocking);
        assert!(matches!(start(tool(plain)), StateWork::Blocks(_)));
        assert!(matches!(start(tool(plain).quick()), StateWork::Done(..)));
        assert!(matches!(start(tool(async |total: u64| (total, total))), StateWork::Waits(_)));
    }

    #[test]
    fn arguments_that_do_not_fit_leave_the_state_alone() {
        let plain = |total: &mut u64, _: Add| *total += 1;
        let later = async |total: u64, _: Add| (total, total + 1);
        for tool in [tool(plain), tool(plain).quick(), tool(later)] {
            let (returned, state) = work(tool, r#"{"a": "x"}"#, 7);
            assert_eq!((returned.unwrap_err().outcome, state), (Outcome::BadArguments, 7));
        }
    }

    #[test]
    fn rows_begin_as_the_tool_says_for_each_agent() {
        let spec = ToolSpec::new("greet");
        let initial = |agent: Option<&str>| agent.unwrap_or("nobody").to_owned();
        let tool = StatefulFunction::with_schema(spec, initial, |name: &mut String| name.clone()).per_agent();
        assert_eq!(tool.scope(), StateScope::Agent);
        assert_eq!(tool.initial(Some("ada")), "ada");
        assert_eq!(tool.initial(None), "nobody");
        assert!(tool.into_tool().state().is_some());
    }
}
