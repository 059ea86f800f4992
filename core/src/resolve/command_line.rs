//! Recognises a whole command line where only the program belongs: `"command": "python -m x"`.

use std::path::Path;

use serde_json::json;

use crate::redact;

/// Whether the command has blanks, as a program with its arguments has.
pub(super) fn is_one(command: &str) -> bool {
    command.contains(char::is_whitespace)
}

/// How to write the command line as a program and its arguments. Values that may be secret have stars.
pub(super) fn advice(command: &str) -> Option<String> {
    if !is_one(command) {
        return None;
    }
    let words = match command.contains('\\') {
        // Of Windows, where a backslash separates directories.
        true => command.split_whitespace().map(str::to_owned).collect(),
        false => shlex::split(command)?,
    };
    let (program, args) = words.split_first().filter(|(_, args)| !args.is_empty())?;
    // Without such a program, `/opt/my tools/server` is rather a path with a blank in it.
    let goes_on = args[0].contains('/') && !args[0].starts_with(['-', '/']);
    if program.contains('/') && goes_on && !Path::new(program).is_file() {
        return None;
    }
    let (program, args) = (json!(redact::text(program)), json!(redact::args(args)));
    Some(format!(
        "\"command\" is the program alone; write the rest into \"args\": \"command\": {program}, \"args\": {args}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_split_into_program_and_arguments() {
        assert!(
            advice("python -m 'my server'")
                .unwrap()
                .ends_with(r#""command": "python", "args": ["-m","my server"]"#)
        );
        assert_eq!(advice("python"), None);
        assert_eq!(advice("  "), None);
        assert_eq!(advice("/opt/my tools/bin/server"), None, "a path with a blank");
        assert!(advice("/bin/sh /srv/server").is_some());
        assert_eq!(advice("it's"), None);
        let with_secret = advice("server --token hunter2-hunter2").unwrap();
        assert!(!with_secret.contains("hunter2"), "{with_secret}");
        assert!(!redact::text("server --token hunter2-hunter2").contains("hunter2"));
        assert!(advice(r"C:\tools\x.exe -m y").unwrap().contains(r#""C:\\tools\\x.exe""#));
    }
}
