//! Names, literals and redirects, tested against a local listener that must not be dialled.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::proxy::matcher::Matcher;
use rustls::AlertDescription;
use tower_service::Service;

use super::connector::{NameSource, Resolver};
use super::proxy::UnreachableProxy;
use super::tls::link_tls;
use super::*;
use crate::redact::Mask;
use crate::resolve::RefusedAddress;
use crate::resolve::address_class::AddressClass;
use crate::runtime;
use crate::wire::Peer;

fn fake(addresses: AllowedAddresses, names: &[&str]) -> Resolver {
    let names = names.iter().map(|it| it.parse().expect("an address")).collect();
    Resolver { addresses, names: NameSource::Fixed(names) }
}

/// The addresses that the resolver allows, or its error.
fn resolved(names: &[&str]) -> std::result::Result<Vec<String>, RefusedAddress> {
    let name: Name = "host.example".parse().expect("a name");
    match runtime::block_on(fake(AllowedAddresses::PublicOnly, names).call(name)) {
        Ok(found) => Ok(found.map(|it| it.ip().to_string()).collect()),
        Err(error) => Err(*error.downcast().expect("a refusal")),
    }
}

#[test]
fn only_the_public_addresses_of_a_name_are_dialled() {
    let refused = |class| Err(RefusedAddress { host: "host.example".to_owned(), class });
    assert_eq!(
        resolved(&["1.1.1.1", "2606:4700::1"]),
        Ok(vec!["1.1.1.1".into(), "2606:4700::1".into()])
    );
    assert_eq!(resolved(&["127.0.0.1", "1.1.1.1", "::1"]), Ok(vec!["1.1.1.1".into()]));
    assert_eq!(resolved(&["127.0.0.1", "10.0.0.1"]), refused(AddressClass::Loopback));
    assert_eq!(resolved(&["::ffff:10.0.0.1"]), refused(AddressClass::Private));
    assert_eq!(resolved(&["169.254.169.254"]), refused(AddressClass::LinkLocal));
    assert_eq!(resolved(&[]), Ok(vec![]));
}

fn client(versions: HttpVersions, resolver: Resolver, proxies: Option<Matcher>) -> Client {
    let (tls, addresses) = (link_tls(None).expect("certificates"), resolver.addresses);
    Client::new(Connector::new(tls, versions, resolver, proxies), addresses, 1)
}

fn get(resolver: Resolver, url: &str) -> Result<Response, SendError> {
    send(client(HttpVersions::All, resolver, None), url)
}

fn send(client: Client, url: &str) -> Result<Response, SendError> {
    let url = Url::parse(url).expect("a url");
    runtime::block_on(Request::new(Arc::new(client), Method::GET, url).send())
}

#[test]
fn a_name_of_this_machine_is_refused_before_anything_is_dialled() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    for scheme in ["http", "https"] {
        let url = format!("{scheme}://rebound.example:{port}/mcp");
        let error =
            get(fake(AllowedAddresses::PublicOnly, &["127.0.0.1"]), &url).expect_err("a refusal");
        let refused = RefusedAddress::cause_of(&error).expect("a refusal");
        assert_eq!(refused.class, AddressClass::Loopback);
        let told = refused.to_error("x");
        assert_eq!((told.code(), told.server()), ("UNTRUSTED", Some("x")));
        assert_eq!(
            told.message(),
            "Refused to dial \"x\" at rebound.example: a loopback address of a project that is not trusted"
        );
    }
    listener.set_nonblocking(true).expect("a listener");
    assert!(listener.accept().is_err(), "somebody came");
    // The same path works without the restriction.
    listener.set_nonblocking(false).expect("a listener");
    let server = answer_once(listener, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned());
    let url = format!("http://rebound.example:{port}/mcp");
    let answer = get(fake(AllowedAddresses::Any, &["127.0.0.1"]), &url);
    assert_eq!(answer.expect("an answer").status().as_u16(), 200);
    server.join().expect("a server");
}

#[test]
fn a_literal_that_is_not_public_is_refused_however_it_is_written() {
    for (host, class) in [
        ("127.0.0.1", AddressClass::Loopback),
        ("2130706433", AddressClass::Loopback),
        ("0x7f.1", AddressClass::Loopback),
        ("[::ffff:127.0.0.1]", AddressClass::Loopback),
        ("localhost", AddressClass::Loopback),
        ("api.localhost.", AddressClass::Loopback),
        ("192.168.1.1", AddressClass::Private),
        ("[fd00::1]", AddressClass::Private),
    ] {
        let url = Url::parse(&format!("http://{host}:1/mcp")).expect("a url");
        assert_eq!(
            AllowedAddresses::PublicOnly.check(&url).expect_err(host).class,
            class,
            "{host}"
        );
        assert_eq!(AllowedAddresses::Any.check(&url), Ok(()), "{host}");
    }
    let url = Url::parse("https://example.com/mcp").expect("a url");
    assert_eq!(AllowedAddresses::PublicOnly.check(&url), Ok(()));
}

