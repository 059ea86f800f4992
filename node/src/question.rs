//! Owns listening to the core's questions on behalf of a JavaScript thread that waits for something.

use mcpool::Question;
use mcpool::host::{Letter, Listening, Questions};

use crate::post::Post;

/// Questions come as letters for `key`.
pub(crate) fn listen(questions: &Questions, post: &Post, key: i64) -> Listening {
    questions.listen(post_question(post, key))
}

/// Same, but asked last: while no verb is running.
pub(crate) fn listen_meanwhile(questions: &Questions, post: &Post, key: i64) -> Listening {
    questions.listen_meanwhile(post_question(post, key))
}

fn post_question(post: &Post, key: i64) -> impl Fn(Question) + Send + 'static {
    let mailbox = post.mailbox.clone();
    move |question| mailbox.post(key as u64, Letter::Question(question))
}
