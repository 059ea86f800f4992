//! Owns the few functions of libuv that are needed. They are looked up in the running program, so nothing is linked.

use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute_copy;

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

/// # Safety
/// `F` is the type of the function of this name.
unsafe fn find<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: looks a name up in what is loaded; the caller vouches for the type.
    unsafe {
        let symbol = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        (!symbol.is_null()).then(|| transmute_copy(&symbol))
    }
}

impl Uv {
    pub(super) fn find() -> Option<Uv> {
        // SAFETY: the types are those of libuv's stable ABI.
        unsafe {
            Some(Uv {
                handle_size: find(c"uv_handle_size")?,
                poll_init: find(c"uv_poll_init")?,
                poll_start: find(c"uv_poll_start")?,
                hold: find(c"uv_ref")?,
                let_go: find(c"uv_unref")?,
                close: find(c"uv_close")?,
            })
        }
    }
}
