//! Owns the `tracing` subscriber. It takes only mcpool's own events to the sinks that want their level; spans are not
//! used. It reports the highest wanted level to `tracing`, so that other events cost one load.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber, span};

use super::queue::LogQueue;
use super::record::LogRecord;
use super::stderr;

pub(super) struct Sinks {
    stderr: LevelFilter,
    reader: ArcSwapOption<LogQueue>,
}

impl Sinks {
    pub(super) fn new(stderr: LevelFilter) -> Self {
        Sinks { stderr, reader: ArcSwapOption::empty() }
    }

    /// Replaces the reader; one from before a fork receives nothing more.
    pub(super) fn read_by(&self, queue: Arc<LogQueue>) {
        self.reader.store(Some(queue));
    }

    fn level(&self) -> LevelFilter {
        let reader = self.reader.load();
        reader.as_ref().map_or(LevelFilter::OFF, |queue| queue.level()).max(self.stderr)
    }
}

fn is_ours(metadata: &Metadata<'_>) -> bool {
    let rest = metadata.target().strip_prefix("mcpool");
    !metadata.is_span() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

impl Subscriber for Sinks {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if is_ours(metadata) { Interest::always() } else { Interest::never() }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level())
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_ours(metadata) && *metadata.level() <= self.level()
    }

    fn event(&self, event: &Event<'_>) {
        let level = *event.metadata().level();
        let reader = self.reader.load();
        let reader = reader.as_ref().filter(|queue| queue.wants(level));
        let on_stderr = level <= self.stderr;
        if reader.is_none() && !on_stderr {
            return;
        }
        let record = LogRecord::read(event);
        if on_stderr {
            stderr::write(&record);
        }
        if let Some(queue) = reader {
            queue.push(record);
        }
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tracing::subscriber::with_default;

    use super::*;

    fn records_of(level: LevelFilter, work: impl FnOnce()) -> Vec<LogRecord> {
        let queue = Arc::new(LogQueue::new(std::process::id()));
        queue.set_level(level);
        let sinks = Sinks::new(LevelFilter::OFF);
        sinks.read_by(queue.clone());
        with_default(sinks, work);
        queue.take(Duration::ZERO).unwrap()
    }

    #[test]
    fn a_record_has_its_server_as_a_field_and_the_other_fields_after_the_message() {
        let records = records_of(LevelFilter::TRACE, || {
            tracing::warn!(server = "time", id = 7, method = "a\nb", "an answer to {}", "nobody");
        });
        let [record] = &records[..] else { panic!("{records:?}") };
        assert_eq!(record.server.as_deref(), Some("time"));
        assert_eq!(record.message, "an answer to nobody id=7 method=\"a\\nb\"");
        assert_eq!((record.level, record.target), (tracing::Level::WARN, module_path!()));
    }

    #[test]
    fn only_our_own_events_up_to_the_level_are_taken() {
        let records = records_of(LevelFilter::INFO, || {
            tracing::error!(target: "hyper", "foreign");
            tracing::error!(target: "mcpool_like", "foreign");
            tracing::debug!("too much");
            tracing::info!(target: "mcpool", "ours");
        });
        let texts: Vec<_> = records.iter().map(|record| &*record.message).collect();
        assert_eq!(texts, ["ours"]);
    }
}
