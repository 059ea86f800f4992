//! A person who signs in: opens the pages of the fixture's authorisation server and goes where they lead to.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use mcpool::{AuthPrompt, LoginStore, LoginStoreRequest, Manager, OnAuth};
use serde_json::{Value, json};

use crate::common::page::{Page, load, visit};
use crate::place::Asked;

/// Opens a page, and goes where it leads to if it should follow.
pub(crate) async fn get(url: &str, follow: bool) -> Page {
    let url = url.to_owned();
    tokio::task::spawn_blocking(move || if follow { visit(&url) } else { load(&url) })
        .await
        .expect("a page")
}

/// Signs in by the script: `browser` opens the page and goes where it leads to, `redirect` returns where it leads to,
/// `ignore` does nothing, `fail` and `hang` do what they say.
pub(crate) fn signing_in(answers: &Value, questions: &Asked) -> OnAuth {
    let (answers, questions) = (answers.clone(), questions.clone());
    OnAuth::new(move |prompt: AuthPrompt| {
        let answer = answers[&prompt.server].clone();
        questions.lock().unwrap().push(json!(prompt));
        async move {
            match answer.as_str().unwrap_or("ignore") {
                "browser" => drop(get(&prompt.url, true).await),
                "redirect" => return get(&prompt.url, false).await.location,
                // Fails without printing a panic.
                "fail" => std::panic::resume_unwind(Box::new("the script says so")),
                "hang" => std::future::pending().await,
                _ => {}
            }
            None
        }
    })
}

/// The page that the status of a server names.
pub(crate) fn page_of(manager: &Manager, server: &str) -> String {
    let status = manager.status().into_iter().find(|status| status.name == server);
    let error = status.and_then(|status| status.error).expect("an error");
    error.auth_url().expect("a page").to_owned()
}

/// The texts of a store of logins, by their keys.
pub(crate) type Logins = Arc<Mutex<HashMap<String, String>>>;

/// A store of logins in memory; with `fail` it does nothing but fail.
pub(crate) fn keeping(logins: &Logins, answers: &Value) -> LoginStore {
    let (logins, fails) = (logins.clone(), answers == "fail");
    let fails_save = AtomicBool::new(answers == "fail_first_save");
    LoginStore::new(move |request| {
        let mut logins = logins.lock().unwrap();
        let is_save = matches!(request, LoginStoreRequest::Save { .. });
        let fails = fails || is_save && fails_save.swap(false, Ordering::Relaxed);
        let answer = match request {
            _ if fails => Err("the script says so".to_owned()),
            LoginStoreRequest::Load { key } => Ok(logins.get(&key).cloned()),
            LoginStoreRequest::Save { key, value } => {
                logins.insert(key, value.expose().to_owned());
                Ok(None)
            }
            LoginStoreRequest::Remove { key } => {
                logins.remove(&key);
                Ok(None)
            }
            other => panic!("there is no {other:?}"),
        };
        async move { answer }
    })
}
