//! Owns signing in to a server by OAuth: where (`discovery` with its `metadata`), as which `client`, how a person is asked
//! (`flow` with its `listener`), the requests for tokens (`token`, with `jwt` and `dpop`), and what is kept between
//! processes (`record`, `store`, `seal` with the key of the `keychain`; `inspect` describes it). [`Login`] puts it together
//! for one connection.
//! Invariant: a credential goes only to whom it was issued for or by; no text of ours shows one.

mod challenge;
mod client;
mod discovery;
mod dpop;
mod flow;
mod http;
#[cfg(feature = "cli")]
mod inspect;
mod jwt;
mod keychain;
mod listener;
mod login;
mod metadata;
mod place;
mod problem;
mod random;
mod record;
mod refresh_process;
mod renewal;
mod seal;
mod store;
mod token;

pub(crate) use challenge::Challenge;
pub(crate) use flow::Flow;
#[cfg(any(test, fuzzing))]
pub(crate) use http::endpoints_of;
#[cfg(feature = "cli")]
pub(crate) use inspect::{StoredLogin, UnusableFile, UsableLogin, inspect};
pub(crate) use login::{Login, LoginOwner, Refusal, Settled, Token};
pub(crate) use place::LoginPlace;
#[cfg(feature = "cli")]
pub(crate) use record::Mismatch;
pub use refresh_process::refresh_login;
#[cfg(feature = "cli")]
pub(crate) use store::Kept;
