//! Owns where the logins of a connection are kept.
//! Invariant: managers that keep them in different places share no connection that may have a login.

use std::path::PathBuf;

use crate::config::{AuthType, ServerConfig, TransportConfig};
use crate::login_store::{LoginStore, LoginStoreId};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LoginPlace {
    /// In files below the user's config directory.
    Files(Option<PathBuf>),
    /// In the store of a program.
    Store(LoginStoreId),
}

impl LoginPlace {
    /// `None` for a server that has no login.
    pub(crate) fn new(config: &ServerConfig, store: Option<&LoginStore>) -> Option<Self> {
        let auth = config.auth.as_ref();
        let may_sign_in = auth.is_none_or(|auth| auth.kind == AuthType::OAuth);
        let has_login = match &config.transport {
            // It is given one by name.
            TransportConfig::Stdio { .. } => auth.is_some_and(|auth| auth.credential_id.is_some()),
            TransportConfig::Http(_) | TransportConfig::Sse(_) | TransportConfig::WebSocket(_) => {
                true
            }
        };
        if !may_sign_in || !has_login {
            return None;
        }
        Some(match store {
            Some(store) => LoginPlace::Store(store.id()),
            None => LoginPlace::Files(config.scope.host_env.config_dir()),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::Config;

    fn server(definition: serde_json::Value) -> ServerConfig {
        let text = json!({"mcpServers": {"s": definition}}).to_string();
        Config::from_json(&text).unwrap().servers.swap_remove("s").unwrap().config.unwrap()
    }

    #[test]
    fn only_servers_that_may_have_a_login_have_a_place_for_it() {
        let url = "https://mcp.example/mcp";
        for (definition, has_place) in [
            (json!({"url": url}), true),
            (json!({"url": url, "auth": {"type": "oauth"}}), true),
            (json!({"url": url, "auth": {"type": "none"}}), false),
            (json!({"url": url, "auth": {"type": "bearer", "token": "t"}}), false),
            (json!({"command": "x"}), false),
            (json!({"command": "x", "auth": {"type": "oauth", "credentialId": "work"}}), true),
        ] {
            let place = LoginPlace::new(&server(definition.clone()), None);
            assert_eq!(place.is_some(), has_place, "{definition}");
        }
    }

    #[test]
    fn each_store_is_a_place_of_its_own() {
        let store = || LoginStore::new(|_| async { Ok(None) });
        let config = server(json!({"url": "https://mcp.example/mcp"}));
        let (one, other) = (store(), store());
        let copy = one.clone();
        let place = |store| LoginPlace::new(&config, store);
        assert_eq!(place(Some(&one)), place(Some(&copy)));
        assert_ne!(place(Some(&one)), place(Some(&other)));
        assert_ne!(place(Some(&one)), place(None));
    }
}
