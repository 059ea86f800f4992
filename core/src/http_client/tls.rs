//! Owns the TLS settings of a link: which certificates of a server are accepted, and the certificate that we present.
//! Invariant: a link uses only its own client certificate, and its sessions are resumed by no other link.

use std::error::Error as StdError;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rustls::client::{ResolvesClientCert, Resumption, WantsClientCert};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{
    AlertDescription, ClientConfig, ConfigBuilder, RootCertStore, SignatureScheme, WantsVerifier,
};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::error::{Error, ErrorKind};
use crate::fork::PerProcess;
use crate::resolve::{PemFile, TlsFiles};
use crate::sync::lock;

/// A link has one host.
const SESSIONS: usize = 8;

/// Why TLS cannot be used.
#[derive(Debug)]
pub(super) enum TlsProblem {
    /// The field that names a file, and what is wrong with the file.
    File(&'static str, String),
    Library(rustls::Error),
}

impl TlsProblem {
    pub(super) fn into_error(self, server: &str) -> Error {
        match self {
            TlsProblem::File(field, problem) => {
                let text = format!("The file of \"{field}\" {problem}");
                Error::new(ErrorKind::ConfigInvalid, text).with_server(server)
            }
            TlsProblem::Library(error) => {
                Error::new(ErrorKind::ConnectFailed, format!("TLS cannot be used here: {error}"))
            }
        }
    }
}

impl From<rustls::Error> for TlsProblem {
    fn from(error: rustls::Error) -> Self {
        TlsProblem::Library(error)
    }
}

/// Presents no certificate, and records whether the server asked for one.
#[derive(Debug, Default)]
pub(super) struct NoCertificate {
    was_asked: AtomicBool,
}

impl NoCertificate {
    pub(super) fn was_asked(&self) -> bool {
        self.was_asked.load(Ordering::Relaxed)
    }
}

impl ResolvesClientCert for NoCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.was_asked.store(true, Ordering::Relaxed);
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

/// The settings of one link, without application protocols.
pub(super) fn link_tls(files: Option<&TlsFiles>) -> Result<ClientConfig, TlsProblem> {
    let mut settings = match files {
        Some(files) => own_settings(files)?,
        None => shared_settings()?,
    };
    // Sessions are per link: otherwise a server could tell that two links belong to one process.
    settings.resumption = Resumption::in_memory_sessions(SESSIONS);
    Ok(settings)
}

/// The settings for a proxy of any link.
pub(super) fn proxy_tls() -> Result<ClientConfig, rustls::Error> {
    let mut settings = shared_settings()?;
    settings.resumption = Resumption::disabled();
    Ok(settings)
}

/// Shared by all links without files, and for proxies: reading the system's certificates is the most expensive part of a client.
fn shared_settings() -> Result<ClientConfig, rustls::Error> {
    static SHARED: PerProcess<Mutex<Option<ClientConfig>>> = PerProcess::new(Mutex::default);
    let mut shared = lock(SHARED.get());
    if let Some(settings) = &*shared {
        return Ok(settings.clone());
    }
    // A failure is not cached: the certificates may be readable the next time.
    let settings = builder()?.with_platform_verifier()?.with_no_client_auth();
    Ok(shared.insert(settings).clone())
}

/// Read at each start of a link, so that renewed files are used.
fn own_settings(files: &TlsFiles) -> Result<ClientConfig, TlsProblem> {
    let verified: ConfigBuilder<ClientConfig, WantsClientCert> = match &files.ca {
        Some(ca) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(ca)? {
                roots.add(certificate).map_err(|error| ca.problem(error))?;
            }
            builder()?.with_root_certificates(roots)
        }
        None => builder()?.with_platform_verifier()?,
    };
    Ok(match &files.client {
        Some((certificate, key)) => {
            let chain = certificates(certificate)?;
            let secret = PrivateKeyDer::from_pem_slice(key.text.expose().as_bytes());
            let secret = secret.map_err(|_| key.problem("has no private key in PEM form"))?;
            let presented = verified.with_client_auth_cert(chain, secret);
            presented.map_err(|_| key.problem("does not fit the certificate"))?
        }
        None => verified.with_no_client_auth(),
    })
}

/// Whether a server ended the handshake as one does that wants another client certificate, or any.
pub(crate) fn may_want_certificate(error: &(dyn StdError + 'static)) -> bool {
    let is_alert = |error: &rustls::Error| {
        matches!(
            error,
            rustls::Error::AlertReceived(
                AlertDescription::CertificateRequired
                    | AlertDescription::BadCertificate
                    | AlertDescription::HandshakeFailure
            )
        )
    };
    std::iter::successors(Some(error), |&error| error.source()).any(|error| {
        // An I/O error skips its own cause in `source`.
        let io = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let of_io = io.and_then(|cause| cause.downcast_ref());
        error.downcast_ref().or(of_io).is_some_and(is_alert)
    })
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    // Another library in the process may have installed a provider already; either works.
    let _ = ring::default_provider().install_default();
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(ring::default_provider()));
    ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()
}

fn certificates(file: &PemFile) -> Result<Vec<CertificateDer<'static>>, TlsProblem> {
    let found = CertificateDer::pem_slice_iter(file.text.expose().as_bytes());
    match found.collect::<Result<Vec<_>, _>>() {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(file.problem("has no certificate in PEM form")),
    }
}

impl PemFile {
    fn problem(&self, what: impl ToString) -> TlsProblem {
        TlsProblem::File(self.field, what.to_string())
    }
}
