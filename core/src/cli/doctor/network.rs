//! Owns the way to a server on the network, step by step, once the whole way has failed: its name, its port.

use std::time::{Duration, Instant};

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use url::Url;

use super::finding::Finding;

const PATIENCE: Duration = Duration::from_secs(5);
const PROXIES: &[&str] = &["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"];

pub(super) async fn examine(url: &str) -> Vec<Finding> {
    let Ok(url) = Url::parse(url) else { return Vec::new() };
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Vec::new();
    };
    if let Some(proxy) = PROXIES.iter().find(|name| std::env::var_os(name).is_some()) {
        return vec![Finding::off("network", format!("{proxy} is set: the proxy makes the way"))];
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<_> = match timeout(PATIENCE, lookup_host((bare, port))).await {
        Ok(Ok(addresses)) => addresses.collect(),
        _ => Vec::new(),
    };
    let Some(first) = addresses.first() else {
        return vec![
            Finding::broken("dns", format!("the name {host} has no address"))
                .with_advice("check the URL, and whether this machine is online"),
        ];
    };
    let named = first.ip().to_string() != bare;
    let found = named.then(|| Finding::ok("dns", format!("{host} is {}", first.ip())));
    let began = Instant::now();
    let reached = match timeout(PATIENCE, TcpStream::connect(&addresses[..])).await {
        Ok(Ok(_)) => {
            let ms = began.elapsed().as_millis();
            Finding::ok("tcp", format!("port {port} answers after {ms} ms"))
        }
        Ok(Err(error)) => Finding::broken("tcp", format!("port {port} of {host}: {error}"))
            .with_advice("start the server there, or correct the URL"),
        Err(_) => Finding::broken("tcp", format!("port {port} of {host} does not answer"))
            .with_advice("is a firewall or a VPN between here and there?"),
    };
    found.into_iter().chain([reached]).collect()
}
