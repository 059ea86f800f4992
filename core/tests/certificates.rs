//! Hazard: a server whose certificate does not fit is talked to, over any transport, or on the connection of another's
//! files.

mod common;
#[path = "tls/front.rs"]
mod front;

use common::{Journal, Web, apart, call, manager, until};
use front::{Authority, behind_tls, certificate_for, self_signed};
use mcpool::{Manager, Stage, State};
use rcgen::date_time_ymd;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_does_not_fit_is_refused_before_anything_is_sent() {
    let (ours, stranger) = (Authority::new(), Authority::new());
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), ours.pem()).expect("the file is written");
    for (transport, scheme, path) in
        [("http", "https", "mcp"), ("sse", "https", "sse"), ("websocket", "wss", "mcp")]
    {
        let journal = Journal::new(&format!("certificates-{transport}"));
        let (_web, url) = Web::start_over(transport, ["--journal", journal.path()]);
        let plain = url::Url::parse(&url).unwrap();
        let plain = plain.socket_addrs(|| None).unwrap()[0];
        let server = async |acceptor| {
            let port = behind_tls(acceptor, plain).await;
            json!({
                "type": transport,
                "url": format!("{scheme}://localhost:{port}/{path}"),
                "tls": {"ca": file.path()},
                "headers": {"Authorization": "Bearer secret"},
                "restart": "never",
            })
        };
        let mut expired = certificate_for("localhost");
        expired.not_after = date_time_ymd(2001, 1, 1);
        let mut early = certificate_for("localhost");
        early.not_before = date_time_ymd(4000, 1, 1);
        let refused = manager(json!({
            "name": server(ours.acceptor_with(certificate_for("elsewhere.example"))).await,
            "expired": server(ours.acceptor_with(expired)).await,
            "early": server(ours.acceptor_with(early)).await,
            "self-signed": server(self_signed(certificate_for("localhost"))).await,
            "stranger": server(stranger.acceptor()).await,
        }));
        let report = refused.connect_all().await.expect("a report");
        assert!(report.connected.is_empty(), "{transport}: {report:?}");
        assert_eq!(report.failed.len(), 5, "{transport}: {report:?}");
        for (name, error) in &report.failed {
            assert_eq!(error.code(), "CONNECT_FAILED", "{transport} {name}: {error}");
            assert_eq!(error.stage(), Some(Stage::Dial), "{transport} {name}: {error}");
        }
        refused.close().await;
        let talked = journal.entries().into_iter().filter(|entry| entry["event"] != "start");
        assert_eq!(talked.count(), 0, "{transport}: something was sent");

        let accepted = manager(json!({"s": server(ours.acceptor()).await}));
        accepted.connect_all().await.expect("a report");
        let answer = call(&accepted, "echo", json!({"text": "sealed"})).await.expect("an answer");
        assert_eq!(answer.text(), "sealed", "{transport}");
        accepted.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_text_with_other_files_beside_it_is_another_server() {
    let (ours, stranger) = (Authority::new(), Authority::new());
    let (_web, url) = Web::start([]);
    let plain = url::Url::parse(&url).unwrap().socket_addrs(|| None).unwrap()[0];
    let port = behind_tls(ours.acceptor(), plain).await;
    let server = json!({"url": format!("https://localhost:{port}/mcp"), "tls": {"ca": "ca.pem"}, "restart": "never"});
    let place = tempfile::tempdir().expect("a directory");
    let write = |name: &str, authority: &Authority| {
        let directory = place.path().join(name);
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("ca.pem"), authority.pem()).unwrap();
        let file = directory.join("c.json");
        std::fs::write(&file, json!({"mcpServers": {"s": &server}}).to_string()).unwrap();
        file
    };
    let options = apart();
    let one = Manager::open(write("one", &ours), options.clone()).unwrap();
    let other = Manager::open(write("other", &stranger), options).unwrap();
    assert_eq!(one.connect_all().await.expect("a report").connected, ["s"]);
    let report = other.connect_all().await.expect("a report");
    assert_eq!(report.failed["s"].code(), "CONFIG_CONFLICT", "{report:?}");
    one.close().await;
    let report = other.connect_all().await.expect("a report");
    assert_eq!(report.failed["s"].stage(), Some(Stage::Dial), "{report:?}");
    other.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_missing_for_a_while_stops_nothing_for_good() {
    let ours = Authority::new();
    let (_web, url) = Web::start([]);
    let plain = url::Url::parse(&url).unwrap().socket_addrs(|| None).unwrap()[0];
    let port = behind_tls(ours.acceptor(), plain).await;
    let place = tempfile::tempdir().expect("a directory");
    let ca = place.path().join("ca.pem");
    let manager = manager(json!({"s": {
        "url": format!("https://localhost:{port}/mcp"),
        "tls": {"ca": ca},
        "restart": {"delays": [50], "forever": true},
    }}));
    let report = manager.connect_all().await.expect("a report");
    assert_eq!(report.failed["s"].code(), "CONNECT_FAILED", "{report:?}");
    let renewed = place.path().join("renewed.pem");
    std::fs::write(&renewed, ours.pem()).unwrap();
    std::fs::rename(renewed, ca).unwrap();
    until("a connection", || manager.status()[0].state == State::Connected).await;
    manager.close().await;
}
