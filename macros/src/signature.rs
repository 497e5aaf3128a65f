//! What the parameters of a tool's function are for.

use quote::ToTokens;
use syn::{Error, FnArg, Ident, Pat, PatIdent, PatType, Result, Signature, Type, TypeReference, parse_quote};

use crate::{
    docs,
    options::{ArgumentOptions, DefaultValue},
};

/// One parameter, in the function's order.
pub(crate) struct Parameter {
    /// The function takes a reference.
    pub(crate) by_reference: bool,
    pub(crate) role: Role,
}

/// Where a parameter's value comes from.
pub(crate) enum Role {
    /// The call's arguments.
    Argument(Box<Argument>),
    /// The call's context.
    Context,
    /// The tool's state, of this type.
    State(Box<Type>),
}

/// A parameter that is an argument of the tool.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    /// The type that is read, which owns its data.
    pub(crate) owned: Type,
    pub(crate) description: Option<String>,
    pub(crate) default: Option<DefaultValue>,
    pub(crate) injected: bool,
}

/// Reads the parameters, and takes off the attributes that rustc would refuse: doc comments and
/// `#[arg(…)]`. These are off even when there is an error, so that the function itself still compiles.
pub(crate) fn parameters(signature: &mut Signature) -> Result<Vec<Parameter>> {
    let allowed = check(signature);
    let mut parameters = Vec::new();
    let mut errors = allowed.err();
    for input in &mut signature.inputs {
        match parameter(input).and_then(|found| alone(found, &parameters, input)) {
            Ok(parameter) => parameters.push(parameter),
            Err(error) => match &mut errors {
                Some(errors) => errors.combine(error),
                None => errors = Some(error),
            },
        }
    }
    errors.map_or(Ok(parameters), Err)
}

/// Refuses a second state.
fn alone(found: Parameter, before: &[Parameter], input: &FnArg) -> Result<Parameter> {
    let is_state = |parameter: &Parameter| matches!(parameter.role, Role::State(_));
    if is_state(&found) && before.iter().any(is_state) {
        return Err(Error::new_spanned(
            input,
            "a tool has one state, and this is the second `&mut` parameter",
        ));
    }
    Ok(found)
}

fn check(signature: &Signature) -> Result<()> {
    let generics = &signature.generics;
    if !generics.params.is_empty() {
        let text = "a tool's function cannot be generic: a model calls it with JSON, which chooses no types; \
                    leave lifetimes out, too";
        return Err(Error::new_spanned(&generics.params, text));
    }
    if let Some(abi) = &signature.abi {
        return Err(Error::new_spanned(abi, "a tool's function has no ABI of its own"));
    }
    if !signature.safety.to_token_stream().is_empty() {
        return Err(Error::new_spanned(&signature.safety, "a tool's function must be safe to call"));
    }
    Ok(())
}

fn parameter(input: &mut FnArg) -> Result<Parameter> {
    let input = match input {
        FnArg::Receiver(receiver) => {
            let text = "a method cannot be a tool: wrap it in a closure with `FunctionTool::new`";
            return Err(Error::new_spanned(receiver, text));
        }
        FnArg::Typed(input) => input,
    };
    let description = docs::description(&input.attrs);
    let options = take_options(input);
    let by_reference = matches!(bare(&input.ty), Type::Reference(_));
    let ArgumentOptions { default, injected } = options?;
    if is_context(&input.ty) {
        return Ok(Parameter { by_reference, role: Role::Context });
    }
    if let Some(state) = state(&input.ty) {
        return Ok(Parameter { by_reference, role: Role::State(Box::new(state.clone())) });
    }
    let (name, owned) = (name(&input.pat)?, owned(&input.ty)?);
    let argument = Box::new(Argument { name, owned, description, default, injected });
    Ok(Parameter { by_reference, role: Role::Argument(argument) })
}

fn take_options(input: &mut PatType) -> Result<ArgumentOptions> {
    let mut options = Ok(ArgumentOptions::default());
    input.attrs.retain(|attribute| {
        if attribute.path().is_ident("arg") {
            options = attribute.parse_args();
        }
        !attribute.path().is_ident("arg") && !attribute.path().is_ident("doc")
    });
    options
}

fn name(pattern: &Pat) -> Result<Ident> {
    match pattern {
        Pat::Ident(PatIdent { by_ref: None, subpat: None, ident, .. }) => Ok(ident.clone()),
        _ => Err(Error::new_spanned(
            pattern,
            "a tool's parameter needs a plain name: it is the argument's name",
        )),
    }
}

/// The type that serde reads for a parameter of type `ty`.
fn owned(ty: &Type) -> Result<Type> {
    match bare(ty) {
        Type::Reference(TypeReference { elem, .. }) => {
            Ok(parse_quote!(<#elem as ::std::borrow::ToOwned>::Owned))
        }
        Type::ImplTrait(_) => Err(Error::new_spanned(
            ty,
            "an argument needs a type that can be read from JSON, not `impl Trait`",
        )),
        _ => Ok(ty.clone()),
    }
}

/// No argument can be `&mut`, so that is what marks the state.
fn state(ty: &Type) -> Option<&Type> {
    match bare(ty) {
        Type::Reference(TypeReference { mutability: Some(_), elem, .. }) => Some(elem),
        _ => None,
    }
}

fn is_context(ty: &Type) -> bool {
    match bare(ty) {
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "CallContext"),
        Type::Reference(TypeReference { mutability: None, elem, .. }) => is_context(elem),
        _ => false,
    }
}

/// The type inside the parentheses that macros put around types.
fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        _ => ty,
    }
}
