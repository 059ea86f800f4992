//! Owns counting the sockets of this process.

use std::collections::HashSet;

/// The number of this process's sockets to the port of `url`.
pub(crate) fn sockets(url: &str) -> usize {
    let port: u16 = url.rsplit(':').next().unwrap().split('/').next().unwrap().parse().unwrap();
    let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let ours: HashSet<String> = links
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter_map(|link| {
            Some(link.to_str()?.strip_prefix("socket:[")?.trim_end_matches(']').to_owned())
        })
        .collect();
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let remote = format!(":{port:04X}");
    table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields.get(2).is_some_and(|peer| peer.ends_with(&remote)))
        .filter(|fields| fields.get(9).is_some_and(|inode| ours.contains(*inode)))
        .count()
}
