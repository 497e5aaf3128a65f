//! Logins that need nobody: tokens are asked for, kept, and renewed before they end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use reqwest::Url;
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

use super::{
    challenge::Challenge,
    client::Client,
    discovery::{Discovered, discover},
    dpop::is_offered,
    grant::{Grant, obtain},
    id_jag::Idp,
    oauth_http::OAuthHttp,
    refusal::NoToken,
    terms::Terms,
    token_endpoint::Token,
};

/// How long a refusal of the authorization server is believed: whoever is refused and goes on asking is locked out.
const BELIEVED: Duration = Duration::from_secs(30);

/// How long a token that is still good is used before it is tried again to renew it.
const PAUSE: Duration = Duration::from_secs(5);

/// Who a program is at one server, for all connections to it.
pub(super) struct Unattended {
    grant: Grant,
    client: Client,
    terms: Terms,
    url: Url,
    http: Arc<OAuthHttp>,
    idp: Option<Arc<Idp>>,
    /// One request for a token at a time: whoever comes meanwhile gets what it brings.
    state: Mutex<State>,
    /// The server has taken the token that there is.
    is_accepted: AtomicBool,
}

#[derive(Default)]
struct State {
    found: Option<Discovered>,
    /// What the server said is needed besides.
    wanted: Vec<String>,
    token: Option<Token>,
    failed: Option<Failed>,
}

struct Failed {
    at: Instant,
    why: NoToken,
}

impl Unattended {
    /// # Errors
    /// In words, fit for a model.
    pub(super) fn new(grant: Grant, client: Client, terms: Terms, url: &str) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| format!("its URL cannot be used: {error}"))?;
        let http = Arc::new(OAuthHttp::new(&url, terms.private_addresses, true));
        if terms.requires_dpop {
            http.bind();
        }
        let idp = match &grant {
            Grant::IdJag(provider) => Some(Arc::new(Idp::new(provider, terms.private_addresses)?)),
            _ => None,
        };
        let (state, is_accepted) = (Mutex::default(), AtomicBool::new(false));
        Ok(Self { grant, client, terms, url, http, idp, state, is_accepted })
    }

    pub(super) fn http(&self) -> &Arc<OAuthHttp> {
        &self.http
    }

    /// The token to send, renewed when it is about to end; `None` when there is none.
    pub(super) async fn token(&self) -> Option<Token> {
        let came = Instant::now();
        let mut state = self.state.lock().await;
        let is_due = state.token.as_ref().is_some_and(Token::is_to_be_renewed);
        if is_due
            && state.found.is_some()
            && state.fails(came).is_none()
            && !state.pauses()
            && self.renew(&mut state).await.is_ok()
        {
            return state.token.clone();
        }
        // What is left of the old one is used while there is no other.
        state.token.clone().filter(|token| !token.has_ended())
    }

    /// The server took the token that it was shown.
    pub(super) fn accept(&self) {
        self.is_accepted.store(true, Ordering::Relaxed);
    }

    /// Gets a token that fits what the server wants, or waits for whoever does.
    ///
    /// # Errors
    /// In words, fit for a model.
    pub(super) async fn log_in(&self, challenge: Challenge) -> Result<(), String> {
        let came = Instant::now();
        let mut state = self.state.lock().await;
        let token = state.token.as_ref().filter(|token| !token.has_ended()).map(|token| &token.text);
        if token.is_some() && token != challenge.refused.as_ref() {
            // Somebody else was quicker.
            return Ok(());
        }
        if let Some(reason) = state.fails(came) {
            return Err(reason);
        }
        if challenge.header.as_deref().is_some_and(is_offered) {
            self.http.bind();
        }
        match &challenge.scope {
            Some(scope) => {
                let new = scope.split_whitespace().map(str::to_owned);
                let new: Vec<_> = new.filter(|scope| !state.wanted.contains(scope)).collect();
                if new.is_empty() && !state.wanted.is_empty() {
                    return Err("the token that it was given allows too little; check the scopes".to_owned());
                }
                state.wanted.extend(new);
            }
            // A refusal that is believed no more is followed by one more request.
            None if challenge.refused.is_some()
                && state.failed.is_none()
                && !self.is_accepted.load(Ordering::Relaxed) =>
            {
                return Err(state.fail("it does not take the token that its authorization server gave"));
            }
            None => {
                // It may have another authorization server now.
                state.found = None;
                state.token = None;
            }
        }
        if state.found.is_none() {
            let finding = discover(&self.http, &self.url, challenge.header.as_deref());
            let found = timeout(self.terms.patience, finding).await.unwrap_or_else(|_| Err(late()));
            state.found = Some(found.inspect_err(|reason| drop(state.failed_now(reason.clone().into())))?);
        }
        self.renew(&mut state).await
    }

    async fn renew(&self, state: &mut State) -> Result<(), String> {
        let found = state.found.as_ref().ok_or("it has not been asked yet")?;
        let mut scopes =
            if self.terms.scopes.is_empty() { found.scopes.clone() } else { self.terms.scopes.clone() };
        let missing: Vec<_> = state.wanted.iter().filter(|scope| !scopes.contains(scope)).cloned().collect();
        scopes.extend(missing);
        let obtaining = obtain(&self.grant, &self.client, self.idp.as_ref(), &self.http, found, &scopes);
        let obtained = timeout(self.terms.patience, obtaining).await.unwrap_or_else(|_| Err(late().into()));
        let checked = obtained.and_then(|token| {
            if self.terms.requires_dpop && !token.is_bound {
                return Err("its authorization server gave a token that is not bound to a key (DPoP)"
                    .to_owned()
                    .into());
            }
            Ok(token)
        });
        match checked {
            Ok(token) => {
                state.token = Some(token);
                state.failed = None;
                self.is_accepted.store(false, Ordering::Relaxed);
                Ok(())
            }
            Err(why) => Err(state.failed_now(why)),
        }
    }
}

