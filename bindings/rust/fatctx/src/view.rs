//! Views of the bytes of records.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::error::Result;
use crate::ffi::{call, slice, static_text};
use crate::sys;

/// The owner of a view.
pub(crate) struct ViewHandle(pub(crate) sys::fatctx_view);

// The bytes are read-only, and every function of the library may be called from any thread.
unsafe impl Send for ViewHandle {}
unsafe impl Sync for ViewHandle {}

impl ViewHandle {
    pub(crate) fn made(
        function: impl FnOnce(*mut sys::fatctx_view, *mut sys::fatctx_error) -> i32,
    ) -> Result<ViewHandle> {
        let mut view = sys::fatctx_view::default();
        call(|error| function(&mut view, error))?;
        Ok(ViewHandle(view))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // The bytes stay mapped and unchanged until the handle is closed, which is when this owner is dropped.
        unsafe { slice(self.0.data.cast(), self.0.size) }
    }

    pub(crate) fn describe(&self) -> Result<sys::fatctx_view_info> {
        let mut info = sys::fatctx_view_info::default();
        call(|error| unsafe { sys::fatctx_view_describe(self.0, &mut info, error) })?;
        Ok(info)
    }
}

impl Drop for ViewHandle {
    fn drop(&mut self) {
        unsafe { sys::fatctx_view_close(self.0, std::ptr::null_mut()) };
    }
}

/// The read-only bytes of a record.
///
/// A view is a slice that owns its mapping: it outlives the container, the model and the session that it came from, and
/// moves between threads. Clones are the same view. Everything that takes an owner of bytes takes a view
/// (`AsRef<[u8]> + Send + Sync + 'static`).
///
/// ```
/// # let path = std::env::temp_dir().join(format!("fatctx-view-{}.fatctx", std::process::id()));
/// # let mut packer = fatctx::Packer::new()?;
/// # packer.add(fatctx::PackRecord::opaque("note", b"a text"))?;
/// # packer.publish(&path)?;
/// let view = fatctx::Container::open(&path)?.acquire_name("note")?; // the container is closed here
/// assert_eq!(view.iter().filter(|&&sign| sign == b't').count(), 2);
/// std::thread::spawn(move || assert_eq!(&view[2..], b"text")).join().unwrap();
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), fatctx::Error>(())
/// ```
#[derive(Clone)]
pub struct RecordView {
    handle: Arc<ViewHandle>,
    info: sys::fatctx_view_info,
}

// The pointer in the description is that of the handle.
unsafe impl Send for RecordView {}
unsafe impl Sync for RecordView {}

impl RecordView {
    pub(crate) fn made(
        function: impl FnOnce(*mut sys::fatctx_view, *mut sys::fatctx_error) -> i32,
    ) -> Result<RecordView> {
        let handle = ViewHandle::made(function)?;
        let info = handle.describe()?;
        Ok(RecordView { handle: Arc::new(handle), info })
    }

    pub(crate) fn raw(&self) -> sys::fatctx_view {
        self.handle.0
    }

    /// Returns the id of the record; 0 for a record of a file that is not a container.
    pub fn record_id(&self) -> u32 {
        self.info.record_id
    }

    /// Returns how the view was made: "direct" for pages of the file, "stitched" for several runs of them.
    pub fn access_path(&self) -> &'static str {
        static_text(unsafe { sys::fatctx_access_path_name(self.info.access_path) })
    }

    /// Returns the bytes that are shown from memory instead of pages of the file. Views of one record share them.
    pub fn copied_bytes(&self) -> u64 {
        self.info.copied_bytes
    }

    /// Returns the bytes that are shown from a file in a cache folder.
    pub fn cached_bytes(&self) -> u64 {
        self.info.cached_bytes
    }
}

impl Deref for RecordView {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.handle.bytes()
    }
}

impl AsRef<[u8]> for RecordView {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for RecordView {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RecordView")
            .field("record_id", &self.record_id())
            .field("size", &self.len())
            .field("access_path", &self.access_path())
            .finish()
    }
}
