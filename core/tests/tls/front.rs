//! Owns certificates, and TLS in front of a plain server.
#![allow(dead_code)]

use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Serves with a certificate for `localhost`.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor_with(certificate_for("localhost"))
    }

    /// Serves with a certificate that this authority has signed.
    pub(crate) fn acceptor_with(&self, params: CertificateParams) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        serving(certificate.der().clone(), &key)
    }
}

pub(crate) fn certificate_for(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).unwrap()
}

/// Serves with a certificate that nobody else has signed.
pub(crate) fn self_signed(params: CertificateParams) -> TlsAcceptor {
    let key = KeyPair::generate().unwrap();
    serving(params.self_signed(&key).unwrap().der().clone(), &key)
}

fn serving(certificate: CertificateDer<'static>, key: &KeyPair) -> TlsAcceptor {
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(
        rustls::crypto::ring::default_provider(),
    ))
    .with_safe_default_protocol_versions()
    .unwrap()
    .with_no_client_auth()
    .with_single_cert(vec![certificate], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
    .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Terminates TLS and forwards the rest to a plain server; returns the port to dial.
pub(crate) async fn behind_tls(acceptor: TlsAcceptor, plain: SocketAddr) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
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
    port
}
