//! The code that `#[tool]` writes.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{
    Error, Expr, ExprLit, ItemFn, Lit, Path, Result, ReturnType, Type, ext::IdentExt, parse_quote, parse2,
};

use crate::{
    docs,
    options::{DefaultValue, ToolOptions},
    signature::{Argument, Parameter, Role, parameters},
};

/// Expands `#[tool(options)] item`. Errors come beside the function, so that what uses it gives no
/// errors of its own.
pub(crate) fn expand(options: TokenStream, item: TokenStream, krate: Path) -> TokenStream {
    let Ok(mut function) = parse2::<ItemFn>(item.clone()) else {
        let error = Error::new_spanned(&item, "`#[tool]` makes a tool of a function, and this is not one");
        return [error.into_compile_error(), item].into_iter().collect();
    };
    let parameters = parameters(&mut function.sig);
    let tool = parse2(options).and_then(|options: ToolOptions| {
        let support = options.krate.clone().unwrap_or(krate);
        let support = parse_quote!(#support::macro_support);
        ToolFunction { function: &function, parameters: parameters?, options, support }.tool()
    });
    let tool = tool.unwrap_or_else(Error::into_compile_error);
    quote!(#function #tool)
}

struct ToolFunction<'a> {
    function: &'a ItemFn,
    parameters: Vec<Parameter>,
    options: ToolOptions,
    /// The path of the contract's `macro_support`.
    support: Path,
}

impl ToolFunction<'_> {
    fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.parameters.iter().filter_map(|parameter| match &parameter.role {
            Role::Argument(argument) => Some(&**argument),
            Role::Context | Role::State(_) => None,
        })
    }

    fn is_async(&self) -> bool {
        self.function.sig.asyncness.is_some()
    }

    /// The schema is made from the types.
    fn makes_schema(&self) -> bool {
        !self.options.sets("input_schema")
    }

    /// The type beside the function, with the constructor of the tool.
    fn tool(&self) -> Result<TokenStream> {
        let Self { function, support, .. } = self;
        let (visibility, name) = (&function.vis, &function.sig.ident);
        let about_type = format!("The tool made of the function [`{name}()`].");
        let about_tool = format!("Makes the tool `{}`.", self.name());
        let arguments = self.arguments_type();
        let (kind, tool) = self.constructed()?;
        let conditions = function.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
        let conditions: Vec<_> = conditions.collect();
        Ok(quote! {
            #(#conditions)*
            #[doc = #about_type]
            #[allow(non_camel_case_types)]
            #visibility enum #name {}

            #(#conditions)*
            impl #name {
                #[doc = #about_tool]
                #visibility fn tool() -> #support::#kind {
                    #arguments
                    #tool
                }
            }
        })
    }

    /// The type of the tool, and the expression that makes it.
    fn constructed(&self) -> Result<(TokenStream, TokenStream)> {
        let support = &self.support;
        let constructor = if self.makes_schema() { quote!(new) } else { quote!(with_schema) };
        let (spec, body, quick) = (self.spec(), self.body(), self.quick()?);
        let Some(state) = self.state() else {
            self.options.refuse_state()?;
            let tool = quote!(#support::FunctionTool::#constructor(#spec, #body) #quick);
            return Ok((quote!(FunctionTool), tool));
        };
        let initial = match &self.options.state {
            Some(given) => given.to_token_stream(),
            None => quote!(<#state as ::core::default::Default>::default()),
        };
        let per_agent =
            self.options.per_agent.as_ref().filter(|flag| flag.value).map(|_| quote!(.per_agent()));
        let tool = quote! {
            #support::StatefulFunction::<#state>::#constructor(#spec, |_| { #initial }, #body)
                #per_agent
                #quick
        };
        Ok((quote!(StatefulFunction<#state>), tool))
    }

    fn state(&self) -> Option<&Type> {
        self.parameters.iter().find_map(|parameter| match &parameter.role {
            Role::State(state) => Some(&**state),
            Role::Argument(_) | Role::Context => None,
        })
    }

    fn name(&self) -> String {
        match &self.options.name {
            Some(name) => name.value(),
            None => self.function.sig.ident.unraw().to_string(),
        }
    }

    /// The type that the arguments are read into, and the functions that give their defaults.
    fn arguments_type(&self) -> TokenStream {
        let support = &self.support;
        let fields = self.arguments().map(|argument| field(argument, self.makes_schema()));
        let defaults = self.arguments().filter_map(default_function);
        let serde = quote!(#support::serde).to_string();
        let schemars = quote!(#support::schemars).to_string();
        let schema = self
            .makes_schema()
            .then(|| quote!(#[derive(#support::JsonSchema)] #[schemars(crate = #schemars)]));
        quote! {
            #(#defaults)*
            #[derive(#support::Deserialize)]
            #[serde(crate = #serde)]
            #schema
            #[allow(non_snake_case)]
            struct __Arguments { #(#fields)* }
        }
    }

    fn spec(&self) -> TokenStream {
        let support = &self.support;
        let name = self.name();
        let described = self.options.sets("description");
        let comment = docs::description(&self.function.attrs).filter(|_| !described);
        let description = comment.map(|text| quote!(.description(#text)));
        let setters = self.options.setters.iter().map(|(setter, value)| quote!(.#setter(#value)));
        let injected: Vec<String> =
            self.arguments().filter(|argument| argument.injected).map(Argument::json_name).collect();
        let injected = (!injected.is_empty()).then(|| quote!(.injected([#(#injected),*])));
        let checks = self.checks_arguments();
        quote!(#support::ToolSpec::new(#name) #description #(#setters)* #injected #checks)
    }

    /// Reading the arguments is as good as a check where each type is exact.
    fn checks_arguments(&self) -> Option<TokenStream> {
        let support = &self.support;
        let exact = self.arguments().map(|Argument { owned, .. }| quote!(#support::Probe::<#owned>::EXACT));
        self.makes_schema().then(|| {
            quote!(.checks_arguments({
                #[allow(unused_imports)]
                use #support::Inexact as _;
                [#(#exact),*].into_iter().all(|exact: bool| exact)
            }))
        })
    }

    /// The closure from arguments and context, and state where there is one, to the function's answer.
    fn body(&self) -> TokenStream {
        let Self { function, support, .. } = self;
        let (arguments, context, state) = (local("_arguments"), local("_context"), local("state"));
        let values = self.parameters.iter().map(|Parameter { by_reference, role }| {
            let and = by_reference.then(|| quote!(&));
            match role {
                Role::Argument(argument) => {
                    let name = &argument.name;
                    quote!(#and #arguments.#name)
                }
                Role::Context => quote!(#and #context),
                Role::State(_) if self.is_async() => quote!(&mut #state),
                Role::State(_) => quote!(#state),
            }
        });
        let name = &function.sig.ident;
        let call = quote!(#name(#(#values),*));
        let conversion = self.conversion();
        let parameters = quote!(#arguments: __Arguments, #context: #support::CallContext);
        match (self.state(), self.is_async()) {
            (None, false) => quote!(|#parameters| #conversion(#call)),
            (None, true) => quote!(|#parameters| async move { #conversion(#support::send(#call).await) }),
            (Some(ty), false) => quote!(|#state: &mut #ty, #parameters| #conversion(#call)),
            (Some(ty), true) => quote!(|mut #state: #ty, #parameters| async move {
                let answer = #conversion(#support::send(#call).await);
                (answer, #state)
            }),
        }
    }

    /// The conversion of the answer. It names the return type as the user wrote it, because that is
    /// where an error must point.
    fn conversion(&self) -> TokenStream {
        let support = &self.support;
        match &self.function.sig.output {
            ReturnType::Type(_, ty) if !matches!(**ty, Type::ImplTrait(_)) => {
                quote!(<#ty as #support::IntoReturn>::into_return)
            }
            _ => quote!(#support::IntoReturn::into_return),
        }
    }

    fn quick(&self) -> Result<Option<TokenStream>> {
        match &self.options.blocking {
            Some(blocking) if blocking.value && self.is_async() => {
                let text = "an async function waits instead of blocking: leave out `async` or `blocking`";
                Err(Error::new_spanned(blocking, text))
            }
            Some(blocking) if !blocking.value => Ok(Some(quote!(.quick()))),
            _ => Ok(None),
        }
    }
}

impl Argument {
    fn json_name(&self) -> String {
        self.name.unraw().to_string()
    }

    fn default_name(&self) -> Ident {
        format_ident!("__default_{}", self.name.unraw())
    }
}

fn field(argument: &Argument, described: bool) -> TokenStream {
    let Argument { name, owned, .. } = argument;
    let description = argument.description.as_ref().filter(|_| described);
    let description = description.map(|text| quote!(#[schemars(description = #text)]));
    let default = argument.default.as_ref().map(|default| match default {
        DefaultValue::OfType => quote!(#[serde(default)]),
        DefaultValue::Given(_) => {
            let function = argument.default_name().to_string();
            quote!(#[serde(default = #function)])
        }
    });
    quote!(#description #default #name: #owned,)
}

fn default_function(argument: &Argument) -> Option<TokenStream> {
    let Some(DefaultValue::Given(value)) = &argument.default else { return None };
    let (name, owned) = (argument.default_name(), &argument.owned);
    let value = match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => quote!(::core::convert::Into::into(#text)),
        other => other.to_token_stream(),
    };
    Some(quote! {
        #[allow(non_snake_case)]
        fn #name() -> #owned { #value }
    })
}

/// A name that the user's names cannot meet.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_goes_through_the_crate_that_the_attribute_came_from() {
        let item = quote! {
            async fn f(#[arg(default = 1)] n: i64, context: CallContext) -> i64 { n }
        };
        let code = expand(quote!(parallel_safe), item, parse_quote!(::toolyard)).to_string();
        let starts = |path: &str| code.matches(path).count();
        assert_eq!(starts("macro_support"), starts(":: toolyard :: macro_support"));
        assert!(starts("macro_support") > 5 && starts("toolyard_contract") == 0, "{code}");
    }
}
