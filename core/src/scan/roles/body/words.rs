//! The words that tell an order from a report, in lower case.
//! Invariant: a look-up does not depend on the length of the list, because a hostile text can ask for many.

use std::collections::{HashMap, HashSet};

use aho_corasick::AhoCorasick;

use crate::fork::Computed;

/// Single words.
pub(super) struct Words(HashSet<&'static str>);

impl Words {
    fn new(list: &'static str) -> Words {
        Words(items(list).collect())
    }

    pub(super) fn contains(&self, word: &str) -> bool {
        self.0.contains(word)
    }
}

/// Phrases that a text may begin with, by their first word.
pub(super) struct Openings(HashMap<&'static str, Vec<&'static str>>);

impl Openings {
    fn new(list: &'static str) -> Openings {
        let mut phrases: HashMap<_, Vec<_>> = HashMap::new();
        for phrase in items(list) {
            phrases.entry(first_word(phrase)).or_default().push(phrase);
        }
        Openings(phrases)
    }

    /// Whether the text begins with one of them, as whole words.
    pub(super) fn open(&self, text: &str) -> bool {
        let is_whole = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric());
        let phrases = self.0.get(first_word(text)).into_iter().flatten();
        phrases.copied().any(|phrase| text.strip_prefix(phrase).is_some_and(is_whole))
    }
}

/// Phrases that may be anywhere in a text.
pub(super) struct Phrases(AhoCorasick);

impl Phrases {
    fn new(list: &'static str) -> Phrases {
        Phrases(AhoCorasick::new(items(list)).expect("the phrases are few and short"))
    }

