//! Owns finding tools by a query: BM25 over weighted fields, including synonyms (`synonyms`). `words` defines a term.
//! Invariant: the same catalog and query give the same list; ties are in catalog order.

use std::collections::{BTreeMap, HashMap, HashSet};

use indexmap::IndexSet;
use serde_json::Value;

use crate::tool::{LONGEST_TREE, ServerTool, as_text};

mod synonyms;
mod words;

use synonyms::Synonyms;
use words::terms;

/// How fast repeated occurrences of a term stop counting.
const SATURATION: f32 = 2.0;
/// How much a long field dilutes its terms.
const DILUTION: f32 = 0.5;
/// How much a rare term counts more than a common one; 1 is plain BM25.
const RARITY: f32 = 0.7;
/// How many terms of one field are read, so that no server can grow the index without limit.
const FIELD_TERMS: usize = 600;
/// How many different terms of a query count.
const QUERY_TERMS: usize = 256;
/// How deep a schema is searched for parameters.
const SCHEMA_DEPTH: usize = 4;
/// The weight of a synonym of a query term.
const SYNONYM_WEIGHT: f32 = 0.8;
/// The weight of a term that only shares a prefix with a query term.
const LIKENESS: f32 = 0.5;
/// The factor of the second-best term for the same query word, and again of the third.
const SUPPORT: f32 = 0.35;
/// How much a word's rarity is reduced by that of its synonyms.
const COMMONNESS: f32 = 0.6;
/// The shortest prefix that counts.
const SHORTEST_BEGINNING: usize = 4;

const FIELDS: usize = 7;
/// Name, title, first sentence of the description, the rest of it, parameter names, their descriptions, server.
const WEIGHTS: [f32; FIELDS] = [3.0, 2.0, 2.0, 0.6, 0.6, 0.3, 2.0];

/// The tools with a term, and its weight in each, from 0 to 1.
type Postings = Vec<(usize, f32)>;

#[derive(Debug, Default)]
pub(super) struct Index {
    tools: usize,
    /// Sorted, so that words with the same prefix are adjacent.
    postings: BTreeMap<String, Postings>,
    synonyms: Synonyms,
}

