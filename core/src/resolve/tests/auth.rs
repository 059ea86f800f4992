//! Which settings of a sign-in a project may set.

use super::*;
use crate::config::AuthConfig;

/// The settings that only the user may set, each with a value that loosens a check or names a credential.
fn of_the_user() -> Vec<(&'static str, Value)> {
    // Whoever adds a setting decides about it here, and adds it to one of the two lists.
    let AuthConfig {
        resource: _,
        issuer: _,
        params: _,
        allow_private_addresses: _,
        allow_missing_issuer: _,
        allow_missing_pkce: _,
        dpop: _,
        idp: _,
        credential_id: _,
        // Those of a project too.
        kind: _,
        token: _,
        token_env: _,
        grant: _,
        client_id: _,
        client_secret: _,
        private_key: _,
        client_metadata_url: _,
        scopes: _,
        callback_host: _,
        callback_port: _,
        assertion: _,
    } = AuthConfig::default();
    vec![
        ("resource", json!("omit")),
        ("issuer", json!("https://other.example")),
        ("params", json!({"audience": "other"})),
        ("allowPrivateAddresses", json!(true)),
        ("allowMissingIssuer", json!(true)),
        ("allowMissingPkce", json!(true)),
        ("dpop", json!("never")),
        ("idp", json!({"tokenEndpoint": "https://other.example/token", "idToken": "id"})),
        ("credentialId", json!("work")),
    ]
}

/// The settings that a project may set too, besides `type`.
fn of_a_project() -> Value {
    json!({
        "token": "given", "tokenEnv": "GIVEN", "grant": "clientCredentials", "clientId": "theirs",
        "clientSecret": "theirs-too", "privateKey": "pem", "clientMetadataUrl": "https://h/client",
        "scopes": ["read"], "callbackHost": "localhost", "callbackPort": 8123, "assertion": "jwt",
    })
}

fn trusted_project(definition: Value) -> ServerConfig {
    let mut server = project(definition);
    server.scope.trusted = ScopeTrust::Always;
    server
}

/// The settings that a sign-in uses, and the warnings.
fn settings(server: &ServerConfig) -> (AuthConfig, Vec<String>) {
    let (target, warnings) = target(server);
    match target.sign_in {
        SignIn::OAuth(settings) => ((*settings).clone(), warnings),
        _ => panic!("no sign-in"),
    }
}

#[test]
fn a_project_loosens_no_check_of_a_sign_in() {
    let definition = |auth: Value| json!({"url": "http://h/", "auth": auth});
    for (name, value) in of_the_user() {
        let auth = json!({ name: value });
        let (of_user, warnings) = settings(&config(definition(auth.clone())));
        assert_ne!(of_user, AuthConfig::default(), "{name}");
        assert!(warnings.is_empty(), "{name}: {warnings:?}");
        let (bound, warnings) = settings(&trusted_project(definition(auth)));
        assert_eq!(bound, AuthConfig::default(), "{name}");
        let [warning] = &warnings[..] else { panic!("{name}: {warnings:?}") };
        assert!(warning.contains(&format!("\"auth.{name}\" is left out")), "{warning}");
    }
    // Together, and beside what a project may set.
    let mut all = of_a_project();
    all.as_object_mut().unwrap().extend(of_the_user().into_iter().map(|(k, v)| (k.into(), v)));
    let (bound, warnings) = settings(&trusted_project(definition(all)));
    let (allowed, _) = settings(&config(definition(of_a_project())));
    assert_eq!(bound, allowed);
    assert_eq!(warnings.len(), of_the_user().len(), "{warnings:?}");
}

#[test]
fn a_project_chooses_its_own_client() {
    let mut auth = of_a_project();
    // This loosens nothing.
    auth["dpop"] = json!("always");
    let definition = json!({"url": "http://h/", "auth": auth});
    let (of_user, _) = settings(&config(definition.clone()));
    let (bound, warnings) = settings(&trusted_project(definition));
    assert_eq!(bound, of_user);
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn a_project_that_is_not_trusted_signs_in_nowhere() {
    let (target, _) = target(&project(json!({"url": "http://h/", "auth": of_a_project()})));
    assert!(matches!(target.sign_in, SignIn::Untrusted));
}
