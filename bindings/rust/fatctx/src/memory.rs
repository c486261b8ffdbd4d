//! Memory: which pages of a record are in memory.

use std::ops::ControlFlow;

use crate::container::Container;
use crate::error::Result;
use crate::ffi::{call, on_progress, owner, Callback};
use crate::sys;

/// The result of a prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrefetchReport {
    /// Bytes of the records.
    pub asked_bytes: u64,
    /// Bytes that were brought into memory: less if the budget was used up.
    pub done_bytes: u64,
}

impl PrefetchReport {
    pub(crate) fn of(raw: &sys::fatctx_prefetch_report) -> PrefetchReport {
        PrefetchReport { asked_bytes: raw.asked_bytes, done_bytes: raw.done_bytes }
    }
}

/// The result of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReleaseReport {
    /// Bytes of the records.
    pub asked_bytes: u64,
    /// Bytes of whole pages that were given back.
    pub released_bytes: u64,
}

owner!(Handle, fatctx_record_lock, fatctx_record_lock_close);

/// A record whose pages stay in memory until the lock is dropped.
pub struct RecordLock {
    _handle: Handle,
    record_id: u32,
}

impl RecordLock {
    /// Returns the id of the record.
    pub fn record_id(&self) -> u32 {
        self.record_id
    }
}

impl Container {
    /// Brings the pages of one record into memory, at most `max_bytes` of them (`u64::MAX`: all). Checks nothing.
    pub fn prefetch(&self, id: u32, max_bytes: u64) -> Result<PrefetchReport> {
        self.prefetch_with_progress(id, max_bytes, |_, _| ControlFlow::Continue(()))
    }

    /// Does the same and reports bytes that are done, and all of them, after each step of at most 4 MiB.
    pub fn prefetch_with_progress<F: FnMut(u64, u64) -> ControlFlow<()>>(
        &self,
        id: u32,
        max_bytes: u64,
        progress: F,
    ) -> Result<PrefetchReport> {
        let mut callback = Callback::new(progress);
        let options = sys::fatctx_prefetch_options {
            max_bytes,
            progress: Some(on_progress::<F>),
            user: callback.user(),
            ..Default::default()
        };
        let mut raw = sys::fatctx_prefetch_report::default();
        let result = call(|error| unsafe { sys::fatctx_container_prefetch(self.raw(), id, &options, &mut raw, error) });
        callback.settle();
        result.map(|()| PrefetchReport::of(&raw))
    }

    /// Gives back the memory of a record. Views stay valid: their bytes are read from the file again when they are
    /// touched. With `keep_cached` the system's page cache may keep the pages.
    pub fn release(&self, id: u32, keep_cached: bool) -> Result<ReleaseReport> {
        let options = sys::fatctx_release_options { keep_cached: u32::from(keep_cached), ..Default::default() };
        let mut raw = sys::fatctx_release_report::default();
        call(|error| unsafe { sys::fatctx_container_release(self.raw(), id, &options, &mut raw, error) })?;
        Ok(ReleaseReport { asked_bytes: raw.asked_bytes, released_bytes: raw.released_bytes })
    }

    /// Keeps the pages of a record in memory until the lock is dropped.
    pub fn lock(&self, id: u32) -> Result<RecordLock> {
        let mut handle = sys::fatctx_record_lock::default();
        call(|error| unsafe { sys::fatctx_container_lock(self.raw(), id, &mut handle, error) })?;
        Ok(RecordLock { _handle: Handle(handle), record_id: id })
    }
}
