//! Owns opening a page in the user's browser.
//! Invariant: only http and https addresses are opened, and no shell reads them.

use url::Url;

use crate::runtime;

/// Returns whether a browser took the page. A browser in the terminal keeps it until it ends.
pub(super) async fn open(page: &str) -> bool {
    let Ok(url) = Url::parse(page) else { return false };
    if !matches!(url.scheme(), "http" | "https") {
        return false;
    }
    let opened = runtime::unblock(move || Ok(webbrowser::open(url.as_str()).is_ok()));
    opened.await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_addresses_are_not_opened() {
        for page in ["file:///etc/passwd", "javascript:alert(1)", "mailto:a@b", "--help", ""] {
            assert!(!runtime::block_on(open(page)), "{page}");
        }
    }
}
