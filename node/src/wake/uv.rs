//! Owns the few functions of libuv that are needed. They are found in the running program: there is nothing to link.

use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute;

pub(super) const UV_POLL: c_int = 8;
pub(super) const UV_READABLE: c_int = 1;

/// A `uv_poll_t`.
pub(super) type Handle = *mut c_void;

#[derive(Clone, Copy)]
pub(super) struct Uv {
    pub(super) handle_size: unsafe extern "C" fn(c_int) -> usize,
    pub(super) poll_init: unsafe extern "C" fn(*mut c_void, Handle, c_int) -> c_int,
    pub(super) poll_start:
        unsafe extern "C" fn(Handle, c_int, unsafe extern "C" fn(Handle, c_int, c_int)) -> c_int,
    pub(super) hold: unsafe extern "C" fn(Handle),
    pub(super) let_go: unsafe extern "C" fn(Handle),
    pub(super) close: unsafe extern "C" fn(Handle, unsafe extern "C" fn(Handle)),
}

fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: looks a name up in what is loaded.
    let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!symbol.is_null()).then_some(symbol)
}

impl Uv {
    pub(super) fn find() -> Option<Uv> {
        // SAFETY: the types are those of libuv's stable ABI.
        unsafe {
            Some(Uv {
                handle_size: transmute(find(c"uv_handle_size")?),
                poll_init: transmute(find(c"uv_poll_init")?),
                poll_start: transmute(find(c"uv_poll_start")?),
                hold: transmute(find(c"uv_ref")?),
                let_go: transmute(find(c"uv_unref")?),
                close: transmute(find(c"uv_close")?),
            })
        }
    }
}
