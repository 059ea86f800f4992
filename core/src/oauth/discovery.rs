//! Finds out where to sign in: the resource metadata of a server, then the metadata of its authorisation server.
//! Invariant: metadata is used only if its issuer is the one that was asked for; the number of requests is bounded.

use url::Url;

use super::challenge::Challenge;
use super::http::OAuthHttp;
use super::metadata::{ResourceMetadata, ServerMetadata};
use super::problem::Problem;
use crate::config::AuthConfig;

const OMIT: &str = "omit";
const PROTECTED_RESOURCE: &str = "oauth-protected-resource";
const AUTHORIZATION_SERVER: &str = "oauth-authorization-server";
const OPENID: &str = "openid-configuration";
/// How many authorisation servers of a list are looked at.
const SERVERS: usize = 5;

/// Where and for what to sign in.
#[derive(Clone, Debug)]
pub(super) struct Discovered {
    /// Identifies the authorisation server; the origin where it has no metadata.
    pub(super) issuer: String,
    pub(super) metadata: ServerMetadata,
    /// The value of `resource` in all requests; `None` to leave it out.
    pub(super) resource: Option<String>,
    /// The scopes that the server's own metadata names.
    pub(super) resource_scopes: Vec<String>,
}

impl Discovered {
    pub(super) fn endpoint<'a>(
        &'a self,
        name: &str,
        value: &'a Option<String>,
    ) -> Result<&'a str, Problem> {
        value.as_deref().ok_or_else(|| {
            let issuer = &self.issuer;
            Problem::refused(format!("{issuer} has no \"{name}\"")).quoting(issuer)
        })
    }
}

/// Discovers from what a server said when it refused a request.
pub(super) async fn discover(
    http: &OAuthHttp,
    server: &Url,
    challenge: &Challenge,
    settings: &AuthConfig,
) -> Result<Discovered, Problem> {
    let resource = resource_metadata(http, server, challenge).await?;
    let Some(resource) = resource else {
        return without_resource_metadata(http, server, settings).await;
    };
    let of = sent_resource(server, resource.resource.as_deref(), settings)?;
    let resource_scopes = resource.scopes_supported;
    let servers = resource.authorization_servers;
    if servers.is_empty() {
        let found = without_resource_metadata(http, server, settings).await?;
        return Ok(Discovered { resource: of, resource_scopes, ..found });
    }
    let issuer = chosen_issuer(&servers, settings);
    let url = http.endpoint("authorization_servers", issuer)?;
    let found = server_metadata(http, &url).await?;
    let Some(metadata) = found else {
        let text = format!("{issuer} has no metadata of an authorisation server");
        return Err(Problem::missing(text).quoting(issuer));
    };
    let issuer = checked_issuer(issuer, &metadata, settings)?;
    Ok(Discovered { issuer, metadata, resource: of, resource_scopes })
}

/// Prefers the issuer that the settings name.
fn chosen_issuer<'a>(servers: &'a [String], settings: &AuthConfig) -> &'a str {
    let named = settings.issuer.as_deref();
    let wanted =
        servers.iter().take(SERVERS).find(|it| named.is_some_and(|of| is_same_issuer(it, of)));
    wanted.unwrap_or(&servers[0])
}

