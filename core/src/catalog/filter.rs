//! Owns filtering tools by name: globs of a definition or of a manager, where `disabled` wins.
//! Invariant: a mistaken glob never offers more than intended; it is matched as written, and the reader of the setting
//! warns of it.

use wildmatch::WildMatch;

use crate::config::ToolFilter;

/// How many globs a hint lists.
const SHOWN: usize = 5;

/// A compiled filter.
#[derive(Debug)]
pub(crate) struct Filter {
    /// `None` if all are enabled.
    enabled: Option<Vec<Glob>>,
    disabled: Vec<Glob>,
}

#[derive(Debug)]
struct Glob {
    written: String,
    /// `None` if it matches everything.
    pattern: Option<WildMatch>,
}

/// Why a tool is not offered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FilteredOut<'a> {
    /// This glob disables it.
    Disabled(&'a str),
    /// None of these globs enables it.
    NotEnabled(Vec<&'a str>),
}

impl Filter {
    /// `None` offers everything.
    pub(crate) fn compile(tools: &ToolFilter) -> Option<Filter> {
        if tools.enabled.is_none() && tools.disabled.is_empty() {
            return None;
        }
        let globs = |written: &Vec<String>| written.iter().map(|glob| Glob::new(glob)).collect();
        Some(Filter {
            enabled: tools.enabled.as_ref().map(globs),
            disabled: globs(&tools.disabled),
        })
    }

    /// Why a tool with these names is not offered, if it is not.
    pub(crate) fn filtered_out(&self, names: &[&str]) -> Option<FilteredOut<'_>> {
        let one_of = |glob: &&Glob| names.iter().any(|name| glob.matches(name));
        if let Some(glob) = self.disabled.iter().find(one_of) {
            return Some(FilteredOut::Disabled(&glob.written));
        }
        let enabled = self.enabled.as_ref()?;
        if enabled.iter().any(|glob| one_of(&glob)) {
            return None;
        }
        Some(FilteredOut::NotEnabled(enabled.iter().map(|glob| &*glob.written).collect()))
    }
}

impl FilteredOut<'_> {
    /// The reason as text, starting with the owner of the setting.
    pub(super) fn hint(&self, whose: &str) -> String {
        match self {
            FilteredOut::Disabled(glob) => format!("{whose} disables \"{glob}\""),
            FilteredOut::NotEnabled(globs) if globs.is_empty() => {
                format!("{whose} enables no tool")
            }
            FilteredOut::NotEnabled(globs) => {
                let shown: Vec<_> =
                    globs.iter().take(SHOWN).map(|glob| format!("\"{glob}\"")).collect();
                let more = if globs.len() > SHOWN { ", …" } else { "" };
                format!("{whose} enables only {}{more}", shown.join(", "))
            }
        }
    }
}

impl Glob {
    fn new(written: &str) -> Self {
        let is_all = written == "*" || written.eq_ignore_ascii_case("any");
        let pattern = (!is_all).then(|| WildMatch::new_case_insensitive(written));
        Glob { written: written.to_owned(), pattern }
    }

    fn matches(&self, name: &str) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| pattern.matches(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(enabled: &[&str], disabled: &[&str]) -> Option<Filter> {
        let owned = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
        let enabled = (!enabled.is_empty()).then(|| owned(enabled));
        Filter::compile(&ToolFilter { enabled, disabled: owned(disabled) })
    }

    fn offers(enabled: &[&str], disabled: &[&str], name: &str) -> bool {
        filter(enabled, disabled).is_none_or(|filter| filter.filtered_out(&[name]).is_none())
    }

    #[test]
    fn without_globs_there_is_no_filter() {
        assert!(filter(&[], &[]).is_none());
    }

    #[test]
    fn an_empty_list_of_what_is_enabled_enables_nothing() {
        let filter =
            Filter::compile(&ToolFilter { enabled: Some(Vec::new()), disabled: Vec::new() });
        let hint = filter.unwrap().filtered_out(&["x"]).unwrap().hint("the manager");
        assert_eq!(hint, "the manager enables no tool");
    }

    #[test]
    fn globs_know_no_case_and_what_is_disabled_wins() {
        assert!(offers(&["READ_*"], &[], "read_file"));
        assert!(!offers(&["read_*"], &[], "write_file"));
        assert!(offers(&["ÄNDERN_?"], &[], "ändern_1"));
        assert!(!offers(&["read_*"], &["*_FILE"], "read_file"));
        assert!(offers(&[], &["write_*"], "read_file"));
        assert!(!offers(&["*", "any"], &["Any"], "read_file"));
        for all in ["*", "any", "ANY"] {
            assert!(offers(&[all], &[], "x") && !offers(&[], &[all], "x"), "{all}");
        }
    }

    #[test]
    fn brackets_and_nothing_stand_for_themselves() {
        assert!(!offers(&["read_[ab]"], &[], "read_a"));
        assert!(!offers(&[], &["read_[ab]"], "read_[ab]"));
        assert!(offers(&[], &[""], "read"));
        assert!(!offers(&[""], &[], "read"));
    }

    #[test]
    fn any_of_a_tools_names_will_do() {
        let filter = filter(&["mcp_a_*"], &["drop"]).unwrap();
        assert_eq!(filter.filtered_out(&["read", "mcp_a_read"]), None);
        assert_eq!(
            filter.filtered_out(&["drop", "mcp_a_drop"]),
            Some(FilteredOut::Disabled("drop"))
        );
        assert_eq!(filter.filtered_out(&["read"]), Some(FilteredOut::NotEnabled(vec!["mcp_a_*"])));
    }
}
