//! Owns what the system tells about a terminal.

pub(super) use std::os::windows::io::AsRawHandle as Console;

use windows_sys::Win32::System::Console::{
    CONSOLE_SCREEN_BUFFER_INFO, ENABLE_VIRTUAL_TERMINAL_PROCESSING, GetConsoleMode,
    GetConsoleScreenBufferInfo, SetConsoleMode,
};

/// The terminal's width, if the stream is a terminal.
pub(super) fn columns(stream: &impl Console) -> Option<usize> {
    let mut about = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: the struct is plain numbers, and the system writes only to it.
    let known = unsafe { GetConsoleScreenBufferInfo(stream.as_raw_handle(), &mut about) } != 0;
    let columns = about.srWindow.Right - about.srWindow.Left + 1;
    usize::try_from(columns).ok().filter(|&columns| known && columns > 0)
}

/// Makes the console read ANSI codes, which older ones do only if they are told to.
pub(super) fn understands_colour(stream: &impl Console) -> bool {
    let (console, mut mode) = (stream.as_raw_handle(), 0);
    // SAFETY: the handle is open, and the system writes only the number.
    unsafe {
        GetConsoleMode(console, &mut mode) != 0
            && SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0
    }
}