#[test]
fn a_redirect_to_this_machine_is_refused() {
    // Simulates a public server: the first hop uses a resolver without the check.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let answer = format!(
        "HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:{port}/\r\nContent-Length: 0\r\n\r\n"
    );
    let server = answer_once(listener, answer);
    let mut client = client(HttpVersions::All, fake(AllowedAddresses::Any, &["127.0.0.1"]), None);
    client.addresses = AllowedAddresses::PublicOnly;
    let error = send(client, &format!("http://host.example:{port}/mcp")).expect_err("a refusal");
    assert_eq!(RefusedAddress::cause_of(&error).expect("a refusal").class, AddressClass::Loopback);
    server.join().expect("a server");
}

fn answer_once(listener: TcpListener, answer: String) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        read_head(&mut stream);
        stream.write_all(answer.as_bytes()).expect("a reader");
    })
}

fn read_head(stream: &mut TcpStream) -> String {
    let (mut request, mut part) = (Vec::new(), [0; 1024]);
    while !request.ends_with(b"\r\n\r\n") {
        let read = stream.read(&mut part).expect("a request");
        request.extend_from_slice(&part[..read]);
    }
    String::from_utf8(request).expect("text")
}

/// One request as the dialled server sees it.
fn seen_by_server(send: impl FnOnce(u16) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let client = std::thread::spawn(move || send(port));
    let (mut stream, _) = listener.accept().expect("a client");
    let head = read_head(&mut stream);
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").expect("a reader");
    drop(stream);
    client.join().expect("a client");
    head.to_ascii_lowercase()
}

fn behind_proxy(versions: HttpVersions, port: u16) -> Client {
    let proxies = Matcher::builder().all(format!("http://joe:secret@127.0.0.1:{port}"));
    let resolver = Resolver { addresses: AllowedAddresses::Any, names: NameSource::System };
    client(versions, resolver, Some(proxies.build()))
}

#[test]
fn a_proxy_gets_the_whole_url_and_its_login() {
    let seen = seen_by_server(|port| {
        let answer = send(behind_proxy(HttpVersions::All, port), "http://host.example/mcp")
            .expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);
    });
    assert!(seen.starts_with("get http://host.example/mcp http/1.1\r\n"), "{seen}");
    assert!(seen.contains("\r\nhost: host.example\r\n"), "{seen}");
    let login = STANDARD.encode("joe:secret").to_ascii_lowercase();
    assert!(seen.contains(&format!("\r\nproxy-authorization: basic {login}\r\n")), "{seen}");
}

#[test]
fn a_response_names_the_address_that_answered_unless_that_is_a_proxy() {
    seen_by_server(|port| {
        let url = format!("http://name.example:{port}/mcp");
        let answer = get(fake(AllowedAddresses::Any, &["127.0.0.1"]), &url).expect("an answer");
        assert_eq!(answer.peer(), Some([127, 0, 0, 1].into()));
    });
    seen_by_server(|port| {
        let client = behind_proxy(HttpVersions::All, port);
        let answer = send(client, "http://host.example/mcp").expect("an answer");
        assert_eq!(answer.peer(), None);
    });
}

#[test]
fn tls_goes_through_a_tunnel_of_the_proxy() {
    let seen = seen_by_server(|port| {
        // Nothing behind this tunnel speaks TLS.
        let error = send(behind_proxy(HttpVersions::All, port), "https://host.example/mcp")
            .expect_err("no answer");
        assert!(error.is_unsent(), "{error:?}");
    });
    assert!(seen.starts_with("connect host.example:443 http/1.1\r\n"), "{seen}");
    assert!(seen.contains("\r\nproxy-authorization: basic "), "{seen}");
}

