//! Hazard: a server with a trusted certificate is not reached over TLS, or one with an untrusted certificate is.

mod common;
#[path = "tls/front.rs"]
mod front;

use common::{Web, manager};
use front::{Authority, behind_tls};
use mcpool::{Arguments, CallOptions};
use serde_json::json;

#[tokio::test]
async fn a_server_is_reached_over_tls_when_its_authority_is_trusted_and_only_then() {
    let (trusted, stranger) = (Authority::new(), Authority::new());
    let file = std::env::temp_dir().join(format!("mcpool-ca-{}.pem", std::process::id()));
    std::fs::write(&file, trusted.pem()).unwrap();
    // SAFETY: this process runs one test, and nothing has read the environment yet.
    unsafe { std::env::set_var("SSL_CERT_FILE", &file) };

    let (_web, url) = Web::start([]);
    let plain = url::Url::parse(&url).unwrap().socket_addrs(|| None).unwrap()[0];
    let url = async |authority: &Authority| {
        format!("https://localhost:{}/mcp", behind_tls(authority.acceptor(), plain).await)
    };
    let manager = manager(json!({
        "s": {"url": url(&trusted).await},
        "stranger": {"url": url(&stranger).await},
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
