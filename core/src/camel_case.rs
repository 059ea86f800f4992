//! Owns the names of JavaScript: `restart_wait` is `restartWait` there.

/// `restart_wait` as `restartWait`.
pub(crate) fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let mut rest = word.chars();
        let initial = rest.next().into_iter().flat_map(char::to_uppercase);
        name + &initial.collect::<String>() + rest.as_str()
    })
}
