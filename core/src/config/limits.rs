//! Owns the bounds on what one server may cost us.

use super::fields::Fields;

/// The bounds on one connection; beyond one, the call concerned fails with `LIMIT_EXCEEDED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest line or body.
    pub message_bytes: usize,
    /// The deepest nesting of JSON.
    pub json_depth: usize,
    /// How many requests of the server may be open.
    pub server_requests: usize,
    /// How much of our replies may wait for a server that does not read.
    pub reply_bytes: usize,
    /// How much of one text of the server is shown or kept: a name, instructions, the words of an error or a log.
    pub text_bytes: usize,
    /// The longest definition of one tool; a longer one is left out.
    pub tool_bytes: usize,
    /// How much the definitions of all its tools may be.
    pub tool_list_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            message_bytes: 32 << 20,
            json_depth: 256,
            server_requests: 64,
            reply_bytes: 1 << 20,
            text_bytes: 64 << 10,
            tool_bytes: 4 << 20,
            tool_list_bytes: 64 << 20,
        }
    }
}

impl Limits {
    pub(super) fn take(fields: &mut Fields<'_>) -> Self {
        let default = Limits::default();
        let Some(object) = fields.object("limits") else { return default };
        let mut fields = fields.nested("limits", object);
        let limits = Limits {
            message_bytes: fields.count("messageBytes", default.message_bytes),
            json_depth: fields.count("jsonDepth", default.json_depth),
            server_requests: fields.count("serverRequests", default.server_requests),
            reply_bytes: fields.count("replyBytes", default.reply_bytes),
            text_bytes: fields.count("textBytes", default.text_bytes),
            tool_bytes: fields.count("toolBytes", default.tool_bytes),
            tool_list_bytes: fields.count("toolListBytes", default.tool_list_bytes),
        };
        fields.finish();
        limits
    }
}
