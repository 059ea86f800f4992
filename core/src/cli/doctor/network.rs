//! Owns the checks of the network after a connect has failed: the lookup of the name, then the port.
//! Invariant: it dials no address that the server's connection may not dial.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use url::Url;

use super::finding::Finding;
use crate::resolve::AllowedAddresses;

const PATIENCE: Duration = Duration::from_secs(5);
const PROXIES: &[&str] = &["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"];

pub(super) async fn examine(url: &str, addresses: AllowedAddresses) -> Vec<Finding> {
    let Ok(url) = Url::parse(url) else { return Vec::new() };
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Vec::new();
    };
    if let Err(refused) = addresses.check(&url) {
        return vec![Finding::off("network", format!("not dialled: {refused}"))];
    }
    let proxy = PROXIES.iter().find(|name| std::env::var_os(name).is_some());
    if let Some(proxy) = proxy.filter(|_| addresses == AllowedAddresses::Any) {
        return vec![Finding::off("network", format!("{proxy} is set: the proxy makes the way"))];
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found: Vec<SocketAddr> = match timeout(PATIENCE, lookup_host((bare, port))).await {
        Ok(Ok(found)) => found.collect(),
        _ => Vec::new(),
    };
    if found.is_empty() {
        return vec![
            Finding::broken("dns", format!("the name {host} has no address"))
                .with_advice("check the URL, and whether this machine is online"),
        ];
    }
    match addresses.retain_allowed(host, found) {
        Ok(found) => dial(host, port, &found).await,
        Err(refused) => vec![Finding::off("network", format!("not dialled: {refused}"))],
    }
}

async fn dial(host: &str, port: u16, addresses: &[SocketAddr]) -> Vec<Finding> {
    let named = addresses.first().map(|first| first.ip().to_string());
    let named = named.filter(|address| address != host.trim_matches(['[', ']']));
    let found = named.map(|address| Finding::ok("dns", format!("{host} is {address}")));
    let began = Instant::now();
    let reached = match timeout(PATIENCE, TcpStream::connect(addresses)).await {
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::cli::doctor::finding::Verdict;
    use crate::runtime;

    #[test]
    fn of_a_project_without_trust_only_public_addresses_are_dialled() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a listener");
        let port = listener.local_addr().expect("an address").port();
        for host in ["127.0.0.1", "2130706433", "localhost", "[::ffff:127.0.0.1]"] {
            let url = format!("http://{host}:{port}/mcp");
            let examine = async move { examine(&url, AllowedAddresses::PublicOnly).await };
            let findings = runtime::block_on(examine);
            assert_eq!(findings.len(), 1, "{findings:?}");
            assert_eq!(findings[0].verdict, Verdict::Off, "{findings:?}");
            assert!(listener.accept().is_err(), "somebody came by {host}");
        }
        let here: SocketAddr = ([127, 0, 0, 1], port).into();
        assert!(AllowedAddresses::PublicOnly.retain_allowed("host.example", vec![here]).is_err());
        assert!(AllowedAddresses::Any.retain_allowed("host.example", vec![here]).is_ok());
    }
}
