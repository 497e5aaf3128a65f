//! What is sent in requests for tokens.

use url::form_urlencoded::byte_serialize;

/// What is asked, and which texts in it are secrets.
#[derive(Default)]
pub(super) struct Form {
    text: String,
    secrets: Vec<String>,
}

impl Form {
    pub(super) fn new(grant_type: &str) -> Self {
        let mut form = Self::default();
        form.add("grant_type", grant_type);
        form
    }

    pub(super) fn add(&mut self, name: &str, value: &str) {
        if !self.text.is_empty() {
            self.text.push('&');
        }
        self.text.push_str(name);
        self.text.push('=');
        self.text.push_str(&form_encoded(value));
    }

    pub(super) fn add_scopes(&mut self, scopes: &[String]) {
        if !scopes.is_empty() {
            self.add("scope", &scopes.join(" "));
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Sees to it that a text is never told, also when the authorization server says it back.
    pub(super) fn hide(&mut self, secret: &str) {
        self.secrets.push(secret.to_owned());
    }

    pub(super) fn without_secrets(&self, text: String) -> String {
        let hidden = |text: String, secret: &String| text.replace(secret.as_str(), "…");
        self.secrets.iter().filter(|secret| !secret.is_empty()).fold(text, hidden)
    }
}

/// As values of forms are written.
pub(super) fn form_encoded(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_written_as_browsers_do() {
        let mut form = Form::new("a b");
        form.add("c", "ä&=+~");
        form.add_scopes(&["x".to_owned(), "y".to_owned()]);
        assert_eq!(form.text, "grant_type=a+b&c=%C3%A4%26%3D%2B%7E&scope=x+y");
    }

    #[test]
    fn secrets_are_taken_out_of_what_is_told() {
        let mut form = Form::new("g");
        form.hide("hush");
        assert_eq!(form.without_secrets("bad secret hush, hush".to_owned()), "bad secret …, …");
    }
}