async fn resource_metadata(
    http: &OAuthHttp,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<ResourceMetadata>, Problem> {
    let mut places = Vec::new();
    if let Some(named) = &challenge.resource_metadata {
        places.push(http.endpoint("resource_metadata", named)?);
    }
    for place in well_known(server, PROTECTED_RESOURCE) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    for place in places {
        // The answer may be a refusal that points here again: that is no metadata.
        let Some(document) = http.get_object(&place).await? else { continue };
        let read = ResourceMetadata::read(&document);
        if read.resource.is_some() || !read.authorization_servers.is_empty() {
            return Ok(Some(read));
        }
    }
    Ok(None)
}

/// The value of `resource`, if the metadata is about this server.
fn sent_resource(
    server: &Url,
    named: Option<&str>,
    settings: &AuthConfig,
) -> Result<Option<String>, Problem> {
    match (settings.resource.as_deref(), named) {
        (Some(OMIT), _) => Ok(None),
        (Some(text), _) => Ok(Some(text.to_owned())),
        (None, None) => Ok(Some(own_resource(server))),
        (None, Some(named)) => match Url::parse(named).ok().filter(|of| covers(of, server)) {
            Some(_) => Ok(Some(named.to_owned())),
            None => {
                let own = own_resource(server);
                let text = format!("{own} describes itself as another resource");
                Err(Problem::refused(text).quoting(named).with_hint(format!(
                    "if that is right, set \"auth.resource\" to \"{}\" in a file of your own",
                    named
                        .chars()
                        .filter(|c| !c.is_control() && *c != '"')
                        .take(200)
                        .collect::<String>()
                )))
            }
        },
    }
}

/// The server's address as a resource: without query and fragment.
fn own_resource(server: &Url) -> String {
    let mut url = server.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    let text = url.to_string();
    match url.path() {
        "/" => text.trim_end_matches('/').to_owned(),
        _ => text,
    }
}

/// Whether a resource is the server, or a part of its address from the left.
fn covers(resource: &Url, server: &Url) -> bool {
    let (resource, server) = (over_http(resource.clone()), over_http(server.clone()));
    let path = resource.path().trim_end_matches('/');
    let rest = server.path().strip_prefix(path);
    resource.origin() == server.origin()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The address of a WebSocket as that of the request that opens it.
pub(super) fn over_http(mut url: Url) -> Url {
    let scheme = match url.scheme() {
        "ws" => "http",
        "wss" => "https",
        _ => return url,
    };
    let _ = url.set_scheme(scheme);
    url
}

/// Servers of the first version of the specification are their own authorisation servers.
async fn without_resource_metadata(
    http: &OAuthHttp,
    server: &Url,
    settings: &AuthConfig,
) -> Result<Discovered, Problem> {
    let resource = sent_resource(server, None, settings)?;
    let resource_scopes = Vec::new();
    let origin = server.origin().ascii_serialization();
    let mut places = vec![server.clone()];
    places.extend(Url::parse(&origin).ok().filter(|root| root.path() != server.path()));
    if let Some(named) = &settings.issuer {
        places.insert(0, http.endpoint("auth.issuer", named)?);
    }
    for place in places {
        let Some(metadata) = server_metadata(http, &place).await? else { continue };
        let asked = match &metadata.issuer {
            // The path of the server may be that of the authorisation server, or not.
            Some(issuer) if is_same_issuer(issuer, &origin) => origin.clone(),
            _ => own_resource(&place),
        };
        let issuer = checked_issuer(&asked, &metadata, settings)?;
        return Ok(Discovered { issuer, metadata, resource, resource_scopes });
    }
    let at_origin = |path: &str| Some(format!("{origin}{path}"));
    let metadata = ServerMetadata {
        authorization_endpoint: at_origin("/authorize"),
        token_endpoint: at_origin("/token"),
        registration_endpoint: at_origin("/register"),
        is_guessed: true,
        ..ServerMetadata::default()
    };
    Ok(Discovered { issuer: origin, metadata, resource, resource_scopes })
}

/// The metadata of an authorisation server, at one of the usual places on its own host.
async fn server_metadata(
    http: &OAuthHttp,
    issuer: &Url,
) -> Result<Option<ServerMetadata>, Problem> {
    let mut places = well_known_of_path(issuer, AUTHORIZATION_SERVER);
    places.extend(well_known_of_path(issuer, OPENID));
    if issuer.path() != "/" {
        let path = issuer.path().trim_end_matches('/');
        let mut appended = issuer.clone();
        appended.set_query(None);
        appended.set_path(&format!("{path}/.well-known/{OPENID}"));
        places.push(appended);
    }
    let mut failed = None;
    for place in places {
        match http.get_object(&place).await {
            Ok(Some(document)) => {
                let metadata = ServerMetadata::read(&document);
                if metadata.is_usable() {
                    return Ok(Some(metadata));
                }
            }
            Ok(None) => {}
            Err(problem) if problem.is_passing() => failed = Some(problem),
            Err(problem) => return Err(problem),
        }
    }
    failed.map_or(Ok(None), Err)
}

/// The issuer as the metadata writes it, if it is the one that was asked for.
fn checked_issuer(
    asked: &str,
    metadata: &ServerMetadata,
    settings: &AuthConfig,
) -> Result<String, Problem> {
    let expected = settings.issuer.as_deref().unwrap_or(asked);
    match &metadata.issuer {
        Some(issuer) if is_same_issuer(issuer, expected) => Ok(issuer.clone()),
        Some(issuer) => {
            let text =
                format!("the authorisation server {expected} says that its issuer is another one");
            Err(Problem::refused(text)
                .quoting(issuer)
                .with_hint("if that is right, set \"auth.issuer\" to it in a file of your own"))
        }
        None if settings.allow_missing_issuer => Ok(expected.to_owned()),
        None => {
            let text = format!("the authorisation server {expected} does not name its issuer");
            Err(Problem::refused(text)
                .quoting(expected)
                .with_hint("if you know it, set \"auth.allowMissingIssuer\" in a file of your own"))
        }
    }
}

/// Compares as written, except that the slash of a root may be missing.
pub(super) fn is_same_issuer(one: &str, other: &str) -> bool {
    let without_root = |text: &str| match text.strip_suffix('/') {
        Some(rest) if Url::parse(text).is_ok_and(|url| url.path() == "/") => rest.to_owned(),
        _ => text.to_owned(),
    };
    one == other || without_root(one) == without_root(other)
}

/// The well-known places of a document about an address: of its path, then of its host.
fn well_known(url: &Url, name: &str) -> Vec<Url> {
    let mut places = well_known_of_path(url, name);
    if url.path() != "/" {
        let mut root = url.clone();
        root.set_path("/");
        places.extend(well_known_of_path(&root, name));
    }
    places
}

fn well_known_of_path(url: &Url, name: &str) -> Vec<Url> {
    let mut place = url.clone();
    let _ = place.set_username("").and_then(|()| place.set_password(None));
    place.set_fragment(None);
    place.set_query(None);
    let path = url.path().trim_end_matches('/');
    place.set_path(&format!("/.well-known/{name}{path}"));
    vec![place]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_resource_covers_its_paths_only() {
        for (resource, server, expected) in [
            ("https://h/mcp", "https://h/mcp", true),
            ("https://h", "https://h/mcp", true),
            ("https://h/", "https://h/mcp?x=1", true),
            ("https://h/mcp/", "https://h/mcp", true),
            ("wss://h/mcp", "https://h/mcp", true),
            ("https://h/mc", "https://h/mcp", false),
            ("https://h/mcp/x", "https://h/mcp", false),
            ("https://other/mcp", "https://h/mcp", false),
            ("http://h/mcp", "https://h/mcp", false),
            ("https://h:8443/mcp", "https://h/mcp", false),
        ] {
            assert_eq!(covers(&url(resource), &url(server)), expected, "{resource} {server}");
        }
    }

    #[test]
    fn only_the_slash_of_a_root_may_differ_between_issuers() {
        assert!(is_same_issuer("https://h", "https://h/"));
        assert!(!is_same_issuer("https://h/a", "https://h/a/"));
        assert!(!is_same_issuer("https://h", "https://H"));
        assert!(!is_same_issuer("https://h", "https://h:443"));
        assert!(!is_same_issuer("https://h?", "https://h"));
    }

    #[test]
    fn well_known_places_follow_the_path() {
        let places = |text: &str| -> Vec<String> {
            well_known(&url(text), PROTECTED_RESOURCE).iter().map(Url::to_string).collect()
        };
        let of = "https://h/.well-known/oauth-protected-resource";
        assert_eq!(places("https://u:p@h/a/mcp?k=v"), [&format!("{of}/a/mcp"), of]);
        assert_eq!(places("https://h"), [of]);
    }

    #[test]
    fn the_own_resource_has_no_query_and_no_login() {
        assert_eq!(own_resource(&url("https://u:p@h/mcp?key=1#f")), "https://h/mcp");
        assert_eq!(own_resource(&url("https://h")), "https://h");
    }
}
