//! How a container is opened.

use std::ffi::CString;
use std::os::raw::c_void;
use std::os::unix::io::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::ptr;

use crate::container::Container;
use crate::error::Result;
use crate::ffi::{call, path};
use crate::sys;

/// The point in time at which payload is checked. Metadata is always checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verify {
    /// Checks a record before its first view is handed out, once per mapping.
    RecordOnAcquire,
    /// Checks nothing.
    None,
    /// Hands out checked copies in sealed memory of this process, which nobody can change.
    PrivateCopy,
}

/// The use of file mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileMapping {
    /// Maps, and copies only if mapping is not possible.
    Auto,
    /// Never copies.
    Require,
    /// Always copies.
    Disabled,
}

/// Options of an open. The defaults are those of the library.
///
/// ```
/// # let path = std::env::temp_dir().join(format!("fatctx-options-{}.fatctx", std::process::id()));
/// # fatctx::Packer::new()?.publish(&path)?;
/// let container = fatctx::OpenOptions::new().require_local(true).max_copied_bytes(64 << 20).open(&path)?;
/// assert!(container.report()?.mapped);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), fatctx::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    raw: sys::fatctx_open_options,
    cache_folder: Option<PathBuf>,
    trusted_keys: Vec<[u8; 32]>,
}

// The raw struct holds no pointer until a call fills it in.
unsafe impl Send for OpenOptions {}
unsafe impl Sync for OpenOptions {}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions::new()
    }
}

impl OpenOptions {
    /// Makes the default options.
    pub fn new() -> OpenOptions {
        let mut raw = sys::fatctx_open_options::default();
        unsafe { sys::fatctx_open_options_init(&mut raw, std::mem::size_of_val(&raw)) };
        OpenOptions { raw, cache_folder: None, trusted_keys: Vec::new() }
    }

    /// Says when payload is checked; by default before the first view of a record.
    pub fn verify(mut self, verify: Verify) -> OpenOptions {
        self.raw.verify = match verify {
            Verify::RecordOnAcquire => sys::FATCTX_VERIFY_RECORD_ON_ACQUIRE,
            Verify::None => sys::FATCTX_VERIFY_NONE,
            Verify::PrivateCopy => sys::FATCTX_VERIFY_PRIVATE_COPY,
        };
        self
    }

    /// Refuses a path that is a link.
    pub fn refuse_symlinks(mut self, refuse: bool) -> OpenOptions {
        self.raw.refuse_symlinks = u32::from(refuse);
        self
    }

    /// Refuses network and FUSE file systems.
    pub fn require_local(mut self, require: bool) -> OpenOptions {
        self.raw.require_local = u32::from(require);
        self
    }

    /// Says whether the file is mapped or copied.
    pub fn file_mapping(mut self, mapping: FileMapping) -> OpenOptions {
        self.raw.file_mapping = match mapping {
            FileMapping::Auto => sys::FATCTX_FILE_MAPPING_AUTO,
            FileMapping::Require => sys::FATCTX_FILE_MAPPING_REQUIRE,
            FileMapping::Disabled => sys::FATCTX_FILE_MAPPING_DISABLED,
        };
        self
    }

    /// Allows memory for views that are composed of parts which cannot be mapped; by default none.
    pub fn max_copied_bytes(mut self, bytes: u64) -> OpenOptions {
        self.raw.max_copied_bytes = bytes;
        self
    }

    /// Names a folder of mode 0700 in which processes share the bytes of composed views, instead of that memory.
    pub fn cache_folder(mut self, folder: impl Into<PathBuf>) -> OpenOptions {
        self.cache_folder = Some(folder.into());
        self
    }

    /// Limits the cache folder; by default 4 GiB.
    pub fn cache_limit_bytes(mut self, bytes: u64) -> OpenOptions {
        self.raw.cache_limit_bytes = bytes;
        self
    }

