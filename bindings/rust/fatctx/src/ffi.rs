//! Calls of the library: errors, texts, callbacks. Everything that passes the border of Rust goes through this file.

use std::any::Any;
use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::os::raw::{c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::ptr;

use crate::error::{Error, ErrorCode, Result};
use crate::sys;

/// Calls a function of the library with an error to fill.
pub(crate) fn call(function: impl FnOnce(*mut sys::fatctx_error) -> i32) -> Result<()> {
    let mut error = sys::fatctx_error::default();
    match function(&mut error) {
        sys::FATCTX_OK => Ok(()),
        code => {
            error.code = code;
            Err(Error::of(&error))
        }
    }
}

/// Gets a text of a function that writes it as snprintf does. Most texts fit at once; the work is then done once.
pub(crate) fn text(
    mut function: impl FnMut(*mut c_char, usize, *mut usize, *mut sys::fatctx_error) -> i32,
) -> Result<String> {
    let mut buffer = vec![0u8; 4096];
    loop {
        let mut size = 0;
        call(|error| function(buffer.as_mut_ptr().cast(), buffer.len(), &mut size, error))?;
        if size < buffer.len() {
            buffer.truncate(size);
            return Ok(into_text(buffer));
        }
        buffer.resize(size + 1, 0);
    }
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Returns a text of static storage.
pub(crate) fn static_text(text: *const c_char) -> &'static str {
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("unknown")
}

/// Returns a text that borrows from a handle.
///
/// # Safety
/// The handle must stay open during `'a`.
pub(crate) unsafe fn borrowed<'a>(text: sys::fatctx_text) -> Result<&'a str> {
    std::str::from_utf8(unsafe { slice(text.data.cast(), text.size) })
        .map_err(|error| Error::new(ErrorCode::Malformed, format!("a text of the library is not UTF-8: {error}")))
}

/// Returns a copy of a text that borrows from a handle. A path need not be UTF-8.
///
/// # Safety
/// The handle must be open.
pub(crate) unsafe fn copied(text: sys::fatctx_text) -> String {
    String::from_utf8_lossy(unsafe { slice(text.data.cast(), text.size) }).into_owned()
}

/// Returns elements that borrow from a handle; a null pointer is an empty slice.
///
/// # Safety
/// The handle must stay open during `'a`, and `data` must be null or point to `size` elements.
pub(crate) unsafe fn slice<'a, T>(data: *const T, size: u64) -> &'a [T] {
    if data.is_null() || size == 0 {
        return &[];
    }
    unsafe { std::slice::from_raw_parts(data, size as usize) }
}

/// Texts of the caller as C needs them. Null stands for a text that is not stated.
#[derive(Default)]
pub(crate) struct Texts {
    kept: Vec<CString>,
}

impl Texts {
    pub(crate) fn add(&mut self, text: &str) -> Result<*const c_char> {
        let text = CString::new(text)
            .map_err(|_| Error::new(ErrorCode::InvalidArgument, format!("{text:?}: a text must not contain NUL")))?;
        // The bytes of a CString do not move when the vector grows.
        self.kept.push(text);
        Ok(self.kept[self.kept.len() - 1].as_ptr())
    }

    pub(crate) fn add_optional(&mut self, text: &Option<String>) -> Result<*const c_char> {
        text.as_deref().map_or(Ok(ptr::null()), |text| self.add(text))
    }
}

pub(crate) fn path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::new(ErrorCode::InvalidArgument, format!("{path:?}: a path must not contain NUL")))
}

/// A closure that the library calls, and the panic that came out of it. A panic must not pass through C: it stops the
/// work, and goes on when the call has returned.
pub(crate) struct Callback<F> {
    function: F,
    panic: Option<Box<dyn Any + Send>>,
}

impl<F> Callback<F> {
    pub(crate) fn new(function: F) -> Callback<F> {
        Callback { function, panic: None }
    }

    pub(crate) fn user(&mut self) -> *mut c_void {
        (self as *mut Callback<F>).cast()
    }

    /// Goes on with a panic of the closure.
    pub(crate) fn settle(&mut self) {
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
    }

    /// Runs the closure, unless it has panicked before. Returns true if the work may go on.
    fn run(&mut self, body: impl FnOnce(&mut F) -> ControlFlow<()>) -> bool {
        if self.panic.is_some() {
            return false;
        }
        match catch_unwind(AssertUnwindSafe(|| body(&mut self.function))) {
            Ok(flow) => flow == ControlFlow::Continue(()),
            Err(panic) => {
                self.panic = Some(panic);
                false
            }
        }
    }
}

pub(crate) unsafe extern "C" fn on_progress<F: FnMut(u64, u64) -> ControlFlow<()>>(
    user: *mut c_void,
    done: u64,
    total: u64,
) -> i32 {
    let callback = unsafe { &mut *user.cast::<Callback<F>>() };
    i32::from(!callback.run(|function| function(done, total)))
}

pub(crate) unsafe extern "C" fn on_bytes<F: FnMut(&[u8]) -> ControlFlow<()>>(
    user: *mut c_void,
    bytes: *const c_void,
    size: u64,
) -> i32 {
    let callback = unsafe { &mut *user.cast::<Callback<F>>() };
    i32::from(!callback.run(|function| function(unsafe { slice(bytes.cast(), size) })))
}

/// Defines the owner of a handle, which closes it.
macro_rules! owner {
    ($name:ident, $raw:ident, $close:ident) => {
        pub(crate) struct $name(pub(crate) sys::$raw);

        impl Drop for $name {
            fn drop(&mut self) {
                // Closing fails for a stale handle only, and no other owner of this one exists.
                unsafe { sys::$close(self.0, std::ptr::null_mut()) };
            }
        }
    };
}
pub(crate) use owner;
