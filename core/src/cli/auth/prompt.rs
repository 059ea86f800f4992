//! Owns asking a person to sign in: shows the page, opens it, and reads where the browser was sent back to.

use std::future::pending;
use std::io::{self, BufRead, IsTerminal, Read};

use super::browser;
use crate::auth_prompt::AuthPrompt;
use crate::cli::screen::Screen;
use crate::cli::terminal::Tint;
use crate::error::{Error, ErrorKind};
use crate::manager::Manager;
use crate::runtime;

/// How long a pasted address may be.
const PASTED: u64 = 64 << 10;

/// Says what is about to happen, and prints the page.
pub(super) fn print(prompt: &AuthPrompt, is_pasted: bool, screen: &mut Screen) {
    let what = match (&prompt.user_code, is_pasted) {
        (Some(_), _) => "open this page on any device, and type the code there",
        (None, true) => "open this page in a browser",
        (None, false) => "this page opens in your browser",
    };
    screen.note(Tint::Bold, &format!("Signing in to \"{}\":", prompt.server), what);
    if !prompt.scopes.is_empty() {
        screen.note(Tint::Dim, "Scopes:", &prompt.scopes.join(" "));
    }
    screen.record(prompt);
    screen.say_foreign(&prompt.url);
    if let Some(code) = &prompt.user_code {
        screen.say_foreign(&format!("Code: {code}"));
    }
}

/// Helps the person while the sign-in is open. Ends only with an error.
pub(super) async fn assist(
    prompt: &AuthPrompt,
    is_pasted: bool,
    manager: &Manager,
    screen: &Screen,
) -> Error {
    match (&prompt.user_code, is_pasted) {
        (Some(_), _) => {}
        (None, true) => return read_redirect(manager, screen).await,
        (None, false) if browser::open(&prompt.url).await => {}
        (None, false) => {
            let text = "no browser could be opened: open the address yourself";
            screen.note(Tint::Yellow, "Warning:", text);
        }
    }
    screen.waiting_for("waiting for you to sign in …");
    pending().await
}

/// Reads the address that the browser was sent back to. The browser may also reach us by itself.
async fn read_redirect(manager: &Manager, screen: &Screen) -> Error {
    let is_typed = io::stdin().is_terminal();
    let text = "if the browser ends at a page that does not load, paste its address here";
    screen.note(Tint::Dim, "Next:", text);
    while let Some(line) = read_line().await {
        if line.trim().is_empty() {
            continue;
        }
        match manager.complete_auth(&line).await {
            // A slip can be corrected at a terminal.
            Err(error) if error.kind() == ErrorKind::InvalidArguments && is_typed => {
                screen.trouble("Error:", &error);
            }
            Err(error) if error.kind() == ErrorKind::InvalidArguments => return error,
            // The sign-in itself tells how it ended.
            _ => break,
        }
    }
    pending().await
}

/// The next line of stdin.
async fn read_line() -> Option<String> {
    let read = runtime::unblock(|| {
        let mut line = String::new();
        let read = io::stdin().lock().take(PASTED).read_line(&mut line);
        Ok(read.is_ok_and(|bytes| bytes > 0).then_some(line))
    });
    read.await.ok().flatten()
}
