//! Memory-mapped containers of compiled models.
//!
//! A `.fatctx` file holds a context binary for every chip and the weights that they share. This crate maps the file
//! once per process, chooses the records for the machine with a reason, and gives views of the mapped bytes.
//!
//! ```
//! use fatctx::{Container, Device, ModelOptions, PackRecord, Packer};
//!
//! # fn main() -> fatctx::Result<()> {
//! # let folder = std::env::temp_dir().join(format!("fatctx-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! # let path = folder.join("model.fatctx");
//! let mut packer = Packer::new()?;
//! packer.add(PackRecord::context_binary("v3", b"code of v3").backend("cpu").arch("x86-64-v3"))?;
//! packer.add(PackRecord::context_binary("v2", b"code of v2").backend("cpu").arch("x86-64-v2"))?;
//! packer.publish(&path)?;
//!
//! let container = Container::open(&path)?;
//! for record in container.records()? {
//!     let record = record?;
//!     println!("{}: {} bytes, for {}", record.name(), record.size(), record.target_text()?);
//! }
//!
//! let device = Device::parse("x86-64-v3")?;
//! let model = container.select(&ModelOptions::new().device(&device))?;
//! println!("{}", model.explain()?); // why this record and no other
//! let binary = model.begin_session()?.binary()?; // mapped, not copied
//! drop(container); // a view keeps its bytes mapped
//! assert_eq!(&binary[..], b"code of v3");
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok(())
//! # }
//! ```
//!
//! # Lifetimes
//!
//! [`Record`] borrows from its [`Container`], and [`TensorInfo`] from its [`TensorTable`]. Views, models and sessions
//! borrow nothing: each is a share of the mapping and keeps it alive. They are `Send + Sync + 'static`, and cheap to
//! clone.
//!
//! # The file under a view
//!
//! A view shows pages of a file. The library never writes to bytes that it has committed, and a file may be replaced by
//! rename at any time. But a process that overwrites or truncates the file in place changes bytes that Rust believes to
//! be constant. Where others may do that, open with [`Verify::PrivateCopy`]: views are then checked copies in memory
//! that nobody can change. [`install_mapping_guard`] turns a truncated file into an error.
//!
//! # Callbacks
//!
//! Closures run on the calling thread. `ControlFlow::Break(())` stops the work, which answers
//! [`ErrorCode::Cancelled`]. A panic in a closure stops the work as well and then goes on in the caller.
#![deny(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(not(unix))]
compile_error!("fatctx has no binding for this system yet: it needs a Unix-like one");

pub use fatctx_sys as sys;

mod append;
mod container;
mod device;
mod error;
mod ffi;
mod memory;
mod model;
mod open;
mod pack;
mod record;
mod tensor;
mod verify;
mod view;

pub use append::{AppendOptions, AppendReport, Appender, EvidenceNote};
pub use container::{Container, Generation, InfoParts, OpenReport};
pub use device::Device;
pub use error::{Error, ErrorCode, Result};
pub use memory::{PrefetchReport, RecordLock, ReleaseReport};
pub use model::{open_view, Level, Model, ModelOptions, OnDamage, RawBinaries, Selection, Session, Verdict};
pub use open::{FileMapping, OpenOptions, Verify};
pub use pack::{
    Codec, Graph, GraphTensor, PackOptions, PackRecord, PackReport, PackTensor, Packer, Sharing, WeightsFormat,
};
pub use record::{Record, RecordType, Records, Target, Version};
pub use tensor::{DType, Element, TensorInfo, TensorTable, TensorView, Tensors};
pub use verify::{read_public_key, verify_file, VerifyOptions, VerifyReport};
pub use view::RecordView;

/// Returns the version of the library: "0.1.0".
pub fn library_version() -> &'static str {
    ffi::static_text(unsafe { sys::fatctx_library_version() })
}

/// Returns the version of the format that the library writes: "1.0".
pub fn format_version() -> &'static str {
    ffi::static_text(unsafe { sys::fatctx_format_version() })
}

/// Installs the guard against SIGBUS for the whole process, for ever.
///
/// Bytes of a file that was truncated while it was mapped then read as zeros and do not end the process. Every later
/// call for that container answers [`ErrorCode::MappingLost`].
pub fn install_mapping_guard() -> Result<()> {
    ffi::call(|error| unsafe { sys::fatctx_mapping_guard_install(error) })
}

/// Computes XXH3-128 of bytes, as containers store it: it detects accidents, not forgeries.
///
/// ```
/// assert_ne!(fatctx::content_hash(b"weights")?, fatctx::content_hash(b"Weights")?);
/// # Ok::<(), fatctx::Error>(())
/// ```
pub fn content_hash(bytes: &[u8]) -> Result<[u8; 16]> {
    let mut hash = [0; 16];
    ffi::call(|error| unsafe {
        sys::fatctx_content_hash(bytes.as_ptr().cast(), bytes.len() as u64, hash.as_mut_ptr(), error)
    })?;
    Ok(hash)
}
