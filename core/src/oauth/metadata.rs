//! Reads the documents in which servers describe a sign-in. Members of a wrong type count as absent.

use serde_json::{Map, Value};

use super::problem::Problem;

/// What a server says about itself as a protected resource (RFC 9728).
#[derive(Clone, Debug, Default)]
pub(super) struct ResourceMetadata {
    pub(super) resource: Option<String>,
    pub(super) authorization_servers: Vec<String>,
    pub(super) scopes_supported: Vec<String>,
}

/// What an authorisation server says about itself (RFC 8414, OpenID Connect Discovery).
#[derive(Clone, Debug, Default)]
pub(super) struct ServerMetadata {
    /// As written: it is compared byte by byte.
    pub(super) issuer: Option<String>,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: Option<String>,
    pub(super) registration_endpoint: Option<String>,
    pub(super) device_authorization_endpoint: Option<String>,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) scopes_supported: Vec<String>,
    pub(super) code_challenge_methods: Option<Vec<String>>,
    pub(super) auth_methods: Option<Vec<String>>,
    /// Whether `iss` is part of each answer to a request for authorisation.
    pub(super) sends_iss: bool,
    pub(super) takes_client_metadata: bool,
    /// There is no metadata: these are the places of the first version of the specification.
    pub(super) is_guessed: bool,
}

impl ResourceMetadata {
    pub(super) fn read(document: &Value) -> Self {
        let members = Members::of(document);
        ResourceMetadata {
            resource: members.text("resource"),
            authorization_servers: members.texts("authorization_servers").unwrap_or_default(),
            scopes_supported: members.texts("scopes_supported").unwrap_or_default(),
        }
    }
}

impl ServerMetadata {
    pub(super) fn read(document: &Value) -> Self {
        let members = Members::of(document);
        ServerMetadata {
            issuer: members.text("issuer"),
            authorization_endpoint: members.text("authorization_endpoint"),
            token_endpoint: members.text("token_endpoint"),
            registration_endpoint: members.text("registration_endpoint"),
            device_authorization_endpoint: members.text("device_authorization_endpoint"),
            revocation_endpoint: members.text("revocation_endpoint"),
            scopes_supported: members.texts("scopes_supported").unwrap_or_default(),
            code_challenge_methods: members.texts("code_challenge_methods_supported"),
            auth_methods: members.texts("token_endpoint_auth_methods_supported"),
            sends_iss: members.is_true("authorization_response_iss_parameter_supported"),
            takes_client_metadata: members.is_true("client_id_metadata_document_supported"),
            is_guessed: false,
        }
    }

    /// Whether it describes a server that issues tokens.
    pub(super) fn is_usable(&self) -> bool {
        self.token_endpoint.is_some()
    }

    /// Fails if the server does not say that it checks that a code is used by whoever asked for it.
    pub(super) fn check_pkce(&self) -> Result<(), Problem> {
        let methods = self.code_challenge_methods.as_deref();
        if methods.is_some_and(|methods| methods.iter().any(|method| method == "S256")) {
            return Ok(());
        }
        let text = "the authorisation server does not say that it supports PKCE with S256";
        let hint = "if you know that it does, set \"auth.allowMissingPkce\" in a file of your own";
        Err(Problem::refused(text).with_hint(hint))
    }
}

/// The members of a document.
pub(super) struct Members<'a>(Option<&'a Map<String, Value>>);

impl<'a> Members<'a> {
    pub(super) fn of(document: &'a Value) -> Self {
        Members(document.as_object())
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.0?.get(name)
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }

    pub(super) fn texts(&self, name: &str) -> Option<Vec<String>> {
        let items = self.get(name)?.as_array()?;
        Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// A number, or a text that contains one.
    pub(super) fn seconds(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Value::String(text) => text.trim().parse().ok(),
            number => number.as_u64().or_else(|| number.as_f64().map(|it| it.max(0.0) as u64)),
        }
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or(false)
    }
}
