//! Declares how we show a server who we are. `resolve` expands the references, `oauth` signs in.
//! Invariant: no secret of it is printed.

use indexmap::IndexMap;
use serde_json::Value;

use super::codec::{OneOf, SecretText, Switch, Text, keywords};
use super::field::{Codec, config_fields, names_of};
use super::reader::FieldReader;
use super::shape::{Object, ValueShape};
use crate::error::Result;
use crate::redact::Secret;

config_fields! {
    /// How we show a server who we are.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AuthConfig: with_defaults() {
        /// The kind of sign-in: `oauth`, a fixed token (`bearer`), or `none`, which also keeps a server on the network from
        /// asking for one.
        kind "type": AuthType as OneOf<AuthType> = AuthType::OAuth;
        /// The name of the stored login, for several accounts at one server; a program gets its token as
        /// `OAUTH_ACCESS_TOKEN`.
        credential_id "credentialId": Option<String> as Text = None;
        /// The token, for `bearer`.
        token "token": Option<Secret> as SecretText = None;
        /// The variable that holds the token, for `bearer`.
        token_env "tokenEnv": Option<String> as Text = None;
        /// How the token is got: `authorizationCode` and `deviceCode` ask a person, the others do not.
        grant "grant": Grant as OneOf<Grant> = Grant::AuthorizationCode;
        /// The id of a client that is registered already. Then none is registered.
        client_id "clientId": Option<String> as Text = None;
        /// Its secret.
        client_secret "clientSecret": Option<Secret> as SecretText = None;
        /// Its private key in PEM form (PKCS#8), for `clientCredentials`.
        private_key "privateKey": Option<Secret> as SecretText = None;
        /// The address of a client id metadata document, which takes the place of a registration where the server
        /// supports it.
        client_metadata_url "clientMetadataUrl": Option<String> as Text = None;
        /// The scopes to ask for, besides those that the server names.
        scopes "scopes": Vec<String> as ScopeList = Vec::new();
        /// The resource that the token is for: `omit` leaves it out; otherwise the text as written. Not from a project.
        resource "resource": Option<String> as Text = None, "the resource that the server names";
        /// The issuer that must have issued the token, whatever the server says. Not from a project.
        issuer "issuer": Option<String> as Text = None, "what the server names";
        /// Further parameters of the requests for authorisation and for tokens, such as `audience`. Not from a project.
        params "params": IndexMap<String, Secret> as Params = IndexMap::new();
        /// The host of the address that the browser returns to: some servers want one spelling of it.
        callback_host "callbackHost": CallbackHost as OneOf<CallbackHost> = CallbackHost::V4;
        /// Its port.
        callback_port "callbackPort": Option<u16> as Port = None, "any that is free";
        /// Whether the authorisation server may have a private address although the server itself has a public one. Not
        /// from a project.
        allow_private_addresses "allowPrivateAddresses": bool as Switch = false;
        /// Whether an authorisation server that does not name its issuer is accepted. Not from a project.
        allow_missing_issuer "allowMissingIssuer": bool as Switch = false;
        /// Whether an authorisation server that does not say that it supports PKCE is used. Not from a project.
        allow_missing_pkce "allowMissingPkce": bool as Switch = false;
        /// Whether tokens are bound to a key of ours (DPoP): where the server asks for it, always, or never.
        dpop "dpop": Dpop as OneOf<Dpop> = Dpop::Auto;
        /// The assertion of the platform that we run on, for `jwtBearer`.
        assertion "assertion": Option<Secret> as SecretText = None;
        /// The identity provider of the company, for `enterprise`.
        idp "idp": Option<IdentityProvider> as IdentityProviderObject = None;
    }
}

impl AuthConfig {
    /// The texts that may contain references.
    pub(crate) fn texts(&self) -> Vec<&str> {
        let plain = [
            &self.credential_id,
            &self.token_env,
            &self.client_id,
            &self.client_metadata_url,
            &self.resource,
            &self.issuer,
        ];
        let secret = [&self.token, &self.client_secret, &self.private_key, &self.assertion];
        let idp = self.idp.iter().flat_map(|idp| [&idp.client_secret, &idp.id_token]);
        let secrets = secret.into_iter().chain(idp).flatten().chain(self.params.values());
        let idp = self.idp.iter().flat_map(|idp| [&idp.token_endpoint, &idp.client_id]);
        let plain = plain.into_iter().chain(idp).flatten().map(String::as_str);
        plain.chain(secrets.map(Secret::expose)).collect()
    }
}

impl Default for AuthConfig {
    fn default() -> Self {
        AuthConfig::with_defaults()
    }
}

keywords! {
    /// The kind of a sign-in.
    pub enum AuthType {
        /// OAuth.
        OAuth "oauth",
        /// A fixed token.
        Bearer "bearer",
        /// None.
        None "none",
    }
}

keywords! {
    /// How a token is got.
    pub enum Grant {
        /// A person signs in with a browser on this machine.
        AuthorizationCode "authorizationCode",
        /// A person signs in with a browser on any machine, and types a code.
        DeviceCode "deviceCode",
        /// The client signs in by itself, with `clientSecret` or `privateKey`.
        ClientCredentials "clientCredentials",
        /// The platform that we run on vouches for us, with `assertion`.
        JwtBearer "jwtBearer",
        /// The identity provider of the company vouches for the user, with `idp`.
        Enterprise "enterprise",
    }
}

