//! Stands in for `watch` where the crate is built without that feature.

use std::path::PathBuf;
use std::sync::Weak;

use super::Inner;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};

pub(super) enum Watch {}

impl Watch {
    pub(super) fn new(_files: Vec<PathBuf>, _clock: Clock, _manager: Weak<Inner>) -> Result<Watch> {
        let text = "This build of mcpool cannot watch config files";
        Err(Error::new(ErrorKind::ConfigInvalid, text)
            .with_hint("build the crate with its feature \"watch\", or call reload()"))
    }
}
