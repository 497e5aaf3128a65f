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
    /// What is on a page; `None` when this is something else.
    fn page(result: ServerResult) -> Option<Page<Self>>;
}

/// One page of a list.
pub(super) struct Page<T> {
    items: Vec<T>,
    /// The cursor of the next page.
    next: Option<String>,
    problems: Vec<String>,
}

/// A list, and what is wrong with it, in words for people.
pub(super) struct List<T> {
    pub(super) items: Vec<T>,
    pub(super) problems: Vec<String>,
}

/// Follows the pages of a list to its end. What does not lead on ends the list, and the pages that were had are kept.
///
/// # Errors
/// When the first page is not had, and when the connection breaks: a list that is not had then is had later.
pub(super) async fn list<T: Listed>(link: &Link) -> Result<List<T>, RequestError> {
    let mut list = List { items: Vec::new(), problems: Vec::new() };
    if !T::is_offered(link.offers()) {
        return Ok(list);
    }
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    let end = loop {
        let is_first = cursor.is_none();
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = match link.request(T::request(page)).await {
            Ok(result) => {
                let other = odd_answer(&result);
                let wrong = || RequestError::Refused(format!("the answer is no list, but {other}"));
                T::page(result).ok_or_else(wrong)
            }
            Err(error) => Err(error),
        };
        let Page { items, next, problems } = match page {
            Ok(page) => page,
            Err(RequestError::Refused(reason)) if !is_first => {
                break format!("the next page is not had: {reason}");
            }
            Err(RequestError::Refused(reason)) => {
                return Err(RequestError::Refused(format!("its list of {}: {reason}", T::WHAT)));
            }
            Err(error) => return Err(error),
        };
        list.items.extend(items);
        list.problems.extend(problems);
        match next {
            None => return Ok(list),
            Some(next) if next.is_empty() => break "the place of the next page is empty".to_owned(),
            Some(next) if !seen.insert(next.clone()) => {
                break "a page leads back to an earlier one".to_owned();
            }
            Some(_) if seen.len() > MOST_PAGES => break format!("it has more than {MOST_PAGES} pages"),
            next => cursor = next,
        }
    };
    list.problems.push(format!("its list of {} ends early: {end}", T::WHAT));
    Ok(list)
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
    ($item:ty, $what:literal, $offer:ident, $request:ident, $result:ident, $field:ident) => {
        impl Listed for $item {
            const WHAT: &'static str = $what;

            fn is_offered(offers: &ServerCapabilities) -> bool {
                offers.$offer.is_some()
            }

            fn request(page: PaginatedRequestParams) -> ClientRequest {
                ClientRequest::$request(RequestOptionalParam::with_param(page))
            }

            fn page(result: ServerResult) -> Option<Page<Self>> {
                let ServerResult::$result(page) = result else { return None };
                let problems = odd::problems(page.meta.as_ref());
                Some(Page { items: page.$field, next: page.next_cursor, problems })
            }
        }
    };
}

listed!(Tool, "tools", tools, ListToolsRequest, ListToolsResult, tools);
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
