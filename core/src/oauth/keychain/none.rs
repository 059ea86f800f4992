//! Stands in for a keychain on Windows: logins are plain files in the user's profile.

use super::NoKey;
use crate::host_env::HostEnv;
use crate::redact::Secret;

/// There is none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place;

pub(super) fn place(_: &HostEnv) -> Option<Place> {
    None
}

pub(super) fn find(_: &Place) -> Result<Vec<Secret>, NoKey> {
    Err(NoKey::Absent)
}

pub(super) fn create(_: &Place, _: &Secret) -> Result<(), NoKey> {
    Err(NoKey::Absent)
}