#[test]
fn a_plain_tunnel_leads_to_the_port_of_http() {
    for (url, place) in [
        ("http://host.example/mcp", "host.example:80"),
        ("http://host.example:8080/mcp", "host.example:8080"),
        ("http://[2606:4700::1]/mcp", "[2606:4700::1]:80"),
        ("https://host.example/mcp", "host.example:443"),
    ] {
        let seen = seen_by_server(move |port| {
            let _ = send(behind_proxy(HttpVersions::OnlyHttp1, port), url);
        });
        assert!(seen.starts_with(&format!("connect {place} http/1.1\r\n")), "{seen}");
    }
}

#[test]
fn a_redirect_within_the_origin_is_followed_if_it_keeps_the_method() {
    let followed = |method: Method, status: u16| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a client");
                let is_first = read_head(&mut stream).contains(" /mcp ");
                let status = if is_first { status } else { 200 };
                let head = format!("HTTP/1.1 {status} Go\r\nLocation: /next");
                let rest = "Content-Length: 0\r\nConnection: close\r\n\r\n";
                stream.write_all(format!("{head}\r\n{rest}").as_bytes()).expect("a reader");
            }
        });
        let url = Url::parse(&format!("http://127.0.0.1:{port}/mcp")).expect("a url");
        let client = client(HttpVersions::All, fake(AllowedAddresses::Any, &[]), None);
        let answer = runtime::block_on(Request::new(Arc::new(client), method, url).send());
        answer.expect("an answer").status() == StatusCode::OK
    };
    for status in [301, 302, 303, 307, 308] {
        assert!(followed(Method::GET, status), "{status}");
        assert_eq!(followed(Method::POST, status), status >= 307, "{status}");
    }
}

#[test]
fn a_proxy_that_is_down_is_not_taken_for_the_server() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    for url in ["http://host.example/mcp", "https://host.example/mcp"] {
        let error = send(behind_proxy(HttpVersions::All, port), url).expect_err("no answer");
        assert!(error.is_unsent() && UnreachableProxy::is_cause_of(&error), "{error:?}");
        let url = url.replace("host.example", &format!("127.0.0.1:{port}"));
        let error = get(fake(AllowedAddresses::Any, &[]), &url).expect_err("no answer");
        assert!(error.is_unsent() && !UnreachableProxy::is_cause_of(&error), "{error:?}");
    }
}

/// What people are told about a failure.
fn told(error: &(dyn StdError + 'static)) -> String {
    let url = Url::parse("https://host.example/mcp").expect("a url");
    let (shown, definition_mask, caller) = (url.to_string(), Mask::default(), Arc::default());
    let peer = Peer { server: "s".into(), url, shown, definition_mask, caller };
    peer.unreachable(error).to_string()
}

#[test]
fn a_proxy_that_refuses_a_tunnel_is_not_taken_for_the_server() {
    for (answer, hint) in [
        ("407 Proxy Authentication Required", "HTTPS_PROXY=http://name:password@host"),
        ("502 Bad Gateway", "NO_PROXY"),
        ("nonsense", "NO_PROXY"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let proxy = answer_once(listener, format!("HTTP/1.1 {answer}\r\n\r\n"));
        let client = behind_proxy(HttpVersions::All, port);
        let error = send(client, "https://host.example/mcp").expect_err("no tunnel");
        proxy.join().expect("a proxy");
        let told = told(&error);
        assert!(error.is_unsent(), "{error:?}");
        assert!(told.contains("The proxy opened no connection to the server"), "{told}");
        assert!(told.contains(hint), "{told}");
    }
}

#[test]
fn an_alert_about_certificates_leads_to_the_setting() {
    let told_of = |alert| {
        let alert = rustls::Error::AlertReceived(alert);
        told(&SendError::broken(io::Error::new(io::ErrorKind::InvalidData, alert)))
    };
    for alert in [
        AlertDescription::CertificateRequired,
        AlertDescription::BadCertificate,
        AlertDescription::HandshakeFailure,
    ] {
        assert!(told_of(alert).contains("tls.cert"), "{alert:?}: {}", told_of(alert));
    }
    let other = told_of(AlertDescription::UnrecognisedName);
    assert!(!other.contains("tls.cert"), "{other}");
}

#[test]
fn a_login_in_the_url_becomes_a_header() {
    let seen = seen_by_server(|port| {
        let url = format!("http://jo%40e:p%3Aw@127.0.0.1:{port}/mcp");
        get(fake(AllowedAddresses::Any, &[]), &url).expect("an answer");
    });
    let login = STANDARD.encode("jo@e:p:w").to_ascii_lowercase();
    assert!(seen.starts_with("get /mcp http/1.1\r\n"), "{seen}");
    assert!(seen.contains(&format!("\r\nauthorization: basic {login}\r\n")), "{seen}");
}