impl Index {
    /// Results are positions in this list of tools.
    pub(super) fn build<'a>(tools: impl Iterator<Item = &'a ServerTool>) -> Index {
        let documents: Vec<[Vec<String>; FIELDS]> = tools.map(fields).collect();
        let tools = documents.len();
        let mean: [f32; FIELDS] = std::array::from_fn(|field| {
            let total: usize = documents.iter().map(|document| document[field].len()).sum();
            (total as f32 / tools.max(1) as f32).max(1.0)
        });
        let mut postings: BTreeMap<String, Postings> = BTreeMap::new();
        for (tool, document) in documents.into_iter().enumerate() {
            for (field, terms) in document.into_iter().enumerate() {
                let length = terms.len() as f32 / mean[field];
                let each = WEIGHTS[field] / (1.0 - DILUTION + DILUTION * length);
                for term in terms {
                    let of_term = postings.entry(term).or_default();
                    match of_term.last_mut() {
                        Some((last, weight)) if *last == tool => *weight += each,
                        _ => of_term.push((tool, each)),
                    }
                }
            }
        }
        for (_, weight) in postings.values_mut().flatten() {
            *weight /= SATURATION + *weight;
        }
        Index { tools, postings, synonyms: Synonyms::new() }
    }

    /// The positions of the best `k` tools, best first, without tools that share nothing with the query.
    pub(super) fn search(&self, query: &str, k: usize) -> Vec<usize> {
        let wanted: IndexSet<String> = terms(query).collect();
        let mut scores: HashMap<usize, f32> = HashMap::new();
        for term in wanted.iter().take(QUERY_TERMS) {
            self.add(term, &mut scores);
        }
        let mut found: Vec<(usize, f32)> = scores.into_iter().collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.into_iter().take(k).map(|(tool, _)| tool).collect()
    }

    /// Each tool gets the best score for this word or one of its synonyms, and a part of the others. A word with many
    /// synonyms counts as common.
    fn add(&self, term: &str, scores: &mut HashMap<usize, f32>) {
        let exact = self.postings.get(term);
        let alike = self.alike(term).filter(|_| exact.is_none()).map(|having| (having, LIKENESS));
        let synonyms =
            self.synonyms.lookup(term).iter().filter_map(|synonyms| self.postings.get(synonyms));
        let others: Vec<(&Postings, f32)> =
            synonyms.map(|having| (having, SYNONYM_WEIGHT)).chain(alike).collect();
        let found = others.iter().map(|(having, _)| *having).chain(exact).flatten();
        let all = self.rarity(found.map(|(tool, _)| tool).collect::<HashSet<_>>().len());
        let own = exact.map_or(0.0, |exact| self.rarity(exact.len()));
        let own = COMMONNESS * all + (1.0 - COMMONNESS) * own;
        let mut best: HashMap<usize, (f32, f32)> = HashMap::new();
        let offers = exact.map(|exact| (exact, own)).into_iter();
        for (having, worth) in
            offers.chain(others.iter().map(|(having, worth)| (*having, worth * all)))
        {
            for (tool, much) in having {
                let (top, rest) = best.entry(*tool).or_default();
                let score = much * worth;
                *rest += score.min(*top);
                *top = score.max(*top);
            }
        }
        for (tool, (top, rest)) in best {
            *scores.entry(tool).or_default() += top + SUPPORT * rest;
        }
    }

    fn rarity(&self, having: usize) -> f32 {
        let (all, having) = (self.tools as f32, having as f32);
        (1.0 + (all - having + 0.5) / (having + 0.5)).ln().powf(RARITY)
    }

    /// A term that no tool has matches terms with a common prefix.
    fn alike<'a>(&'a self, term: &'a str) -> impl Iterator<Item = &'a Postings> {
        let long_enough = term.chars().count() >= SHORTEST_BEGINNING;
        let longer = self.postings.range(term.to_owned()..);
        let longer = longer.take_while(move |(other, _)| long_enough && other.starts_with(term));
        let cuts = term.char_indices().skip(SHORTEST_BEGINNING).map(|(at, _)| &term[..at]);
        let shorter = cuts.filter_map(|cut| self.postings.get(cut));
        longer.map(|(_, having)| having).chain(shorter)
    }
}

fn fields(tool: &ServerTool) -> [Vec<String>; FIELDS] {
    let parts = tool.parts();
    let title = as_text(parts.title).unwrap_or_default();
    let description = as_text(parts.description).unwrap_or_default();
    let (first, rest) = first_sentence(&description);
    let (mut names, mut about) = (String::new(), String::new());
    let schema = parts.input_schema.filter(|raw| raw.get().len() <= LONGEST_TREE);
    let schema = schema.and_then(|raw| serde_json::from_str(raw.get()).ok());
    parameters(&schema.unwrap_or_default(), SCHEMA_DEPTH, &mut names, &mut about);
    [tool.raw_name(), &title, first, rest, &names, &about, tool.server()]
        .map(|text| terms(text).take(FIELD_TERMS).collect())
}

fn first_sentence(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let line = text.find('\n').unwrap_or(text.len());
    let end = text[..line].find(". ").map_or(line, |at| at + 1);
    text.split_at(end)
}

/// Collects parameter names and descriptions, also inside objects, lists and alternatives.
fn parameters(schema: &Value, depth: usize, names: &mut String, about: &mut String) {
    let (Value::Object(schema), Some(deeper)) = (schema, depth.checked_sub(1)) else { return };
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    names.push_str(name);
                    names.push(' ');
                    parameters(property, deeper, names, about);
                }
            }
            ("description" | "title", Value::String(text)) => {
                about.push_str(text);
                about.push(' ');
            }
            ("items", inner) => parameters(inner, deeper, names, about),
            ("anyOf" | "oneOf" | "allOf", Value::Array(inner)) => {
                for inner in inner {
                    parameters(inner, deeper, names, about);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
