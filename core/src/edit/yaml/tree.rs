//! Owns positions in a YAML text: the tree of its first document, each part with its byte range. It is only used for
//! texts that the config parser has accepted, which bounds their depth.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use crate::edit::change::EditRefusal;

/// A value, from its first character to after its last one.
pub(super) struct Node {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Scalar(String),
    /// Empty, or a word for null.
    Null,
    Alias,
    Mapping {
        flow: bool,
        entries: Vec<Entry>,
    },
    Sequence {
        flow: bool,
        items: Vec<Node>,
    },
}

/// One key of a mapping with its value.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) key_start: usize,
    /// After the colon.
    pub(super) colon_end: usize,
    pub(super) value: Node,
}

/// The tree of the first document; `None` if it is empty.
pub(super) fn read(text: &str) -> Result<Option<Node>, EditRefusal> {
    let mut builder =
        TreeBuilder { text, events: Parser::new_from_str(text), offsets: ByteOffsets::new(text) };
    loop {
        match builder.next()? {
            (Event::StreamStart | Event::DocumentStart(_), _) => {}
            (Event::StreamEnd | Event::DocumentEnd, _) => return Ok(None),
            (event, span) => {
                let root = builder.node(event, span)?;
                return Ok(Some(root).filter(|root| !matches!(root.kind, Kind::Null)));
            }
        }
    }
}

/// Converts the parser's character positions to bytes.
enum ByteOffsets {
    /// All characters are one byte; this is their number.
    Bytes(usize),
    Characters(Vec<usize>),
}

impl ByteOffsets {
    fn new(text: &str) -> Self {
        if text.is_ascii() {
            return ByteOffsets::Bytes(text.len());
        }
        let bytes = text.char_indices().map(|(byte, _)| byte);
        ByteOffsets::Characters(bytes.chain([text.len()]).collect())
    }

    fn byte(&self, character: usize) -> usize {
        match self {
            ByteOffsets::Bytes(length) => character.min(*length),
            ByteOffsets::Characters(bytes) => bytes[character.min(bytes.len() - 1)],
        }
    }
}

struct TreeBuilder<'a> {
    text: &'a str,
    events: Parser<'a, saphyr_parser::StrInput<'a>>,
    offsets: ByteOffsets,
}

impl<'a> TreeBuilder<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), EditRefusal> {
        let event = self.events.next_event().ok_or(EditRefusal::NOT_IN_PLACE)?;
        event.map_err(|_| EditRefusal::NOT_IN_PLACE)
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Result<Node, EditRefusal> {
        let (start, end) =
            (self.offsets.byte(span.start.index()), self.offsets.byte(span.end.index()));
        match event {
            Event::Alias(_) => Ok(Node { start, end, kind: Kind::Alias }),
            Event::Scalar(text, ScalarStyle::Plain, ..) => {
                let written = self.text.get(start..end).ok_or(EditRefusal::NOT_IN_PLACE)?;
                let end = start + written.trim_end().len();
                let kind = match &*text {
                    "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
                    _ => Kind::Scalar(text.into_owned()),
                };
                Ok(Node { start, end, kind })
            }
            Event::Scalar(text, ScalarStyle::Literal | ScalarStyle::Folded, ..) => {
                let end = self.block_end(start, end).ok_or(EditRefusal::NOT_IN_PLACE)?;
                Ok(Node { start, end, kind: Kind::Scalar(text.into_owned()) })
            }
            Event::Scalar(text, ..) => {
                Ok(Node { start, end, kind: Kind::Scalar(text.into_owned()) })
            }
            Event::MappingStart(..) => self.mapping(start, end),
            Event::SequenceStart(..) => self.sequence(start, end),
            _ => Err(EditRefusal::NOT_IN_PLACE),
        }
    }

    fn mapping(&mut self, start: usize, open_end: usize) -> Result<Node, EditRefusal> {
        let flow = self.text[..open_end].ends_with('{');
        let (mut entries, mut end) = (Vec::new(), open_end);
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                break;
            }
            let key = self.node(event, span)?;
            let (event, span) = self.next()?;
            let value = self.node(event, span)?;
            let gap = self.text.get(key.end..).ok_or(EditRefusal::NOT_IN_PLACE)?;
            let blanks = gap.len() - gap.trim_start_matches([' ', '\t']).len();
            let colon_end = match gap[blanks..].starts_with(':') {
                true => key.end + blanks + 1,
                false => key.end,
            };
            let name = match key.kind {
                Kind::Scalar(name) => name,
                _ => String::new(),
            };
            end = value.end.max(colon_end);
            entries.push(Entry { name, key_start: key.start, colon_end, value });
        }
        if flow {
            end = self.closed(end, '}')?;
        }
        Ok(Node { start, end, kind: Kind::Mapping { flow, entries } })
    }

    fn sequence(&mut self, start: usize, open_end: usize) -> Result<Node, EditRefusal> {
        let flow = self.text[..open_end].ends_with('[');
        let (mut items, mut end) = (Vec::new(), open_end);
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                break;
            }
            let item = self.node(event, span)?;
            end = end.max(item.end);
            items.push(item);
        }
        if flow {
            end = self.closed(end, ']')?;
        }
        Ok(Node { start, end, kind: Kind::Sequence { flow, items } })
    }

    /// The end of a block scalar: after its last line, or with `+` in its header after the empty lines that follow.
    fn block_end(&self, start: usize, end: usize) -> Option<usize> {
        let (above, written) = (self.text.get(..start)?, self.text.get(start..end)?);
        let head = above[above.rfind(['|', '>'])?..].lines().next()?;
        let kept = written.trim_end_matches(' ');
        let kept = if head.contains('+') { kept } else { written.trim_end() };
        let rest = &written[kept.len()..];
        let line_end = if rest.starts_with('\n') { 1 } else { 0 };
        Some(start + kept.len() + line_end)
    }

    /// After the closing bracket of a collection that ends at `end`, past commas, blanks and comments.
    fn closed(&self, end: usize, bracket: char) -> Result<usize, EditRefusal> {
        let mut at = end;
        loop {
            let rest = self.text.get(at..).ok_or(EditRefusal::NOT_IN_PLACE)?;
            let next = rest.chars().next().ok_or(EditRefusal::NOT_IN_PLACE)?;
            at += match next {
                _ if next == bracket => return Ok(at + 1),
                '#' => rest.find('\n').ok_or(EditRefusal::NOT_IN_PLACE)?,
                ',' => 1,
                _ if next.is_whitespace() => next.len_utf8(),
                _ => return Err(EditRefusal::NOT_IN_PLACE),
            };
        }
    }
}
