//! Where a server sends a request on.

use reqwest::{
    Method, StatusCode, Url,
    header::{
        ACCEPT, ACCEPT_LANGUAGE, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, HeaderMap, HeaderName,
        LOCATION, USER_AGENT,
    },
};

use super::{
    WebError, WebRequest,
    canonical::{read_url, shown},
};

/// What another server may see of the headers. Any other may be a credential, whatever its name.
const HARMLESS: [HeaderName; 5] = [ACCEPT, ACCEPT_LANGUAGE, CONTENT_LANGUAGE, CONTENT_TYPE, USER_AGENT];

/// Gives the request that follows an answer; `None` when the answer is no redirect.
pub(super) fn follow(
    request: &WebRequest,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<WebRequest>, WebError> {
    let redirects = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = headers.get(LOCATION).filter(|_| redirects) else { return Ok(None) };
    let url = target(&request.url, location.as_bytes())?;
    let mut next = request.clone();
    if !same_origin(&request.url, &url) {
        next.headers = harmless(&request.headers);
    }
    if becomes_get(status, &request.method) {
        next.method = Method::GET;
        next.body.clear();
        next.headers.remove(CONTENT_TYPE);
        next.headers.remove(CONTENT_LANGUAGE);
        next.headers.remove(CONTENT_ENCODING);
    }
    next.url = url;
    Ok(Some(next))
}

fn target(from: &Url, location: &[u8]) -> Result<Url, WebError> {
    let host = || from.host_str().unwrap_or_default().to_owned();
    let bad = |reason: String| WebError::BadRedirect { host: host(), reason };
    let location = std::str::from_utf8(location).map_err(|_| bad("the place is not text".to_owned()))?;
    // Name and password are for the server that they were given for; joining would keep them.
    let url = shown(from).join(location).map_err(|error| bad(error.to_string()))?;
    read_url(url.as_str()).map_err(|error| bad(error.to_string()))
}

fn same_origin(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}

fn harmless(headers: &HeaderMap) -> HeaderMap {
    let kept = headers.iter().filter(|(name, _)| HARMLESS.contains(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// As browsers do: 303 asks for another page, and after a POST so do 301 and 302.
fn becomes_get(status: StatusCode, method: &Method) -> bool {
    match status.as_u16() {
        303 => *method != Method::HEAD,
        301 | 302 => *method == Method::POST,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{AUTHORIZATION, HeaderValue};

    use super::*;

    fn request(method: Method) -> WebRequest {
        let mut request = WebRequest::new(method, Url::parse("https://me:secret@one.example/a/b?q").unwrap());
        request.body = b"{}".to_vec();
        for (name, value) in [(AUTHORIZATION, "s"), (CONTENT_TYPE, "application/json"), (ACCEPT, "*/*")] {
            request.headers.insert(name, HeaderValue::from_static(value));
        }
        request.headers.insert("x-api-key", HeaderValue::from_static("s"));
        request
    }

    fn go(method: Method, status: u16, location: &str) -> Result<Option<WebRequest>, WebError> {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, HeaderValue::from_str(location).unwrap());
        follow(&request(method), StatusCode::from_u16(status).unwrap(), &headers)
    }

    fn names(request: &WebRequest) -> Vec<&str> {
        let mut names: Vec<_> = request.headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn credentials_stay_with_the_origin_that_they_were_given_for() {
        let same = go(Method::PUT, 307, "../c").unwrap().unwrap();
        assert_eq!(same.url.as_str(), "https://one.example/c");
        assert_eq!(names(&same), ["accept", "authorization", "content-type", "x-api-key"]);
        for elsewhere in
            ["https://two.example/", "http://one.example/", "https://one.example:444/", "//two.example"]
        {
            let next = go(Method::PUT, 307, elsewhere).unwrap().unwrap();
            assert_eq!(names(&next), ["accept", "content-type"], "{elsewhere}");
            assert_eq!((next.url.username(), next.url.password()), ("", None));
        }
    }

    #[test]
    fn the_method_changes_as_in_browsers() {
        for (method, status, after) in [
            (Method::POST, 301, Method::GET),
            (Method::POST, 302, Method::GET),
            (Method::POST, 303, Method::GET),
            (Method::PUT, 303, Method::GET),
            (Method::PUT, 302, Method::PUT),
            (Method::POST, 307, Method::POST),
            (Method::POST, 308, Method::POST),
            (Method::HEAD, 303, Method::HEAD),
        ] {
            let next = go(method.clone(), status, "/x").unwrap().unwrap();
            assert_eq!(next.method, after, "{method} {status}");
            assert_eq!(next.body.is_empty(), after == Method::GET, "{method} {status}");
        }
    }

    #[test]
    fn only_a_redirect_to_http_is_followed() {
        assert!(go(Method::GET, 200, "/x").unwrap().is_none());
        assert!(go(Method::GET, 304, "/x").unwrap().is_none());
        assert!(follow(&request(Method::GET), StatusCode::FOUND, &HeaderMap::new()).unwrap().is_none());
        for location in ["file:///etc/passwd", "ftp://h/", "javascript:1", "http://", "http://h:0/"] {
            assert!(
                matches!(go(Method::GET, 302, location), Err(WebError::BadRedirect { .. })),
                "{location}"
            );
        }
    }
}