keywords! {
    /// The host of the address that a browser returns to.
    pub enum CallbackHost {
        /// By its address.
        V4 "127.0.0.1",
        /// By its name.
        Localhost "localhost",
    }
}

keywords! {
    /// Whether tokens are bound to a key of ours.
    pub enum Dpop {
        /// Where the server asks for it.
        Auto "auto",
        /// Always.
        Always "always",
        /// Never.
        Never "never",
    }
}

config_fields! {
    /// The identity provider of a company.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct IdentityProvider: with_defaults() {
        /// Its token endpoint.
        token_endpoint "tokenEndpoint": Option<String> as Text = None;
        /// Our client id there.
        client_id "clientId": Option<String> as Text = None;
        /// Our secret there.
        client_secret "clientSecret": Option<Secret> as SecretText = None;
        /// The user's ID token.
        id_token "idToken": Option<Secret> as SecretText = None;
    }
}

impl Default for IdentityProvider {
    fn default() -> Self {
        IdentityProvider::with_defaults()
    }
}

/// The object `auth`.
pub(super) struct AuthObject;

impl Codec for AuthObject {
    type Value = Option<AuthConfig>;
    const SHAPE: ValueShape = ValueShape::Object(&Object {
        name: "ServerAuth",
        about: "How we show a server who we are.",
        rows: AuthConfig::ROWS,
        is_open: false,
    });

    fn read(
        reader: &mut FieldReader<'_>,
        key: &str,
        default: Option<AuthConfig>,
    ) -> Result<Option<AuthConfig>> {
        let object = match reader.take(key) {
            None => return Ok(default),
            Some(Value::Object(object)) => object,
            Some(_) => return Err(reader.error(&format!("\"{key}\" must be an object"))),
        };
        let mut reader = reader.nested(key, object);
        let auth = AuthConfig::read(&mut reader)?;
        reader.finish(names_of(AuthConfig::ROWS));
        Ok(Some(auth).filter(|auth| *auth != AuthConfig::default()))
    }

    fn write(value: &Option<AuthConfig>) -> Value {
        value.as_ref().map(|auth| auth.write().into()).unwrap_or_default()
    }
}

struct IdentityProviderObject;

impl Codec for IdentityProviderObject {
    type Value = Option<IdentityProvider>;
    const SHAPE: ValueShape = ValueShape::Object(&Object {
        name: "IdentityProvider",
        about: "The identity provider of a company.",
        rows: IdentityProvider::ROWS,
        is_open: false,
    });

    fn read(
        reader: &mut FieldReader<'_>,
        key: &str,
        default: Option<IdentityProvider>,
    ) -> Result<Option<IdentityProvider>> {
        let Some(object) = reader.object(key) else { return Ok(default) };
        let mut reader = reader.nested(key, object);
        let provider = IdentityProvider::read(&mut reader)?;
        reader.finish(names_of(IdentityProvider::ROWS));
        Ok(Some(provider))
    }

    fn write(value: &Option<IdentityProvider>) -> Value {
        value.as_ref().map(|provider| provider.write().into()).unwrap_or_default()
    }
}

/// A list of scopes, or one text with spaces between them.
struct ScopeList;

impl Codec for ScopeList {
    type Value = Vec<String>;
    const SHAPE: ValueShape =
        ValueShape::Either(&[ValueShape::List(&ValueShape::TEXT), ValueShape::TEXT]);

    fn read(reader: &mut FieldReader<'_>, key: &str, default: Vec<String>) -> Result<Vec<String>> {
        let written = match reader.take(key) {
            None => return Ok(default),
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(items)) => {
                let texts: Option<Vec<String>> =
                    items.into_iter().map(|item| item.as_str().map(str::to_owned)).collect();
                texts.ok_or_else(|| reader.error("\"scopes\" must be a list of strings"))?
            }
            Some(_) => return Err(reader.error("\"scopes\" must be a list of strings")),
        };
        Ok(written.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect())
    }

    fn write(value: &Vec<String>) -> Value {
        value.clone().into()
    }
}

/// Texts by name.
struct Params;

impl Codec for Params {
    type Value = IndexMap<String, Secret>;
    const SHAPE: ValueShape = ValueShape::ByName(&ValueShape::LooseText);

    fn read(
        reader: &mut FieldReader<'_>,
        key: &str,
        default: IndexMap<String, Secret>,
    ) -> Result<IndexMap<String, Secret>> {
        let written = reader.secrets(key)?;
        Ok(if written.is_empty() { default } else { written })
    }

    fn write(value: &IndexMap<String, Secret>) -> Value {
        let entries = value.iter().map(|(name, text)| (name.clone(), text.expose().into()));
        Value::Object(entries.collect())
    }
}

/// The number of a port.
struct Port;

impl Codec for Port {
    type Value = Option<u16>;
    const SHAPE: ValueShape = ValueShape::Port;

    fn read(reader: &mut FieldReader<'_>, key: &str, default: Option<u16>) -> Result<Option<u16>> {
        let Some(written) = reader.take(key) else { return Ok(default) };
        let port = written.as_u64().and_then(|port| u16::try_from(port).ok());
        let port = port.filter(|&port| port > 0);
        if port.is_none() {
            reader.warn_of(key, "must be the number of a port; any that is free is used");
        }
        Ok(port)
    }

    fn write(value: &Option<u16>) -> Value {
        (*value).into()
    }
}
