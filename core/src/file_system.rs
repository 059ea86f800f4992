//! Owns the calls to the file system that differ between Unix and Windows, under one name each. Who may read and write a
//! file is for `ownership`.

#[cfg_attr(unix, path = "file_system/unix.rs")]
#[cfg_attr(windows, path = "file_system/windows.rs")]
mod platform;

#[cfg(feature = "cli")]
pub(crate) use platform::can_create_files_in;
pub(crate) use platform::{
    DESCRIPTOR_SHORTAGE, LINK_LOOP, NOT_FOUND, NULL_DEVICE, canonicalize, check_writable,
    is_executable, make_options_private, open_directory_to_lock, open_without_following,
    open_without_waiting, persist, reserve, sync_directory, take_after, version,
};
