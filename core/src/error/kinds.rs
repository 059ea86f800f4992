//! Owns the list of kinds: one line each, with its stable code, whether it is retryable, and one sentence about it.

macro_rules! kinds {
    ($($kind:ident $code:literal $retryable:literal $doc:literal,)*) => {
        /// What went wrong. The code is stable and the same in Rust, Python and Node.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $(#[doc = $doc] $kind,)*
        }

        impl ErrorKind {
            /// Every kind, in the order of the list.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$kind,)*];

            /// The stable code.
            pub fn code(self) -> &'static str {
                match self { $(ErrorKind::$kind => $code,)* }
            }

            /// The kind of a stable code.
            pub fn from_code(code: &str) -> Option<ErrorKind> {
                ErrorKind::ALL.iter().copied().find(|kind| kind.code() == code)
            }

            /// Whether the same request may succeed later without any change.
            pub fn retryable(self) -> bool {
                match self { $(ErrorKind::$kind => $retryable,)* }
            }

            /// One sentence about the kind.
            pub fn about(self) -> &'static str {
                match self { $(ErrorKind::$kind => $doc,)* }
            }
        }
    };
}

impl ErrorKind {
    /// Whether only people can fix it. Their files, commands and settings are not shown to models.
    pub(crate) fn is_for_people(self) -> bool {
        matches!(
            self,
            ErrorKind::ConfigInvalid
                | ErrorKind::ConfigConflict
                | ErrorKind::ConfigIo
                | ErrorKind::DiscoveryFailed
                | ErrorKind::Untrusted
                | ErrorKind::ServerDisabled
                | ErrorKind::AuthRequired
                | ErrorKind::AuthFailed
        )
    }
}

kinds! {
    ConfigInvalid "CONFIG_INVALID" false "A server definition or an option cannot be used as written.",
    ConfigConflict "CONFIG_CONFLICT" false "Another manager holds a server of this name with a different definition.",
    ConfigIo "CONFIG_IO" false "A config file cannot be read or written.",
    DiscoveryFailed "DISCOVERY_FAILED" false "Looking for config files failed as a whole.",
    Untrusted "UNTRUSTED" false "A project's server is not started or dialled before its source is trusted.",
    ServerDisabled "SERVER_DISABLED" false "The server is switched off in its config.",
    ServerNotFound "SERVER_NOT_FOUND" false "The manager has no server of this name. For a call that is `TOOL_UNAVAILABLE`.",
    ConnectFailed "CONNECT_FAILED" true "The server could not be started or reached.",
    ConnectTimeout "CONNECT_TIMEOUT" true "The server did not get ready within its timeout.",
    HandshakeFailed "HANDSHAKE_FAILED" true "The server answered, but not as an MCP server that we can speak with.",
    AuthRequired "AUTH_REQUIRED" false "The server wants a sign-in.",
    AuthFailed "AUTH_FAILED" false "The server refused the credentials, or nobody could say for whom the call is made.",
    ToolUnavailable "TOOL_UNAVAILABLE" true "The tool's server is not there to take the call, or takes none now.",
    ToolRejected "TOOL_REJECTED" false "The server has no such tool, or refuses the call.",
    ToolFailed "TOOL_FAILED" false "The server answered the call with a JSON-RPC error.",
    ToolTimeout "TOOL_TIMEOUT" true "The tool did not answer in time.",
    InvalidArguments "INVALID_ARGUMENTS" false "The arguments are not a JSON object.",
    NotApproved "NOT_APPROVED" false "The approval callback refused the call.",
    ConnectionLost "CONNECTION_LOST" true "The connection ended while the call was under way.",
    RestartInProgress "mcp_restart_in_progress" true "The server is being restarted.",
    RestartFailed "mcp_restart_failed" true "The last restart failed; the next one is due later.",
    ProtocolError "PROTOCOL_ERROR" false "The server sent an answer that cannot be read.",
    LimitExceeded "LIMIT_EXCEEDED" false "A message or a queue went over its limit.",
    Closed "CLOSED" false "The manager is closed, or was closed during the call.",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique() {
        let codes: std::collections::HashSet<_> =
            ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
        assert_eq!(codes.len(), ErrorKind::ALL.len());
    }
}
