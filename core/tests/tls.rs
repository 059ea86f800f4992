//! Hazard: a server with a trusted certificate is not reached over TLS, or one with an untrusted certificate is.

mod common;

use std::net::SocketAddr;
use std::sync::Arc;

use common::{Web, manager};
use mcpool::{Arguments, CallOptions};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn acceptor(&self) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let config = rustls::ServerConfig::builder_with_provider(Arc::new(
            rustls::crypto::ring::default_provider(),
        ))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

/// Terminates TLS and forwards the rest; returns the URL to dial.
async fn behind_tls(authority: &Authority, plain: SocketAddr) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/mcp", listener.local_addr().unwrap().port());
    let acceptor = authority.acceptor();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut outer) = acceptor.accept(stream).await else { return };
                let mut inner = TcpStream::connect(plain).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut outer, &mut inner).await;
            });
        }
    });
    url
}

#[tokio::test]
async fn a_server_is_reached_over_tls_when_its_authority_is_trusted_and_only_then() {
    let (trusted, stranger) = (Authority::new(), Authority::new());
    let file = std::env::temp_dir().join(format!("mcpool-ca-{}.pem", std::process::id()));
    std::fs::write(&file, trusted.0.pem()).unwrap();
    // SAFETY: this process runs one test, and nothing has read the environment yet.
    unsafe { std::env::set_var("SSL_CERT_FILE", &file) };

    let (_web, url) = Web::start([]);
    let plain = url::Url::parse(&url).unwrap().socket_addrs(|| None).unwrap()[0];
    let manager = manager(json!({
        "s": {"url": behind_tls(&trusted, plain).await},
        "stranger": {"url": behind_tls(&stranger, plain).await},
    }));
    let report = manager.connect_all().await.unwrap();
    assert_eq!(report.connected, ["s"], "{report:?}");
    assert_eq!(report.failed["stranger"].code(), "CONNECT_FAILED");
    let arguments = Arguments::from_json(r#"{"text": "sealed"}"#).unwrap();
    let result = manager.call_tool("s", "echo", arguments, CallOptions::default()).await.unwrap();
    assert_eq!(result.text(), "sealed");
    manager.close().await;
    std::fs::remove_file(file).unwrap();
}
