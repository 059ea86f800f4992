//! Names, literals and redirects, tested against a local listener that must not be dialled.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use super::*;
use crate::resolve::Refused;
use crate::resolve::address::Class;
use crate::runtime;

fn fake(addresses: Addresses, names: &[&str]) -> Resolver {
    let names = names.iter().map(|it| it.parse().expect("an address")).collect();
    Resolver { addresses, names: Names::Fixed(names) }
}

/// The addresses that the resolver allows, or its error.
fn resolved(names: &[&str]) -> std::result::Result<Vec<String>, Refused> {
    let name: Name = "host.example".parse().expect("a name");
    match runtime::block_on(fake(Addresses::PublicOnly, names).call(name)) {
        Ok(found) => Ok(found.map(|it| it.ip().to_string()).collect()),
        Err(error) => Err(*error.downcast().expect("a refusal")),
    }
}

#[test]
fn of_a_names_addresses_only_the_public_ones_are_dialled() {
    let refused = |class| Err(Refused { host: "host.example".to_owned(), class });
    assert_eq!(
        resolved(&["1.1.1.1", "2606:4700::1"]),
        Ok(vec!["1.1.1.1".into(), "2606:4700::1".into()])
    );
    assert_eq!(resolved(&["127.0.0.1", "1.1.1.1", "::1"]), Ok(vec!["1.1.1.1".into()]));
    assert_eq!(resolved(&["127.0.0.1", "10.0.0.1"]), refused(Class::Loopback));
    assert_eq!(resolved(&["::ffff:10.0.0.1"]), refused(Class::Private));
    assert_eq!(resolved(&["169.254.169.254"]), refused(Class::LinkLocal));
    assert_eq!(resolved(&[]), Ok(vec![]));
}

fn get(resolver: Resolver, url: &str) -> Result<Response, SendError> {
    send(built(resolver, None).expect("a client"), url)
}

fn send(client: Client, url: &str) -> Result<Response, SendError> {
    let url = Url::parse(url).expect("a url");
    runtime::block_on(Request::new(Arc::new(client), Method::GET, url).send())
}

#[test]
fn a_name_that_leads_here_is_refused_before_anything_is_dialled() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    for scheme in ["http", "https"] {
        let url = format!("{scheme}://rebound.example:{port}/mcp");
        let error = get(fake(Addresses::PublicOnly, &["127.0.0.1"]), &url).expect_err("a refusal");
        let refused = Refused::cause_of(&error).expect("a refusal");
        assert_eq!(refused.class, Class::Loopback);
        let told = refused.told("x");
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
    let answer = get(fake(Addresses::Any, &["127.0.0.1"]), &url);
    assert_eq!(answer.expect("an answer").status().as_u16(), 200);
    server.join().expect("a server");
}

#[test]
fn a_literal_that_is_not_public_is_refused_however_it_is_written() {
    for (host, class) in [
        ("127.0.0.1", Class::Loopback),
        ("2130706433", Class::Loopback),
        ("0x7f.1", Class::Loopback),
        ("[::ffff:127.0.0.1]", Class::Loopback),
        ("localhost", Class::Loopback),
        ("api.localhost.", Class::Loopback),
        ("192.168.1.1", Class::Private),
        ("[fd00::1]", Class::Private),
    ] {
        let url = Url::parse(&format!("http://{host}:1/mcp")).expect("a url");
        assert_eq!(Addresses::PublicOnly.check(&url).expect_err(host).class, class, "{host}");
        assert_eq!(Addresses::Any.check(&url), Ok(()), "{host}");
    }
    let url = Url::parse("https://example.com/mcp").expect("a url");
    assert_eq!(Addresses::PublicOnly.check(&url), Ok(()));
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
    let mut client = built(fake(Addresses::Any, &["127.0.0.1"]), None).expect("a client");
    client.addresses = Addresses::PublicOnly;
    let error = send(client, &format!("http://host.example:{port}/mcp")).expect_err("a refusal");
    assert_eq!(Refused::cause_of(&error).expect("a refusal").class, Class::Loopback);
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

fn behind_proxy(port: u16) -> Client {
    let proxies = Matcher::builder().all(format!("http://joe:secret@127.0.0.1:{port}"));
    let resolver = Resolver { addresses: Addresses::Any, names: Names::System };
    built(resolver, Some(proxies.build())).expect("a client")
}

#[test]
fn a_proxy_is_told_the_whole_url_and_who_asks() {
    let seen = seen_by_server(|port| {
        let answer = send(behind_proxy(port), "http://host.example/mcp").expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);
    });
    assert!(seen.starts_with("get http://host.example/mcp http/1.1\r\n"), "{seen}");
    assert!(seen.contains("\r\nhost: host.example\r\n"), "{seen}");
    let login = STANDARD.encode("joe:secret").to_ascii_lowercase();
    assert!(seen.contains(&format!("\r\nproxy-authorization: basic {login}\r\n")), "{seen}");
}

#[test]
fn tls_goes_through_a_tunnel_of_the_proxy() {
    let seen = seen_by_server(|port| {
        // Nothing behind this tunnel speaks TLS.
        let error = send(behind_proxy(port), "https://host.example/mcp").expect_err("no answer");
        assert!(error.is_unsent(), "{error:?}");
    });
    assert!(seen.starts_with("connect host.example:443 http/1.1\r\n"), "{seen}");
    assert!(seen.contains("\r\nproxy-authorization: basic "), "{seen}");
}

#[test]
fn a_login_in_the_url_becomes_a_header() {
    let seen = seen_by_server(|port| {
        let url = format!("http://jo%40e:p%3Aw@127.0.0.1:{port}/mcp");
        get(fake(Addresses::Any, &[]), &url).expect("an answer");
    });
    let login = STANDARD.encode("jo@e:p:w").to_ascii_lowercase();
    assert!(seen.starts_with("get /mcp http/1.1\r\n"), "{seen}");
    assert!(seen.contains(&format!("\r\nauthorization: basic {login}\r\n")), "{seen}");
}
