//! Lists that come in pages: tools, prompts, resources, templates.

use std::collections::HashSet;

use rmcp::model::{
    ClientRequest, PaginatedRequestParams, Prompt, RequestOptionalParam, Resource, ResourceTemplate,
    ServerCapabilities, ServerResult, Tool,
};

use super::{link::Link, odd, request_error::RequestError, said::said};

/// How many pages are followed; a server with more is broken.
const MOST_PAGES: usize = 1_000;

/// A kind of thing that a server lists.
pub(super) trait Listed: Sized {
    /// What it is called in errors.
    const WHAT: &'static str;
    /// Tells whether the server has such things at all; one that has none refuses to list them.
    fn is_offered(offers: &ServerCapabilities) -> bool;
    fn request(page: PaginatedRequestParams) -> ClientRequest;
    /// The items of a page and the cursor of the next; `None` when this is something else.
    fn page(result: ServerResult) -> Option<(Vec<Self>, Option<String>)>;
    /// What was left out of a page because it cannot be read.
    fn left_out(result: &ServerResult) -> Vec<String> {
        let _ = result;
        Vec::new()
    }
}

/// Follows the pages of a list to its end.
///
/// A cursor that comes back would lead in circles, so it ends the list with an error.
pub(super) async fn list<T: Listed>(link: &Link) -> Result<Vec<T>, RequestError> {
    list_noting(link, &mut Vec::new()).await
}

/// Follows the pages of a list to its end, and says what was left out of it.
pub(super) async fn list_noting<T: Listed>(
    link: &Link,
    left_out: &mut Vec<String>,
) -> Result<Vec<T>, RequestError> {
    if !T::is_offered(link.offers()) {
        return Ok(Vec::new());
    }
    let wrong = |text: &str| RequestError::Refused(format!("its list of {}: {text}", T::WHAT));
    let mut items = Vec::new();
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let result = link.request(T::request(page)).await?;
        left_out.extend(T::left_out(&result));
        let other = odd_answer(&result);
        let (more, next) =
            T::page(result).ok_or_else(|| wrong(&format!("the answer is no list, but {other}")))?;
        items.extend(more);
        let Some(next) = next else { return Ok(items) };
        if !seen.insert(next.clone()) {
            return Err(wrong("a page leads back to an earlier one"));
        }
        cursor = Some(next);
    }
    Err(wrong("it has too many pages"))
}

/// What an answer is that may be no list.
fn odd_answer(result: &ServerResult) -> String {
    match result {
        ServerResult::CustomResult(other) => said(&other.0.to_string()),
        ServerResult::EmptyResult(_) => "empty".to_owned(),
        _ => "an answer to something else".to_owned(),
    }
}

macro_rules! listed {
    ($item:ty, $what:literal, $offer:ident, $request:ident, $result:ident, $field:ident $(, $noting:path)?) => {
        impl Listed for $item {
            const WHAT: &'static str = $what;

            fn is_offered(offers: &ServerCapabilities) -> bool {
                offers.$offer.is_some()
            }

            fn request(page: PaginatedRequestParams) -> ClientRequest {
                ClientRequest::$request(RequestOptionalParam::with_param(page))
            }

            fn page(result: ServerResult) -> Option<(Vec<Self>, Option<String>)> {
                match result {
                    ServerResult::$result(page) => Some((page.$field, page.next_cursor)),
                    _ => None,
                }
            }

            $(
                fn left_out(result: &ServerResult) -> Vec<String> {
                    match result {
                        ServerResult::$result(page) => $noting(page),
                        _ => Vec::new(),
                    }
                }
            )?
        }
    };
}

listed!(Tool, "tools", tools, ListToolsRequest, ListToolsResult, tools, odd::left_out);
listed!(Prompt, "prompts", prompts, ListPromptsRequest, ListPromptsResult, prompts);
listed!(Resource, "resources", resources, ListResourcesRequest, ListResourcesResult, resources);
listed!(
    ResourceTemplate,
    "resource templates",
    resources,
    ListResourceTemplatesRequest,
    ListResourceTemplatesResult,
    resource_templates
);
