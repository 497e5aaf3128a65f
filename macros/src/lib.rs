//! The #[tool] attribute of toolyard.
use proc_macro::TokenStream;
/// x
#[proc_macro_attribute]
pub fn tool(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}
