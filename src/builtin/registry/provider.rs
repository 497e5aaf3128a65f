//! The registry as a source of tools like any other.

use futures::future::{BoxFuture, ready};
use serde_json::Value;
use toolyard_contract::{
    CustomTail, ProviderError, ProviderOptions, Resolved, SharedTool, ToolProvider, ToolSet, name,
};

use super::BuiltinRegistry;

impl BuiltinRegistry {
    /// Adds tools of the host's own that the registry gives as a provider; under one name they win over registered ones.
    #[must_use]
    pub fn custom_tools(mut self, tools: impl IntoIterator<Item = SharedTool>) -> Self {
        self.custom.extend(tools);
        self
    }

    /// Makes the tools that `names` stand for, with those of [`custom_tools`](Self::custom_tools) and `custom`. Without
    /// names all registered tools are meant, with an empty list none. See [`ToolSet::resolve`].
    pub fn resolve(&self, names: Option<&[&str]>, custom: &[SharedTool], tail: CustomTail) -> Resolved {
        let custom: Vec<_> = self.custom.iter().chain(custom).cloned().collect();
        ToolSet::resolve(names, &custom, self, tail)
    }

    fn given(&self, options: &ProviderOptions) -> Result<Vec<SharedTool>, ProviderError> {
        let names = texts(options, "names")?;
        let tail = match options.get("custom_tools").map(|said| said.as_str().unwrap_or_default()) {
            None | Some("append") => CustomTail::Append,
            Some("omit") => CustomTail::Omit,
            Some(_) => {
                let text = "option \"custom_tools\" must be \"append\" or \"omit\"";
                return Err(ProviderError::new(text));
            }
        };
        let Resolved { set, missing, failed } = self.resolve(names.as_deref(), &[], tail);
        if let Some(missing) = missing.first() {
            let hint = name::alternatives(missing, self.names());
            let text = format!("option \"names\": no built-in tool is named {missing:?}; there is: {hint}");
            return Err(ProviderError::new(text));
        }
        for (tool, reason) in failed {
            if names.is_some() {
                return Err(ProviderError::new(format!("tool {tool:?} cannot be made: {reason}")));
            }
            // Nobody asked for it by name, so it keeps none of the others out.
            tracing::warn!(tool, %reason, "a built-in tool cannot be made");
        }
        Ok(set.tools().to_vec())
    }
}

/// A list of texts; `None` where nothing is said.
fn texts<'a>(options: &'a ProviderOptions, key: &str) -> Result<Option<Vec<&'a str>>, ProviderError> {
    let said = match options.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(said) => said.as_array().map(|items| items.iter().map(Value::as_str).collect()),
    };
    match said {
        Some(Some(texts)) => Ok(Some(texts)),
        _ => Err(ProviderError::new(format!("option {key:?} must be a list of names"))),
    }
}

/// Gives its tools by these options: `names`, a list (default: all registered tools; an empty list: none of them), and
/// `custom_tools`, `"append"` (the default) or `"omit"` for custom tools that no name asked for.
impl ToolProvider for BuiltinRegistry {
    fn name(&self) -> &'static str {
        "builtin"
    }

    fn get_tools<'a>(
        &'a self,
        options: &'a ProviderOptions,
    ) -> BoxFuture<'a, Result<Vec<SharedTool>, ProviderError>> {
        Box::pin(ready(self.given(options)))
    }
}