    /// Requires a signature by one of these public keys, which [`read_public_key`](crate::read_public_key) reads.
    pub fn trusted_keys(mut self, keys: impl IntoIterator<Item = [u8; 32]>) -> OpenOptions {
        self.trusted_keys = keys.into_iter().collect();
        self
    }

    /// Refuses an older generation with [`ErrorCode::Rollback`](crate::ErrorCode::Rollback).
    pub fn minimum_generation(mut self, generation: u64) -> OpenOptions {
        self.raw.minimum_generation = generation;
        self
    }

    /// Opens an earlier state of a container that was appended to.
    pub fn generation(mut self, generation: u64) -> OpenOptions {
        self.raw.generation = generation;
        self
    }

    /// Limits the bytes that one call may make out of the stored bytes; by default 1 GiB, or 100 times these.
    pub fn max_made_bytes(mut self, bytes: u64) -> OpenOptions {
        self.raw.max_made_bytes = bytes;
        self
    }

    /// Opens a file, or joins this process's mapping of it.
    pub fn open(&self, file: impl AsRef<Path>) -> Result<Container> {
        let file = path(file.as_ref())?;
        self.with_raw(|options| {
            Container::opened(|container, error| unsafe {
                sys::fatctx_container_open(file.as_ptr(), options, container, error)
            })
        })
    }

    /// Opens a part of an open file, such as an asset in a package: `size` bytes from `offset`, a multiple of 4,096. A
    /// size of 0 is "to the end of the file". The file may be closed afterwards.
    pub fn open_file(&self, file: impl AsFd, offset: u64, size: u64) -> Result<Container> {
        let descriptor = file.as_fd().as_raw_fd();
        self.with_raw(|options| {
            Container::opened(|container, error| unsafe {
                sys::fatctx_container_open_descriptor(descriptor, offset, size, options, container, error)
            })
        })
    }

    /// Opens bytes in memory. The container and its views keep the owner of the bytes and drop it after the last use, on
    /// the thread that gives up the last share.
    pub fn open_bytes<B>(&self, bytes: B) -> Result<Container>
    where
        B: AsRef<[u8]> + Send + Sync + 'static,
    {
        unsafe extern "C" fn release<B>(owner: *mut c_void) {
            drop(unsafe { Box::from_raw(owner.cast::<B>()) });
        }
        // The box keeps the owner in its place. The bytes are asked for once, and the owner is not touched before
        // it is dropped, so they stay where they are.
        let owner = Box::into_raw(Box::new(bytes));
        let bytes: &[u8] = unsafe { (*owner).as_ref() };
        let opened = self.with_raw(|options| {
            Container::opened(|container, error| unsafe {
                sys::fatctx_container_open_memory(
                    bytes.as_ptr().cast(),
                    bytes.len() as u64,
                    options,
                    Some(release::<B>),
                    owner.cast(),
                    container,
                    error,
                )
            })
        });
        if opened.is_err() {
            // The library calls release only after an open that succeeds.
            unsafe { release::<B>(owner.cast()) };
        }
        opened
    }

    /// Calls a function with the options as C has them.
    pub(crate) fn with_raw<T>(&self, function: impl FnOnce(*const sys::fatctx_open_options) -> Result<T>) -> Result<T> {
        let folder: Option<CString> = self.cache_folder.as_deref().map(path).transpose()?;
        let mut raw = self.raw;
        raw.cache_folder = folder.as_ref().map_or(ptr::null(), |folder| folder.as_ptr());
        if !self.trusted_keys.is_empty() {
            raw.trusted_keys = self.trusted_keys.as_ptr().cast();
            raw.trusted_key_count = self.trusted_keys.len() as u64;
        }
        function(&raw)
    }
}

impl Container {
    pub(crate) fn opened(
        function: impl FnOnce(*mut sys::fatctx_container, *mut sys::fatctx_error) -> i32,
    ) -> Result<Container> {
        let mut handle = sys::fatctx_container::default();
        call(|error| function(&mut handle, error))?;
        Ok(Container::of(handle))
    }
}
