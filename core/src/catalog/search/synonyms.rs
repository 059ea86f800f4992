//! Owns the synonyms for tool search: people ask for a picture, a tool returns an image.

use std::collections::HashMap;

use super::words::terms;

/// The words of one line are synonyms; a word may be in several lines.
#[rustfmt::skip]
const GROUPS: &[&str] = &[
    // What is done.
    "create make new add insert build compose generate produce",
    "create write draft compose author",
    "create schedule plan book arrange organize",
    "create log record register file report submit raise open",
    "create leave comment",
    "delete remove erase drop forget discard clear destroy trash throw cancel",
    "uninstall remove delete",
    "update edit change modify alter patch adjust set mark rename",
    "add append attach insert put extend",
    "list show enumerate every display overview exist all available which",
    "get read fetch retrieve show view load see obtain",
    "get detail describe info information metadata property",
    "find search look locate lookup query seek discover hunt",
    "send post write tell say deliver notify inform announce publish",
    "reply answer respond response",
    "move relocate transfer put rename",
    "copy duplicate clone fork replicate",
    "save download store export keep",
    "upload attach import load",
    "open start launch begin run execute trigger invoke play",
    "run test try execute",
    "run query statement sql command",
    "stop end close terminate quit kill halt abort shut",
    "restart rerun again retry repeat resume redo",
    "undo revert reset rollback restore",
    "choose select pick option",
    "switch checkout change activate",
    "click press tap push hit",
    "type enter fill input",
    "accept confirm approve allow agree",
    "accept merge",
    "approve review",
    "decline reject refuse deny respond",
    "propose suggest request submit create",
    "join merge combine unite",
    "compare difference diff change",
    "convert translate transform",
    "check verify validate test inspect audit review examine",
    "analyze measure profile investigate diagnose explain why cause",
    "fix repair resolve solve close",
    "release ship deploy publish rollout version launch",
    "connect link associate relate relation association",
    "draw paint sketch render generate illustrate",
    "summarize shorten digest condense abstract summary",
    "watch monitor observe track follow subscribe alert",
    "protect lock secure encrypt",
    "install setup set deploy",
    "pretend emulate simulate mimic",
    "increase scale grow resize decrease",
    "remember memory memorize note observation",
    // How things are.
    "break fail failure broken crash error exception",
    "bug issue defect problem error ticket question",
    "sometimes flaky intermittent unstable random",
    "fast slow speed performance latency quick",
    "big large size length huge weight",
    "now current today latest present",
    "latest recent newest lately new",
    "old past previous history log earlier back yesterday",
    "free busy available availability",
    "near nearby close local around",
    "high height elevation altitude",
    "far distance remote",
    "end last bottom append",
    "whole full complete entire all",
    // People and how they talk.
    "person people user member colleague teammate employee who",
    "person customer client contact buyer lead object",
    "team group organization company workspace",
    "mail email letter inbox gmail message",
    "newsletter mail email subscription incoming",
    "chat message conversation thread channel discussion",
    "remark comment note annotation feedback",
    "emoji reaction thumb",
    "appointment meeting event calendar agenda invitation",
    "week tomorrow agenda calendar day event schedule",
    "invite invitation attendee guest",
    "call phone dial ring outbound",
    "call meeting engagement activity",
    "task todo ticket issue",
    // Media.
    "picture image photo drawing illustration",
    "picture screenshot capture screen",
    "video film clip movie youtube",
    "audio sound voice speech music recording noise",
    "song music compose tune",
    "speak say voice speech aloud read",
    "caption subtitle transcript transcribe speech text",
    "background isolate",
    // Files and documents.
    "folder directory path",
    "file document doc",
    "tree structure nested hierarchy recursive outline layout",
    "sheet spreadsheet workbook excel worksheet tab",
    "slide presentation deck powerpoint",
    "paper article publication study academic research arxiv",
    "cite citation reference",
    "subject topic theme",
    "documentation docs manual guide reference help",
    "label tag category",
    "filter rule sort automatically",
    "attachment enclosure pdf",
    "content text body",
    "color colour style",
    // Data.
    "database table sql schema",
    "row record entry item line",
    "column field property attribute",
    "metric usage statistic count number",
    "graph chart plot diagram",
    "index indices",
    // Places and times.
    "place location shop restaurant business cafe store",
    "street address",
    "latitude longitude coordinate geocode",
    "drive walk route direction way trip travel turn journey",
    "time when clock hour late timezone date",
    "weather forecast temperature",
    // The web.
    "page site website web url link",
    "internet web online",
    "browser page chrome",
    "popup dialog alert modal prompt",
    "dropdown select option menu",
    "javascript script evaluate",
    "console log output print javascript",
    "network request http traffic",
    "mouse hover pointer cursor",
    "leak memory heap",
    // Software.
    "code function method source program",
    "repository repo project",
    "pr pull merge request",
    "ci build pipeline circleci job",
    "automation workflow flow",
    "library package module framework dependency",
    "package chart helm",
    "container docker pod",
    "cluster kubernetes node",
    "shell command terminal exec",
    "server machine host instance",
    "secret password key token credential",
    "permission access right role",
    "cost price bill invoice payment charge spend",
];

/// The synonyms of each word.
#[derive(Debug, Default)]
pub(super) struct Synonyms(HashMap<String, Vec<String>>);

impl Synonyms {
    pub(super) fn new() -> Synonyms {
        let mut synonyms: HashMap<String, Vec<String>> = HashMap::new();
        for group in GROUPS {
            let words: Vec<String> = terms(group).collect();
            for word in &words {
                let known = synonyms.entry(word.clone()).or_default();
                for other in words.iter().filter(|other| *other != word) {
                    if !known.contains(other) {
                        known.push(other.clone());
                    }
                }
            }
        }
        Synonyms(synonyms)
    }

    pub(super) fn lookup(&self, word: &str) -> &[String] {
        self.0.get(word).map_or(&[], Vec::as_slice)
    }
}
