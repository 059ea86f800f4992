//! Owns `mcpool read`: reads one resource of one server and writes its text or its bytes.
//! Invariant: bytes never go to a terminal, and a file gets exactly what the server sent.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use clap::{Args, ValueHint};
use serde_json::json;

use super::advice::{advised, meant_name, server_command};
use super::connect::{connect_required, not_connected};
use super::screen::Screen;
use super::sources::Sources;
use super::work::with_manager;
use super::{CliError, CommandResult, OK, usage_error};
use crate::config::Declared;
use crate::error::{Error, ErrorKind};
use crate::manager::{Manager, ManagerOptions};
use crate::resource::ResourceContent;

const EXAMPLES: &str = "\
Examples:
  mcpool read demo demo://about
  mcpool read files file:///logo.png --out logo.png
  mcpool read files file:///logo.png | file -
  mcpool read demo demo://about -c mcp.json --json | jq '.contents[0].mimeType'

\"mcpool resources SERVER\" shows the addresses. Text goes to stdout. Bytes go to a
file or a pipe, never to a terminal. With --json the contents are as the server
wrote them, bytes in base64.";

/// Some servers leave out the padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Read {
    /// The server, as the config names it
    server: String,
    /// The address of the resource
    uri: String,
    /// Write it to this file, exactly as it is; "-" is stdout
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    #[command(flatten)]
    sources: Sources,
}

/// What is in a resource.
enum Content {
    Text(String),
    Bytes(Vec<u8>),
}

impl Read {
    pub(super) fn run(self, screen: &mut Screen) -> CommandResult {
        let found = self.sources.find()?;
        found.check_name(&self.server)?;
        let (config, options) = (found.config.clone(), ManagerOptions::default().begin_auth(false));
        with_manager(config, options, screen, async |manager, screen| {
            let connected = connect_required(manager, &found.config, &self.server, screen).await;
            if let Err(error) = connected {
                return not_connected(&self.server, error, screen);
            }
            let declared = found.config.servers.get(&self.server);
            match manager.read_resource(&self.server, &self.uri).await {
                Ok(contents) => self.write(contents, screen),
                Err(error) => {
                    let error = advised(&self.server, declared, error);
                    Err(self.explained(error, declared, manager).await.into())
                }
            }
        })
    }

    fn write(&self, parts: Vec<ResourceContent>, screen: &mut Screen) -> CommandResult {
        let file = self.out.as_deref().filter(|file| *file != Path::new("-"));
        if screen.is_for_programs() && file.is_none() {
            screen.document(&json!({ "contents": parts }));
            return Ok(OK);
        }
        match (self.join(parts)?, file) {
            (Content::Text(text), Some(file)) => write_file(file, text.as_bytes(), screen)?,
            (Content::Bytes(bytes), Some(file)) => write_file(file, &bytes, screen)?,
            (Content::Text(text), None) if text.is_empty() => {}
            // Writing adds a line end.
            (Content::Text(text), None) => {
                screen.say_foreign(text.strip_suffix('\n').unwrap_or(&text));
            }
            (Content::Bytes(_), None) if screen.is_at_terminal() => {
                let problem = "the resource is not text: use --out FILE, or send it to a program";
                return Err(usage_error("read", problem));
            }
            (Content::Bytes(bytes), None) => screen.write_bytes(&bytes),
        }
        Ok(OK)
    }

    /// One part as it is, or several texts one after the other.
    fn join(&self, mut parts: Vec<ResourceContent>) -> Result<Content, CliError> {
        if parts.len() == 1
            && let Some(only) = parts.pop()
        {
            return Ok(self.content_of(only)?);
        }
        let mut joined = String::new();
        for part in parts {
            let Content::Text(text) = self.content_of(part)? else {
                let problem = "the resource has several parts, and not all are text: use --json";
                return Err(usage_error("read", problem));
            };
            joined += &text;
            if !text.ends_with('\n') {
                joined.push('\n');
            }
        }
        Ok(Content::Text(joined))
    }

    fn content_of(&self, part: ResourceContent) -> Result<Content, Error> {
        let unreadable = |problem: &str| {
            Error::new(ErrorKind::ProtocolError, format!("The server's resource {problem}"))
                .with_server(&self.server)
                .with_hint("--json shows it as the server wrote it")
        };
        match (part.text, part.blob) {
            (Some(text), _) => Ok(Content::Text(text)),
            (None, Some(blob)) => {
                let decoded = decode_base64(&blob);
                decoded.map(Content::Bytes).ok_or_else(|| unreadable("is not valid base64"))
            }
            (None, None) => Err(unreadable("has neither text nor bytes")),
        }
    }

    /// The server's refusal, with the address that was meant.
    async fn explained(
        &self,
        error: Error,
        declared: Option<&Declared>,
        manager: &Manager,
    ) -> Error {
        if error.rpc().is_none() {
            return error;
        }
        let Ok(resources) = manager.list_resources(&self.server).await else { return error };
        if resources.iter().any(|resource| resource.uri == self.uri) {
            return error;
        }
        let command = server_command("resources", &self.server, declared, "");
        meant_name(error, &self.uri, resources.iter().map(|it| it.uri.as_str()), &command)
    }
}

fn write_file(file: &Path, bytes: &[u8], screen: &mut Screen) -> Result<(), CliError> {
    let shown = file.display();
    std::fs::write(file, bytes)
        .map_err(|error| usage_error("read", &format!("{shown} cannot be written: {error}")))?;
    screen.document(&json!({"out": shown.to_string(), "bytes": bytes.len()}));
    screen.say(format!("Wrote {} bytes to {shown}", bytes.len()));
    Ok(())
}

/// Lines may be broken, as in mails.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let letters: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    BASE64.decode(letters).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_with_and_without_padding_and_line_breaks() {
        for text in ["AAEC/w==", "AAEC/w", "AAEC\r\n/w==\n"] {
            assert_eq!(decode_base64(text), Some(vec![0, 1, 2, 255]), "{text}");
        }
        for text in ["not base64!", "A", "AA=A"] {
            assert_eq!(decode_base64(text), None, "{text}");
        }
    }
}
