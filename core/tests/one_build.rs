//! Every cargo call of the Makefile asks for the same features of each dependency. A feature that differs would compile the
//! dependency, and all that depends on it, a second time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The packages that the Makefile builds together.
const BUILDS: [&[&str]; 4] =
    [&["mcpool-python"], &["mcpool-node"], &["mcpool"], &["mcpool", "mcpool-fixture"]];

#[test]
fn dependencies_have_the_same_features_in_every_build() {
    let mut seen: BTreeMap<String, BTreeMap<BTreeSet<String>, &[&str]>> = BTreeMap::new();
    for packages in BUILDS {
        for (name, features) in dependencies(packages) {
            seen.entry(name).or_default().entry(features).or_insert(packages);
        }
    }
    let differing: Vec<_> = seen.iter().filter(|(_, variants)| variants.len() > 1).collect();
    assert!(differing.is_empty(), "features differ between builds: {differing:#?}");
}

/// Each dependency with its sets of features: a crate may be built once for the target and once for macros.
fn dependencies(packages: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).args(["tree", "--offline", "--locked", "--prefix", "none"]);
    cargo.args(["--edges", "normal,build", "--format", "{p}\t{f}"]);
    cargo.args(packages.iter().flat_map(|package| ["-p", package]));
    let output = cargo.output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).expect("UTF-8").lines() {
        let Some((name, features)) = line.split_once('\t') else { continue };
        found
            .entry(name.to_owned())
            .or_default()
            .insert(features.trim_end_matches(" (*)").to_owned());
    }
    found
}
