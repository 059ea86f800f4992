//! The keychain of macOS.

use security_framework::base::Error;
use security_framework::passwords::{PasswordOptions, generic_password, set_generic_password};

use super::{NoKey, SERVICE, USER};
use crate::host_env::HostEnv;
use crate::redact::Secret;

/// `errSecItemNotFound`
const NOT_FOUND: i32 = -25300;
/// `errSecAuthFailed`, `errSecInteractionNotAllowed` and `errSecUserCanceled`
const LOCKED: [i32; 3] = [-25293, -25308, -128];

/// There is one for each user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place;

pub(super) fn place(host_env: &HostEnv) -> Option<Place> {
    // The keychain is that of the process's user.
    host_env.is_process().then_some(Place)
}

pub(super) fn find(_: &Place) -> Result<Vec<Secret>, NoKey> {
    match generic_password(PasswordOptions::new_generic_password(SERVICE, USER)) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok().map(Secret::new).into_iter().collect()),
        Err(error) if error.code() == NOT_FOUND => Ok(Vec::new()),
        Err(error) => Err(no_key(error)),
    }
}

pub(super) fn create(_: &Place, key: &Secret) -> Result<(), NoKey> {
    set_generic_password(SERVICE, USER, key.expose().as_bytes()).map_err(no_key)
}

fn no_key(error: Error) -> NoKey {
    match LOCKED.contains(&error.code()) {
        true => NoKey::Locked,
        false => NoKey::Failed(error.to_string()),
    }
}
