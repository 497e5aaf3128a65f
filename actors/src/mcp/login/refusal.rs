//! Why there is no token.

use serde_json::Value;

/// How much of what an authorization server says is told, in characters.
const MOST_CODE: usize = 64;
const MOST_DESCRIPTION: usize = 200;

/// Why there is no token.
#[derive(Debug, PartialEq)]
pub(super) struct NoToken {
    /// In words, fit for a model, with what to do.
    pub(super) reason: String,
    /// The authorization server said no: asking again soon is of no use.
    pub(super) is_final: bool,
}

impl From<String> for NoToken {
    fn from(reason: String) -> Self {
        Self { reason, is_final: false }
    }
}

/// Says what an authorization server refused, and what to do.
pub(super) fn refusal(status: u16, body: &Value) -> NoToken {
    let Some(code) = body["error"].as_str() else {
        let reason = format!("the authorization server gave no token (HTTP {status})");
        return NoToken { reason, is_final: false };
    };
    let advice = match code {
        "invalid_client" => "check the client id and its secret or key",
        "invalid_grant" => {
            "check that the assertion or token has not ended and is for this authorization server"
        }
        "invalid_scope" => "check the scopes",
        "unauthorized_client" | "unsupported_grant_type" | "access_denied" => {
            "the authorization server must allow this client this kind of login"
        }
        "invalid_target" => "check the server's address",
        _ => "ask who runs the authorization server",
    };
    let code = told(code, MOST_CODE);
    let said = body["error_description"].as_str().map(|text| told(text, MOST_DESCRIPTION));
    let said = said.filter(|said| !said.is_empty()).map(|said| format!(": {said}")).unwrap_or_default();
    let is_passing = matches!(code.as_str(), "temporarily_unavailable" | "slow_down" | "server_error");
    NoToken {
        reason: format!("the authorization server refused: {code}{said}; {advice}"),
        is_final: !is_passing && status < 500,
    }
}

/// Foreign text on one line, cut.
fn told(text: &str, most: usize) -> String {
    text.chars()
        .map(|one| if one.is_control() { ' ' } else { one })
        .take(most)
        .collect::<String>()
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_says_what_to_do_is_bounded_and_tells_no_secret() {
        let body =
            json!({"error": "invalid_client", "error_description": format!("no\n{}", "x".repeat(900))});
        let refused = refusal(401, &body);
        assert!(refused.is_final && refused.reason.len() < 400, "{refused:?}");
        assert!(refused.reason.starts_with("the authorization server refused: invalid_client: no xxx"));
        assert!(refused.reason.ends_with("; check the client id and its secret or key"));
        for (status, body) in [
            (503, json!({"error": "invalid_client"})),
            (400, json!({"error": "temporarily_unavailable"})),
            (502, json!(null)),
        ] {
            assert!(!refusal(status, &body).is_final, "{body}");
        }
    }
}