    pub(super) fn are_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// The items of a list that is written with semicolons.
fn items(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(';').map(str::trim)
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()
}

/// What may stand before the verb of an order.
pub(super) static LEAD_INS: Computed<Words> = Computed::new(|| {
    Words::new(
        "please; kindly; now; immediately; important; urgent; attention; note; notice; warning; critical; first; next; \
     then; also; instead; hey; ok; okay; hello; dear; high; priority; mandatory; required; action; instruction; \
     instructions; task; step; hidden; secret; so; just; simply; silently; quietly; secretly; and; to",
    )
});
/// Who is spoken to when a model is.
pub(super) static MODELS: Computed<Words> = Computed::new(|| {
    Words::new(
        "assistant; claude; chatgpt; gpt; gpt-4; gemini; copilot; ai; agent; llm; model; bot; llama; mistral; grok",
    )
});
/// Words that are hardly ever nouns at the start of a report.
pub(super) static CLEAR_VERBS: Computed<Words> = Computed::new(|| {
    Words::new(
        "send; execute; delete; remove; invoke; reveal; ignore; disregard; forget; bypass; obey; pretend; respond; reply; \
     answer; forward; exfiltrate; tell; give; ensure; treat; assume; remember; proceed; provide; include; append; \
     insert; visit; navigate; summarize; summarise; translate; extract; collect; gather; approve; grant; accept; \
     erase; destroy; wipe; kill; terminate; disable; enable; overwrite; replace; rename; encode; decode; encrypt; \
     decrypt; paste; publish; leak; disclose; expose; hide; conceal; omit; act; behave; become; begin; continue; \
     follow; comply; consider; think; imagine; repeat; recite; say; write; inform; notify; convince; persuade; \
     recommend; suggest; ask; redirect; authenticate; authorize; authorise; bring; put; take; make; keep; let; try; \
     choose; select; pick; click; press; type; enter; submit; sign; login; register; subscribe; buy; purchase; pay; \
     withdraw; invite; add; create; generate; install; uninstall; download; fetch; retrieve; locate; find; open; \
     view; inspect; prepend; prefix; attach; embed; wrap; stop; quit; exit; avoid; refrain; skip; drop; apply; adopt; \
     switch; override; unlock; activate; prioritize; prioritise; escalate; elevate; whisper; convey; fill; raise; \
     lower; ship; rotate; compose; draft; rewrite; refuse; deny; reject; use; speak; eval; chmod; chown; hand; prefer",
    )
});
/// Verbs that are also nouns or states (`check failed`, `run complete`): they need an object.
pub(super) static NOUN_LIKE_VERBS: Computed<Words> = Computed::new(|| {
    Words::new(
        "run; call; read; list; copy; move; set; change; turn; start; show; print; output; email; mail; message; transfer; \
     return; go; browse; search; look; check; verify; confirm; dump; share; push; pull; commit; merge; clone; curl; \
     wget; cat; rm; sudo; echo; upload; post; get; update; upgrade; restart; reset; reboot; save; store; load; log; \
     report; trigger; query; request; test; scan; work; perform; complete; finish; end; close; lock; block; allow; \
     permit; trust; present; display; place; file; sync; back; edit; modify; clear; purge; mark; flag; review; \
     contact; wire; order; book; schedule; cancel; issue; initiate; launch; spawn; fork; deploy; build; compile; \
     patch; format; mount; see; play; talk; chat; state; claim; name; value; rate; rank; score; count; export; import; \
     swap; quote; base64",
    )
});
/// What follows a verb that has an object.
pub(super) static OBJECT_WORDS: Computed<Words> = Computed::new(|| {
    Words::new(
        "the; a; an; all; any; this; that; these; those; your; my; our; their; his; her; its; it; them; him; me; us; every; \
     each; everything; anything; nothing; with; as; only; no; out; into; up; off; down; over; back; both; whatever; \
     whichever; what; which; who; how; if; whether; through; user; users; tool; tools; function; command; shell; rm; \
     curl; wget; sudo; cat; bash; sh; python; exactly; here; now; first; another; one; two; secrets; credentials; \
     files; following; to",
    )
});
/// What follows a noun in a report.
pub(super) static STATES: Computed<Words> = Computed::new(|| {
    Words::new(
        "failed; failure; fails; completed; complete; succeeded; success; successful; error; errors; done; finished; ok; \
     started; starting; pending; denied; rejected; available; required; enabled; disabled; timeout; timed; aborted; \
     cancelled; canceled; is; was; were; are; has; had; button; key; only; list; mode; menu; page; event; events; \
     request; requests; operation; operations; permission; permissions; rate; time; count; size; status; state; queue; loaded; \
     received; detected; found; expired; set; in; by; at; rule; rules; policy; limit; center; centre; agent; service; \
     handler; logic",
    )
});
/// `you must …`.
pub(super) static YOU_MUST: Computed<Words> = Computed::new(|| {
    Words::new(
        "must; should; shall; need; ought; cannot; can't; mustn't; shouldn't; won't; now; only; always; never; do; don't",
    )
});
/// `you are …`.
pub(super) static YOU_ARE: Computed<Words> = Computed::new(|| {
    Words::new(
        "a; an; the; to; now; no; not; free; required; hereby; authorized; authorised; instructed; ordered; expected; \
     obliged; operating; acting; running; helping; assisting; claude; chatgpt; dan; being",
    )
});
/// `you will …`, `you may …`.
pub(super) static YOU_WILL: Computed<Words> =
    Computed::new(|| Words::new("now; not; only; always; never; then; henceforth; no; act; be"));
/// `you have …`.
pub(super) static YOU_HAVE: Computed<Words> =
    Computed::new(|| Words::new("to; permission; authority; full; unlimited; root"));
/// How orders begin that do not begin with a verb.
pub(super) static OPENINGS: Computed<Openings> = Computed::new(|| {
    Openings::new(
        "from now on; from here on; from this point on; new instruction; new instructions; new rule; new rules; new task; new directive; new goal; \
     new objective; the assistant; the agent; the model; the ai; assistant must; the user has; the user wants; \
     the user is; the user asked; the user's; the user just; the above; all previous; previous instructions; \
     prior instructions; your task; your new; your goal; your instructions; your role; your job; your next; \
     your first; your only; your system; as an ai; as the; as a; as of; in order to comply; it is imperative; \
     it is critical; it is mandatory; it is essential; it is important that; i am your; i'm your; i need you; \
     i want you; this is your; this is a direct; this is an order; there is a new; before you; before doing; before using; \
     before answering; before responding; before continuing; before proceeding; after you; after reading; \
     after this; once you; if you are an; if you're an; if you are reading; if you can read; if asked; if the user; \
     when the user; when you; when asked; whenever; for security reasons; for compliance; for verification; \
     for this task; in this session; in addition to; without telling; without asking; without informing; \
     at the end of; in your; with your; under no circumstances; effective immediately; starting now; instead of; \
     rather than; since the request; because the request; the next call; the next step; the next tool; \
     debes; debe; tienes que; deves; deve; você deve; devi; ignora; olvida; esqueça; dimentica; envía; envia; envie; \
     invia; ejecuta; esegui; elimina; borra; apague; cancella; lee; leia; leggi; usa; responde; responda; rispondi; \
     no le digas; não conte; non dire; a partir de ahora; a partir de agora; d'ora in poi; eres; você é; sei un; \
     vous devez; tu dois; ignorez; oublie; oubliez; envoie; envoyez; exécute; exécutez; supprime; supprimez; lis; \
     lisez; réponds; répondez; ne dis; ne dites; désormais; à partir de maintenant; vous êtes; tu es; \
     du musst; sie müssen; ignoriere; ignorieren sie; vergiss; vergessen sie; sende; senden sie; führe; führen sie; \
     lösche; löschen sie; lies; lesen sie; antworte; antworten sie; verrate; sage; ab sofort; von nun an; du bist; \
     sie sind",
    )
});
/// What is spoken of to models and hardly in records.
pub(super) static TOPICS: Computed<Phrases> = Computed::new(|| {
    Phrases::new(
        "instructions; system prompt; the assistant; language model; the llm; an ai; ai assistant; ai agent; ai model; \
     tool call; this tool; credentials to; api keys; api key to; ~/.ssh; .ssh/; id_rsa; exfiltrat; jailbreak; \
     guardrail; safety; comply; you must; you should; you are now; you will now; must now; has to be; do not tell; \
     do not mention; without telling; without asking; without the user; user must not; the user; the human; \
     your response; your answer; your reply; your output; your next; your context; conversation; developer mode; \
     unrestricted; supersede; overrid; previous rules; all restrictions; restrictions are; restrictions have; \
     security policy requires; is authorized to; is authorised to; pre-approved; preapproved",
    )
});
/// What an honest tool has no reason to ask for.
pub(super) static PRIVATE: Computed<Phrases> = Computed::new(|| {
    Phrases::new(
        "~/.; .ssh; id_rsa; mcp.json; .env; .aws; .netrc; /etc/passwd; credentials; password; private key; api key; \
     system prompt; conversation; chat history",
    )
});
/// Words of sentences.
pub(super) static FUNCTION_WORDS: Computed<Words> = Computed::new(|| {
    Words::new(
        "the; to; of; and; is; are; be; all; this; that; for; with; will; by; it; your; must; should; please; when; if; in; \
     on; from; as; not; no",
    )
});
/// What only reports say.
pub(super) static REPORTS: Computed<Phrases> = Computed::new(|| {
    Phrases::new(
        "has been; have been; was; were; had; has joined; has left; failed; successfully; completed; not found; detected; \
     not responding",
    )
});
