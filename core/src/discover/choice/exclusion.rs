//! Owns which servers are left out: those that the options exclude, and those that the host integrates by itself.

use wildmatch::WildMatch;

use super::super::native::{NATIVES, Native};
use super::super::{DiscoverOptions, Discovery};
use crate::config::Declared;
use crate::redact::Secret;

/// What is left out, by the options.
pub(super) struct Exclusions {
    globs: Vec<(String, WildMatch)>,
    natives: Vec<&'static Native>,
}

impl Exclusions {
    pub(super) fn new(options: &DiscoverOptions, discovery: &mut Discovery) -> Self {
        let globs =
            options.exclude.iter().map(|glob| (glob.clone(), WildMatch::new(glob))).collect();
        let mut natives = Vec::new();
        for name in &options.native {
            match Native::by_name(name) {
                Some(native) => {
                    natives.push(native);
                    discovery.native.insert(name.clone(), Vec::new());
                }
                None => {
                    let known: Vec<_> = NATIVES.iter().map(|native| native.name).collect();
                    let known = known.join(", ");
                    discovery.config.warnings.push(format!(
                        "The option \"native\" has \"{name}\", which is none of {known}"
                    ));
                }
            }
        }
        Exclusions { globs, natives }
    }

    /// Why the server is left out, if it is. Also collects the keys of a native integration.
    pub(super) fn leave_out(
        &self,
        name: &str,
        original: &str,
        declared: &Declared,
        untrusted: bool,
        discovery: &mut Discovery,
    ) -> Option<String> {
        let config = declared.config.as_ref().ok();
        let urls = [config, declared.direct.as_ref()]
            .into_iter()
            .flatten()
            .filter_map(|config| config.transport.remote().map(|remote| remote.url.as_str()));
        let texts: Vec<&str> = [name, original].into_iter().chain(urls).collect();
        if let Some((glob, _)) =
            self.globs.iter().find(|(_, glob)| texts.iter().any(|text| glob.matches(text)))
        {
            return Some(format!("excluded by \"{glob}\""));
        }
        let native = self.natives.iter().find(|native| native.matches(name, config))?;
        let keys: &mut Vec<Secret> = discovery.native.entry(native.name.to_owned()).or_default();
        // With an untrusted key, the host's requests would go to a stranger's account.
        let config = config.filter(|config| config.enabled && !untrusted);
        if let Some(key) = config.and_then(|config| native.key(config))
            && !keys.contains(&key)
        {
            keys.push(key);
        }
        Some(format!("the host integrates {} by itself", native.name))
    }
}
