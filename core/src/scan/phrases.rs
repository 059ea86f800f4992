//! Owns the phrases that give instructions to a model. One pass finds a clue word of each phrase; only the text around
//! a clue is parsed, and a phrase counts only if it addresses its reader.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use super::SignalKind;
use super::roles::{
    bracketed, chat_template, foreign_system_role, human_turn, important_element,
    instruction_heading, other_role, system_role,
};
use crate::fork::Computed;

mod authorisation;
mod mode_switch;
mod new_instructions;
mod previous_orders;

use authorisation::{user_has, you_are_authorised, you_have_permission};
use mode_switch::{mode_switch, named_mode, pretend};
use new_instructions::{concealment, from_now_on, new_instructions, new_task};
use previous_orders::{joined_previous_orders, previous_orders};

/// Parses the text around a clue at `at`; returns what was found and where it ends.
type ParsePhrase = fn(&str, usize) -> Option<(SignalKind, usize)>;

/// A longer clue precedes its own prefix, because the leftmost-first match prefers the earlier pattern.
const CLUES: &[(&str, ParsePhrase)] = &[
    ("ignore_", joined_previous_orders),
    ("ignore-", joined_previous_orders),
    ("disregard_", joined_previous_orders),
    ("disregard-", joined_previous_orders),
    ("forget_", joined_previous_orders),
    ("forget-", joined_previous_orders),
    ("### instruction:", instruction_heading),
    ("human:", human_turn),
    ("<important>", important_element),
    ("ignore", previous_orders),
    ("disregard", previous_orders),
    ("forget", previous_orders),
    ("override", previous_orders),
    ("instructions", new_instructions),
    ("your new ", new_task),
    ("from now on", from_now_on),
    ("not mention ", concealment),
    ("n't mention ", concealment),
    ("not tell the user", concealment),
    ("n't tell the user", concealment),
    ("never tell the user", concealment),
    ("user has ", user_has),
    ("you are now ", mode_switch),
    ("you are ", you_are_authorised),
    ("you have ", you_have_permission),
    ("act as ", pretend),
    ("pretend ", pretend),
    ("dan mode", named_mode),
    ("jailbreak mode", named_mode),
    ("[system", bracketed),
    ("[assistant", bracketed),
    ("[admin", bracketed),
    ("[developer", bracketed),
    ("system", system_role),
    ("assistant", other_role),
    ("admin", other_role),
    ("developer", other_role),
    ("sistema", foreign_system_role),
    ("système", foreign_system_role),
    // Only ASCII is in lower case.
    ("systÈme", foreign_system_role),
    ("система", foreign_system_role),
    ("Система", foreign_system_role),
    ("СИСТЕМА", foreign_system_role),
    ("系统", foreign_system_role),
    ("系統", foreign_system_role),
    ("システム", foreign_system_role),
    ("시스템", foreign_system_role),
    ("<|im_", chat_template),
    ("<|system", chat_template),
    ("<|developer", chat_template),
    ("<|user", chat_template),
    ("<|assistant", chat_template),
    ("<|end", chat_template),
    ("<|eot_id", chat_template),
    ("<|start", chat_template),
    ("<|begin", chat_template),
    ("<start_of_turn>", chat_template),
    ("<end_of_turn>", chat_template),
    ("[inst]", chat_template),
    ("[/inst]", chat_template),
    ("<<sys>>", chat_template),
    ("<</sys>>", chat_template),
];

/// The kinds found in a lower-case text, with their ranges.
pub(super) fn find(text: &str) -> impl Iterator<Item = (SignalKind, Range<usize>)> {
    static SEARCHER: Computed<AhoCorasick> = Computed::new(|| {
        let clues = CLUES.iter().map(|(clue, _)| clue);
        AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(clues)
            .expect("the clues are few and short")
    });
    SEARCHER.find_iter(text).filter_map(|found| {
        let look = CLUES[found.pattern().as_usize()].1;
        let (kind, end) = look(text, found.start())?;
        Some((kind, found.start()..end))
    })
}
