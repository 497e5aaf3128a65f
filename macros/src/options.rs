//! What may stand in the parentheses of `#[tool(…)]` and `#[arg(…)]`.

use quote::ToTokens;
use syn::{
    Error, Expr, Ident, LitBool, LitStr, Path, Result, Token,
    ext::IdentExt,
    parse::{Parse, ParseStream},
    parse_quote_spanned,
};

/// The options of `#[tool(…)]`.
#[derive(Default)]
pub(crate) struct ToolOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) blocking: Option<LitBool>,
    pub(crate) krate: Option<Path>,
    /// What the state of a row is at first.
    pub(crate) state: Option<Expr>,
    /// Every agent has a row of its own.
    pub(crate) per_agent: Option<LitBool>,
    /// Those that are setters of the spec under the same name.
    pub(crate) setters: Vec<(Ident, Expr)>,
}

const FLAGS: [&str; 4] = ["blocking", "per_agent", "parallel_safe", "idempotent"];
const SETTERS: [&str; 10] = [
    "description",
    "input_schema",
    "output_schema",
    "parallel_safe",
    "idempotent",
    "effects",
    "permission_action",
    "timeout",
    "max_in_flight",
    "plain_text_input",
];

impl ToolOptions {
    /// Tells whether the spec's setter `name` is among the options.
    pub(crate) fn sets(&self, name: &str) -> bool {
        self.setters.iter().any(|(setter, _)| setter == name)
    }

    /// Refuses the options that mean nothing without state.
    pub(crate) fn refuse_state(&self) -> Result<()> {
        let text = "there is no state: a parameter `state: &mut T` is one";
        match (&self.state, &self.per_agent) {
            (Some(state), _) => Err(Error::new_spanned(state, text)),
            (None, Some(per_agent)) => Err(Error::new_spanned(per_agent, text)),
            (None, None) => Ok(()),
        }
    }

    fn add(&mut self, key: Ident, input: ParseStream<'_>) -> Result<()> {
        match key.to_string().as_str() {
            "crate" => {
                input.parse::<Token![=]>()?;
                self.krate = Some(input.call(Path::parse_mod_style)?);
            }
            "name" => {
                input.parse::<Token![=]>()?;
                self.name = Some(name(input)?);
            }
            "blocking" => self.blocking = Some(flag(&key, input)?),
            "per_agent" => self.per_agent = Some(flag(&key, input)?),
            "state" => self.state = Some(value(&key, input)?),
            setter if SETTERS.contains(&setter) => {
                let value = value(&key, input)?;
                self.setters.push((key, value));
            }
            unknown => return Err(Error::new(key.span(), unknown_option(unknown))),
        }
        Ok(())
    }
}

impl Parse for ToolOptions {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        let mut seen: Vec<Ident> = Vec::new();
        while !input.is_empty() {
            let key = input.call(Ident::parse_any)?;
            if seen.contains(&key) {
                return Err(Error::new(key.span(), format!("the option `{key}` is there twice")));
            }
            seen.push(key.clone());
            options.add(key, input)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

fn name(input: ParseStream<'_>) -> Result<LitStr> {
    let name: LitStr = input.parse()?;
    if name.value().trim().is_empty() {
        return Err(Error::new(name.span(), "a tool needs a name that is not blank"));
    }
    Ok(name)
}

/// The value after `=`; a flag may go without.
fn value(key: &Ident, input: ParseStream<'_>) -> Result<Expr> {
    if input.peek(Token![=]) {
        input.parse::<Token![=]>()?;
        return input.parse();
    }
    if FLAGS.iter().any(|flag| key == flag) {
        return Ok(parse_quote_spanned!(key.span()=> true));
    }
    Err(Error::new(key.span(), format!("the option `{key}` needs a value: `{key} = …`")))
}

/// A flag that the macro itself reads.
fn flag(key: &Ident, input: ParseStream<'_>) -> Result<LitBool> {
    syn::parse2(value(key, input)?.into_token_stream())
}

fn unknown_option(unknown: &str) -> String {
    format!(
        "`{unknown}` is no option of a tool; there are name, blocking, state, per_agent, crate, {}",
        SETTERS.join(", ")
    )
}

/// The options of `#[arg(…)]`.
#[derive(Default)]
pub(crate) struct ArgumentOptions {
    pub(crate) default: Option<DefaultValue>,
    pub(crate) injected: bool,
}

/// What a missing argument is.
pub(crate) enum DefaultValue {
    /// The type's own default.
    OfType,
    /// A value.
    Given(Expr),
}

impl Parse for ArgumentOptions {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            match key.to_string().as_str() {
                "injected" => options.injected = true,
                "default" if input.peek(Token![=]) => {
                    input.parse::<Token![=]>()?;
                    options.default = Some(DefaultValue::Given(input.parse()?));
                }
                "default" => options.default = Some(DefaultValue::OfType),
                unknown => {
                    let error =
                        format!("`{unknown}` is no option of an argument; there are default and injected");
                    return Err(Error::new(key.span(), error));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}
