//! Descriptions from doc comments.

use syn::{Attribute, Expr, ExprLit, Lit, Meta, MetaNameValue};

/// Joins the doc comments among `attributes`, up to the first heading; `None` when there is no text.
pub(crate) fn description(attributes: &[Attribute]) -> Option<String> {
    let comment: Vec<String> = attributes.iter().filter_map(comment).collect();
    let lines =
        comment.iter().flat_map(|text| text.lines()).map(|line| line.strip_prefix(' ').unwrap_or(line));
    let text: Vec<&str> = lines.take_while(|line| !is_heading(line)).collect();
    let text = text.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn comment(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(MetaNameValue {
            path,
            value: Expr::Lit(ExprLit { lit: Lit::Str(text), .. }),
            ..
        }) if path.is_ident("doc") => Some(with_blank_line_kept(text.value())),
        _ => None,
    }
}

/// `str::lines` gives no line for an empty text, but an empty comment is one.
fn with_blank_line_kept(text: String) -> String {
    if text.is_empty() { "\n".to_owned() } else { text }
}

fn is_heading(line: &str) -> bool {
    line.starts_with('#') && line.trim_start_matches('#').starts_with(' ')
}

#[cfg(test)]
mod tests {
    use syn::{ItemFn, parse_quote};

    use super::*;

    fn described(function: &ItemFn) -> Option<String> {
        description(&function.attrs)
    }

    #[test]
    fn the_description_is_the_comment_up_to_its_first_heading() {
        let function = parse_quote! {
            /// Adds.
            ///
            /// Two numbers,
            ///   exactly. #1
            ///
            /// # Errors
            /// When they are too big.
            fn add() {}
        };
        assert_eq!(described(&function).unwrap(), "Adds.\n\nTwo numbers,\n  exactly. #1");
    }

    #[test]
    fn without_a_comment_there_is_no_description() {
        assert_eq!(described(&parse_quote! { #[doc(hidden)] #[inline] fn add() {} }), None);
        assert_eq!(described(&parse_quote! { /** */ fn add() {} }), None);
        assert_eq!(
            described(&parse_quote! { /// # Panics
            fn add() {} }),
            None
        );
    }
}
