//! Hazard: events are lost to a reader that reads as fast as it can, or are lost without a `lost` event.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{apart, call, stdio};
use mcpool::{CallPhase, Config, EventKind, Manager};
use serde_json::json;

const CALLS: usize = 8000;

async fn every_call_is_told(callers: usize) {
    let config = Config::from_value(json!({"mcpServers": {"s": stdio(&[])}})).unwrap();
    let manager = Arc::new(Manager::new(config, apart().call_events(true)));
    manager.connect_all().await.unwrap();
    let events = manager.events();
    let reader = tokio::spawn(async move {
        let (mut started, mut finished, mut lost) = (0, 0, 0);
        while let Some(event) = events.next().await {
            match event.kind {
                EventKind::Call { phase: CallPhase::Started, .. } => started += 1,
                EventKind::Call { phase: CallPhase::Finished, .. } => finished += 1,
                EventKind::Lost { count } => lost += count,
                _ => {}
            }
        }
        assert_eq!(lost, events.lost());
        (started, finished, lost)
    });
    let begun = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..callers)
        .map(|_| {
            let (manager, begun) = (manager.clone(), begun.clone());
            tokio::spawn(async move {
                while begun.fetch_add(1, Ordering::Relaxed) < CALLS {
                    call(&manager, "echo", json!({"text": "x"})).await.unwrap();
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    manager.close().await;
    assert_eq!(reader.await.unwrap(), (CALLS, CALLS, 0));
}

#[tokio::test]
async fn an_eager_reader_hears_of_every_call_of_one_caller() {
    every_call_is_told(1).await;
}

#[tokio::test]
async fn an_eager_reader_hears_of_every_call_of_many_callers() {
    every_call_is_told(32).await;
}

/// Like a busy host loop: it returns for all events at once.
#[tokio::test]
async fn a_reader_that_comes_late_takes_all_of_it_in_batches() {
    let config = Config::from_value(json!({"mcpServers": {"s": stdio(&[])}})).unwrap();
    let manager = Manager::new(config, apart().call_events(true));
    manager.connect_all().await.unwrap();
    let events = manager.events();
    for _ in 0..2000 {
        call(&manager, "echo", json!({"text": "x"})).await.unwrap();
    }
    manager.close().await;
    let (mut told, mut batches) = (0, 0);
    while events.ready().await {
        let batch = events.take();
        told += batch.iter().filter(|event| matches!(event.kind, EventKind::Call { .. })).count();
        batches += 1;
    }
    assert_eq!((told, events.lost()), (4000, 0));
    assert!(batches < 100, "{batches} batches");
}
