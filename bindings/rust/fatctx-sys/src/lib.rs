//! Declarations of the C interface of fatctx. The crate `fatctx` offers the same as safe Rust.
//!
//! Functions, structs and constants have the names and the comments of the C headers. Rules that hold for all of them:
//!
//! - A function that can fail returns `FATCTX_OK` or a code `FATCTX_ERROR_...`. The list of codes is open.
//! - Its last parameter is a [`fatctx_error`] of the caller, or null.
//! - Handles are numbers. They do not depend on each other, and every one is closed by the caller.
//! - A struct that begins with `struct_size` has a [`Default`] that sets it. If the library has an `_init` function for
//!   the struct, call that instead, because some of its defaults are not zero.
//! - A [`fatctx_text`] is not ended by NUL and borrows from the handle of the call.
//!
//! ```
//! use fatctx_sys::*;
//!
//! let mut error = fatctx_error::default();
//! let mut container = fatctx_container::default();
//! let code = unsafe {
//!     fatctx_container_open("no.fatctx\0".as_ptr().cast(), std::ptr::null(), &mut container, &mut error)
//! };
//! assert_eq!(code, FATCTX_ERROR_NOT_FOUND);
//! assert_eq!(error.code, code);
//! ```
#![allow(non_camel_case_types)]

#[rustfmt::skip]
mod declarations;

pub use declarations::*;
