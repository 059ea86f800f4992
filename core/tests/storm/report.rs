//! The report of a storm: figures, and every promise that was broken.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::time::Duration;

use mcpool::{ErrorKind, Executed};
use serde::Deserialize;

use super::Plan;
use super::census::Census;
use super::ledger::{End, Ledger};
use super::weather::Done;

/// The errors that a call may end with in a storm; any other is a bug.
const EXPECTED: [ErrorKind; 6] = [
    ErrorKind::ToolFailed,
    ErrorKind::ConnectionLost,
    ErrorKind::ToolTimeout,
    ErrorKind::ToolUnavailable,
    ErrorKind::RestartInProgress,
    ErrorKind::RestartFailed,
];
const GROWTH: usize = 8 << 20;
const CLOSING: Duration = Duration::from_secs(10);

/// The state at the end.
pub(super) struct Standing {
    pub(super) stuck: usize,
    pub(super) in_flight: u64,
    pub(super) failed_probes: usize,
    /// Servers that were seen to run twice at the same time.
    pub(super) twins: Vec<String>,
    pub(super) unwell: Vec<String>,
    pub(super) closing: Duration,
    pub(super) before: Census,
    pub(super) after: Census,
    pub(super) left_behind: Vec<String>,
    pub(super) fifths: Vec<usize>,
}

/// The journals of the servers.
pub(super) struct Journals {
    /// How often each call ran.
    runs: Vec<u8>,
    started: usize,
    handshakes: usize,
}

impl Journals {
    pub(super) fn read(names: &[String], file: impl Fn(&str) -> String, room: usize) -> Journals {
        #[derive(Deserialize)]
        struct Entry<'a> {
            event: &'a str,
            method: Option<&'a str>,
            key: Option<usize>,
        }
        let mut journals = Journals { runs: vec![0; room], started: 0, handshakes: 0 };
        for name in names {
            let Ok(file) = std::fs::File::open(file(name)) else { continue };
            for line in BufReader::new(file).lines().map_while(Result::ok) {
                // A killed server may leave an incomplete line.
                let Ok(entry) = serde_json::from_str::<Entry<'_>>(&line) else { continue };
                match entry {
                    Entry { event: "start", .. } => journals.started += 1,
                    Entry { event: "received", method: Some("initialize"), .. } => {
                        journals.handshakes += 1;
                    }
                    Entry { event: "ran", key: Some(key), .. } => journals.runs[key] += 1,
                    _ => {}
                }
            }
        }
        journals
    }
}

pub(crate) struct Report {
    rows: Vec<(String, String)>,
    /// The broken promises.
    pub(crate) broken: Vec<String>,
}

impl Report {
    pub(super) fn new(
        plan: &Plan,
        ledger: &Ledger,
        journals: &Journals,
        done: Done,
        standing: Standing,
    ) -> Report {
        let mut report = Report { rows: Vec::new(), broken: Vec::new() };
        report.calls(ledger, journals);
        report.storm(plan, journals, done);
        report.rest(standing);
        report
    }

    fn row(&mut self, name: &str, value: impl fmt::Display) {
        self.rows.push((name.to_owned(), value.to_string()));
    }

    fn promise(&mut self, kept: bool, otherwise: impl FnOnce() -> String) {
        if !kept {
            self.broken.push(otherwise());
        }
    }

    /// A promise about single calls that some calls broke.
    fn promise_of_calls(&mut self, promise: &str, broken_by: &[usize]) {
        self.row(promise, if broken_by.is_empty() { "yes" } else { "NO" });
        let some = &broken_by[..broken_by.len().min(10)];
        self.promise(broken_by.is_empty(), || {
            format!("{promise}: not so for {} calls, such as {some:?}", broken_by.len())
        });
    }

