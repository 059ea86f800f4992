//! Owns which options are functions of another language that answer questions of the core, and how their questions reach
//! it: through the call that asks, or through [`Questions`].

use super::ManagerOptions;
use crate::approval::OnApproval;
use crate::caller::OnIdentity;
use crate::question::Questions;

impl ManagerOptions {
    /// The kind of the questions that the function of this option answers.
    #[doc(hidden)]
    pub fn question_kind(option: &str) -> Option<&'static str> {
        Some(match option {
            "trust" => "trust",
            "on_auth" => "auth",
            "login_store" => "login_store",
            "on_sampling" => "sampling",
            "on_elicitation" => "elicitation",
            "on_approval" => "approval",
            "on_identity" => "identity",
            _ => return None,
        })
    }

    /// The same options, for a host that answers these kinds of questions. The questions are set if some come without a
    /// call.
    #[doc(hidden)]
    pub fn answered_by_host<'a>(
        mut self,
        kinds: impl Iterator<Item = &'a str>,
    ) -> (Self, Option<Questions>) {
        let mut questions = None;
        for kind in kinds {
            let mut asked = || questions.get_or_insert_with(Questions::default).clone();
            self = match kind {
                "trust" => self.trust(asked().trust()),
                "auth" => self.on_auth(asked().on_auth()),
                "login_store" => self.login_store(asked().login_store()),
                "sampling" => self.on_sampling(asked().on_sampling()),
                "elicitation" => self.on_elicitation(asked().on_elicitation()),
                "approval" => self.on_approval(OnApproval::of_caller()),
                "identity" => self.on_identity(OnIdentity::of_caller()),
                _ => self,
            };
        }
        (self, questions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_that_answers_has_a_kind() {
        // A naming function is called, not asked.
        let functions = ManagerOptions::OPTIONS.iter().filter(|it| (it.kind)().takes_function());
        for option in functions.filter(|option| option.name != "naming") {
            assert!(ManagerOptions::question_kind(option.name).is_some(), "{}", option.name);
        }
    }

    #[test]
    fn only_questions_without_a_call_need_listeners() {
        let asked = |kinds: &[&str]| {
            ManagerOptions::default().answered_by_host(kinds.iter().copied()).1.is_some()
        };
        assert!(!asked(&["approval", "identity"]));
        assert!(asked(&["approval", "elicitation"]));
    }
}
