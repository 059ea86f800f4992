//! Owns telling V8 about memory of the core that a JavaScript object keeps alive, so that it collects forgotten objects in
//! time.
//! Invariant: what was added is taken off when the value is dropped, on the thread of its environment.

use napi::sys;

/// Memory that V8 counts while this lives.
pub(crate) struct ExternalMemory {
    env: sys::napi_env,
    bytes: i64,
}

impl ExternalMemory {
    pub(crate) fn new(env: sys::napi_env, bytes: i64) -> Self {
        adjust(env, bytes);
        ExternalMemory { env, bytes }
    }
}

impl Drop for ExternalMemory {
    fn drop(&mut self) {
        adjust(self.env, -self.bytes);
    }
}

fn adjust(env: sys::napi_env, bytes: i64) {
    let mut now = 0;
    // SAFETY: this is the environment's thread, and the call is allowed in finalizers. If it fails, V8 only counts less.
    unsafe { sys::napi_adjust_external_memory(env, bytes, &mut now) };
}
