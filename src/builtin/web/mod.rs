//! Requests to the web that cannot be talked into reaching what is near: what the tools `http` and `web_search` share.
//!
//! A name is resolved once. Its addresses are judged ([`AddressPolicy`]), and the connection is made to those that
//! passed and to no other, so that a name which answers differently the next time changes nothing. A redirect is a new
//! request that goes the same way, and is followed only where the caller permits it. One deadline covers resolving, connecting, redirects, tries and the body.

mod address;
mod allow;
mod body;
mod canonical;
mod client;
mod config;
mod error;
mod pinned;
mod redirect;
mod request;
mod resolver;
mod response;
mod retry;

pub(crate) use self::canonical::url_doubt;
pub(in crate::builtin) use self::{
    body::essence,
    canonical::{read_url, shown},
};
pub use address::is_public;
pub use allow::{AddressPolicy, AllowError, AllowRule};
pub use body::Body;
pub use client::{MayFollow, WebClient};
pub use config::{ProxyError, WebConfig};
pub use error::WebError;
pub use request::{MOST_HEADERS, WebRequest};
pub use resolver::{NameResolver, SystemResolver};
pub use response::WebResponse;