    fn calls(&mut self, ledger: &Ledger, journals: &Journals) {
        self.row("calls", ledger.len());
        for (end, count) in ledger.by_end() {
            self.row(&format!("  {end}"), count);
        }
        self.row("ok within ms, p50", format!("{:.2}", ledger.quantile(0.5)));
        self.row("ok within ms, p99", format!("{:.2}", ledger.quantile(0.99)));

        let facts: Vec<(usize, u8, u8, Option<End>)> = ledger
            .ends()
            .enumerate()
            .map(|(key, (ends, end))| (key, ends, journals.runs[key], end))
            .collect();
        let those = |is: &dyn Fn(u8, u8, Option<End>) -> bool| -> Vec<usize> {
            let found = facts.iter().filter(|(_, ends, runs, end)| is(*ends, *runs, *end));
            found.map(|(key, ..)| *key).collect()
        };
        use Executed::{No, Yes};
        let promises: [(&str, Vec<usize>); 7] = [
            ("every call ended", those(&|ends, _, _| ends == 0)),
            ("no call ended twice", those(&|ends, _, _| ends > 1)),
            ("every answer went to its call", those(&|_, _, end| end == Some(End::Wrong))),
            ("nothing ran twice", those(&|_, runs, _| runs > 1)),
            (
                "what was answered ran once",
                those(&|_, runs, end| {
                    let answered =
                        matches!(end, Some(End::Ok | End::Wrong | End::Failed(_, Some(Yes))));
                    answered && runs != 1
                }),
            ),
            (
                "what is said not to have run did not",
                those(&|_, runs, end| matches!(end, Some(End::Failed(_, Some(No)))) && runs != 0),
            ),
            (
                "every failure is one of a storm",
                those(&|_, _, end| {
                    matches!(end, Some(End::Failed(kind, executed))
                    if !EXPECTED.contains(&kind) || executed.is_none())
                }),
            ),
        ];
        for (promise, broken_by) in &promises {
            self.promise_of_calls(promise, broken_by);
        }
        let good = those(&|_, _, end| end == Some(End::Ok)).len();
        self.promise(good * 2 > ledger.len(), || {
            format!("only {good} of {} calls went well", ledger.len())
        });
    }

    fn storm(&mut self, plan: &Plan, journals: &Journals, done: Done) {
        self.row("kills", done.kills());
        self.row("  of servers over pipes", done.killed_pipes);
        self.row("  of servers over HTTP", done.killed_sites);
        self.row("frozen", done.frozen);
        self.row("disconnected and connected", done.disconnected);
        self.row("other managers came and went", done.visits);
        self.row("processes started", journals.started);
        self.row("handshakes", journals.handshakes);
        self.promise(done.kills() >= plan.kills, || {
            format!("only {} of {} kills", done.kills(), plan.kills)
        });
        let least = plan.pipes + plan.sites + done.kills() as usize / 2;
        self.promise(journals.started >= least, || {
            format!("{} processes started, {least} expected", journals.started)
        });
    }

    fn rest(&mut self, standing: Standing) {
        let Standing {
            stuck,
            in_flight,
            failed_probes,
            twins,
            unwell,
            closing,
            before,
            after,
            left_behind,
            fifths,
        } = standing;
        self.promise(stuck == 0, || format!("{stuck} callers did not come to an end"));
        self.promise(in_flight == 0, || format!("{in_flight} calls are counted as under way"));
        self.row("found dead by a probe or by silence", failed_probes);
        self.row("no server ran twice at a time", if twins.is_empty() { "yes" } else { "NO" });
        self.promise(twins.is_empty(), || format!("two processes at a time: {twins:?}"));
        self.promise(unwell.is_empty(), || format!("not up again: {unwell:?}"));
        self.row("close took ms", closing.as_millis());
        self.promise(closing < CLOSING, || format!("close took {closing:?}"));

        let mut same = |what: &str, before: usize, after: usize| {
            self.row(&format!("{what} before, after"), format!("{before}, {after}"));
            self.promise(after <= before, || format!("{what}: {before} before, {after} after"));
        };
        same("descriptors", before.descriptors, after.descriptors);
        same("threads", before.threads, after.threads);
        same("tasks", before.tasks, after.tasks);
        same("children", before.children.len(), after.children.len());
        self.promise(left_behind.is_empty(), || format!("left behind: {left_behind:?}"));

        let mib: Vec<String> =
            fifths.iter().map(|bytes| format!("{:.1}", *bytes as f64 / 1048576.0)).collect();
        self.row("memory in MiB after each fifth", mib.join(", "));
        let (first, most) = (fifths[0], fifths.iter().copied().max().unwrap_or(0));
        let bound = first + GROWTH.max(first * 15 / 100);
        self.promise(most <= bound, || format!("memory grew: {mib:?} MiB"));
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.rows {
            writeln!(f, "{name:<40} {value:>12}")?;
        }
        for broken in &self.broken {
            writeln!(f, "BROKEN: {broken}")?;
        }
        Ok(())
    }
}
