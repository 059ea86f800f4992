//! Names, literals and redirects, tried against a listener on this machine that nobody is to dial.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener};

use super::*;
use crate::runtime;

/// Says of every name what it was told to say.
#[derive(Clone)]
struct Fake(Vec<IpAddr>);

impl Resolve for Fake {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Vec<_> = self.0.iter().map(|it| SocketAddr::new(*it, 0)).collect();
        Box::pin(async move { Ok(Box::new(addresses.into_iter()) as Addrs) })
    }
}

fn fake(addresses: &[&str]) -> Fake {
    Fake(addresses.iter().map(|it| it.parse().expect("an address")).collect())
}

/// What the resolver lets pass of these, or why nothing.
fn resolved(addresses: &[&str]) -> std::result::Result<Vec<String>, Refused> {
    let resolving = Public(fake(addresses)).resolve("host.example".parse().expect("a name"));
    match runtime::block_on(resolving) {
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

fn get(builder: ClientBuilder, url: &str) -> reqwest::Result<reqwest::Response> {
    let (client, url) = (built(builder).expect("a client"), url.to_owned());
    runtime::block_on(async move { client.get(url).send().await })
}

#[test]
fn a_name_that_leads_here_is_refused_before_anything_is_dialled() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    for scheme in ["http", "https"] {
        let url = format!("{scheme}://rebound.example:{port}/mcp");
        let error = get(public_only(fake(&["127.0.0.1"])), &url).expect_err("a refusal");
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
    // The same way is open for everybody else.
    listener.set_nonblocking(false).expect("a listener");
    let server = answer_once(listener, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned());
    let url = format!("http://rebound.example:{port}/mcp");
    let answer = get(any().no_proxy().dns_resolver(fake(&["127.0.0.1"])), &url);
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
    // As if a public server answered: the first hop is let through by a resolver that does not look.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let answer = format!(
        "HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:{port}/\r\nContent-Length: 0\r\n\r\n"
    );
    let server = answer_once(listener, answer);
    let unguarded = builder(Addresses::PublicOnly).no_proxy().dns_resolver(fake(&["127.0.0.1"]));
    let error = get(unguarded, &format!("http://host.example:{port}/mcp")).expect_err("a refusal");
    assert_eq!(Refused::cause_of(&error).expect("a refusal").class, Class::Loopback);
    server.join().expect("a server");
}

fn answer_once(listener: TcpListener, answer: String) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let (mut request, mut part) = (Vec::new(), [0; 1024]);
        while !request.ends_with(b"\r\n\r\n") {
            let read = stream.read(&mut part).expect("a request");
            request.extend_from_slice(&part[..read]);
        }
        stream.write_all(answer.as_bytes()).expect("a reader");
    })
}