impl State {
    /// Why asking is of no use to somebody who came at `came`.
    fn fails(&self, came: Instant) -> Option<String> {
        let failed = self.failed.as_ref()?;
        let is_shared = failed.at >= came;
        let is_believed = failed.why.is_final && failed.at.elapsed() < BELIEVED;
        (is_shared || is_believed).then(|| failed.why.reason.clone())
    }

    /// Whether a token that is still good is left as it is, because it could not be renewed just now.
    fn pauses(&self) -> bool {
        let is_good = self.token.as_ref().is_some_and(|token| !token.has_ended());
        is_good && self.failed.as_ref().is_some_and(|failed| failed.at.elapsed() < PAUSE)
    }

    fn failed_now(&mut self, why: NoToken) -> String {
        let reason = why.reason.clone();
        self.failed = Some(Failed { at: Instant::now(), why });
        reason
    }

    fn fail(&mut self, reason: &str) -> String {
        self.failed_now(NoToken { reason: reason.to_owned(), is_final: true })
    }
}

fn late() -> String {
    "its authorization server did not answer in time".to_owned()
}

#[cfg(test)]
mod tests {
    use super::{super::client::Proof, *};

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_shared_by_those_who_waited_and_a_refusal_is_believed_for_a_while() {
        let wait = |seconds| tokio::time::advance(Duration::from_secs(seconds));
        for (is_final, believed_s) in [(false, 0), (true, 30)] {
            let mut state = State::default();
            let waited = Instant::now();
            assert_eq!(state.fails(waited), None);
            wait(1).await;
            state.failed_now(NoToken { reason: "no".to_owned(), is_final });
            assert_eq!(state.fails(waited).as_deref(), Some("no"));
            wait(1).await;
            assert_eq!(state.fails(Instant::now()).is_some(), believed_s > 1);
            wait(believed_s).await;
            assert_eq!(state.fails(Instant::now()), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_token_that_is_refused_is_replaced_when_the_refusal_is_believed_no_more() {
        let client = Client { id: "client".to_owned(), proof: Proof::Nothing };
        let patience = Duration::from_secs(1);
        let terms = Terms { scopes: Vec::new(), requires_dpop: false, private_addresses: false, patience };
        // Nothing listens there.
        let login =
            Unattended::new(Grant::ClientCredentials, client, terms, "http://127.0.0.1:1/mcp").unwrap();
        login.state.lock().await.token = Some(Token::lasting("token"));
        let refused = || {
            let refused = Some("token".to_owned());
            login.log_in(Challenge { header: None, scope: None, refused })
        };
        for _ in 0..2 {
            assert!(refused().await.unwrap_err().contains("does not take the token"));
        }
        tokio::time::advance(BELIEVED).await;
        assert!(!refused().await.unwrap_err().contains("does not take the token"));
        assert!(login.token().await.is_none());
    }
}
