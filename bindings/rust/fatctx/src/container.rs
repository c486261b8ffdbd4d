//! An open container.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Write};
use std::ops::{ControlFlow, Range};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::io::AsFd;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::ffi::{call, copied, on_bytes, on_progress, owner, path, slice, static_text, text, Callback, Texts};
use crate::open::OpenOptions;
use crate::record::{Record, Records};
use crate::sys;
use crate::tensor::{TensorTable, TensorView};
use crate::view::RecordView;

owner!(Handle, fatctx_container, fatctx_container_close);

/// An open container. Clones are the same container, and it may be used from any number of threads.
#[derive(Clone)]
pub struct Container {
    handle: Arc<Handle>,
}

/// Parts of [`Container::info_json`] besides file and records.
#[derive(Clone, Copy, Debug, Default)]
pub struct InfoParts {
    /// The graphs of the records.
    pub graphs: bool,
    /// The options of the container and its records.
    pub options: bool,
    /// The tensors of this weight blob.
    pub tensors_of: Option<u32>,
    /// The sharing of records, actual and possible: reads and verifies the payload.
    pub sharing: bool,
    /// The place of everything in the file.
    pub extents: bool,
    /// What is not present, by the payload and not only by the holes of the file.
    pub present: bool,
}

/// An earlier state of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Its number.
    pub number: u64,
    /// The byte at which it ends in the file.
    pub committed_end: u64,
}

/// Facts about an open.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenReport {
    /// The path, as it was given.
    pub path: PathBuf,
    /// The kind of the file system: "ext4".
    pub filesystem: String,
    /// The identity of the container, hexadecimal with dashes.
    pub uuid: String,
    /// The opened generation.
    pub generation: u64,
    /// The newest generation of the file.
    pub newest_generation: u64,
    /// Earlier generations whose bytes are still in the file, ascending.
    pub earlier: Vec<Generation>,
    /// Bytes of the file.
    pub file_size: u64,
    /// Bytes that no record uses.
    pub dead_bytes: u64,
    /// The container is finished and cannot be appended to.
    pub sealed: bool,
    /// The container has a signature.
    pub signed: bool,
    /// The signature was made with one of the trusted keys.
    pub signature_verified: bool,
    /// Another open of this process had mapped the file.
    pub already_live: bool,
    /// Views are pages of the file. Otherwise they are copies, for the reason in `copy_reason`.
    pub mapped: bool,
    /// Why views are copies; empty if they are not.
    pub copy_reason: String,
    /// Damaged copies of metadata; empty if the file is whole.
    pub degraded: Vec<String>,
    /// The version of the format of the file: "1.0".
    pub format_version: String,
    /// Feature bits of a newer version that this library does not read; empty if there are none.
    pub newer_features: String,
}

impl Container {
    /// Opens a file with the default options. [`OpenOptions`] has others.
    pub fn open(file: impl AsRef<Path>) -> Result<Container> {
        OpenOptions::new().open(file)
    }

    /// Opens a part of an open file with the default options; see [`OpenOptions::open_file`].
    pub fn open_file(file: impl AsFd, offset: u64, size: u64) -> Result<Container> {
        OpenOptions::new().open_file(file, offset, size)
    }

    /// Opens bytes in memory with the default options; see [`OpenOptions::open_bytes`].
    pub fn open_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Container> {
        OpenOptions::new().open_bytes(bytes)
    }

    pub(crate) fn of(handle: sys::fatctx_container) -> Container {
        Container { handle: Arc::new(Handle(handle)) }
    }

    pub(crate) fn raw(&self) -> sys::fatctx_container {
        self.handle.0
    }

    /// Opens the same source again: the present file at its path. This container and its views keep the old bytes.
    pub fn reopen(&self) -> Result<Container> {
        Container::opened(|reopened, error| unsafe { sys::fatctx_container_reopen(self.raw(), reopened, error) })
    }

    /// Checks that the file is still the one that was opened, and that no mapped byte was lost.
    pub fn check(&self) -> Result<()> {
        call(|error| unsafe { sys::fatctx_container_check(self.raw(), error) })
    }

    /// Returns the report of the open.
    pub fn report(&self) -> Result<OpenReport> {
        let mut raw = sys::fatctx_open_report::default();
        call(|error| unsafe { sys::fatctx_container_report(self.raw(), &mut raw, error) })?;
        // All of it borrows from the handle, which is open during this call.
        unsafe {
            Ok(OpenReport {
                path: PathBuf::from(OsStr::from_bytes(slice(raw.path.data.cast(), raw.path.size))),
                filesystem: copied(raw.filesystem),
                uuid: copied(raw.uuid),
                generation: raw.generation,
                newest_generation: raw.newest_generation,
                earlier: slice(raw.earlier, u64::from(raw.earlier_generations))
                    .iter()
                    .map(|state| Generation { number: state.number, committed_end: state.committed_end })
                    .collect(),
                file_size: raw.file_size,
                dead_bytes: raw.dead_bytes,
                sealed: raw.sealed != 0,
                signed: raw.signed_file != 0,
                signature_verified: raw.signature_verified != 0,
                already_live: raw.already_live != 0,
                mapped: raw.mapped != 0,
                copy_reason: copied(raw.copy_reason),
                degraded: slice(raw.degraded, u64::from(raw.degraded_count)).iter().map(|&copy| copied(copy)).collect(),
                format_version: copied(raw.format_version),
                newer_features: copied(raw.newer_features),
            })
        }
    }

    /// Returns the number of records.
    pub fn record_count(&self) -> Result<u64> {
        let mut count = 0;
        call(|error| unsafe { sys::fatctx_container_record_count(self.raw(), &mut count, error) })?;
        Ok(count)
    }

    /// Returns the records in ascending id. Each is read when the iterator comes to it, and that can fail.
    pub fn records(&self) -> Result<Records<'_>> {
        Ok(Records::of(self, self.record_count()?))
    }

    /// Returns a record by its id.
    pub fn record(&self, id: u32) -> Result<Record<'_>> {
        Record::read(self, |info, error| unsafe { sys::fatctx_container_record(self.raw(), id, info, error) })
    }

    /// Returns a record by its name.
    pub fn find(&self, name: &str) -> Result<Record<'_>> {
        let mut texts = Texts::default();
        let name = texts.add(name)?;
        Record::read(self, |info, error| unsafe { sys::fatctx_container_find(self.raw(), name, info, error) })
    }

    /// Makes a view of a record's bytes, checked as the open options say.
    pub fn acquire(&self, id: u32) -> Result<RecordView> {
        RecordView::made(|view, error| unsafe { sys::fatctx_container_acquire(self.raw(), id, view, error) })
    }

    /// Makes a view of the record with this name.
    pub fn acquire_name(&self, name: &str) -> Result<RecordView> {
        let mut texts = Texts::default();
        let name = texts.add(name)?;
        RecordView::made(|view, error| unsafe { sys::fatctx_container_acquire_name(self.raw(), name, view, error) })
    }

    /// Returns how a view of the record would be made, without making one: "direct", "stitched".
    pub fn access_path(&self, id: u32) -> Result<&'static str> {
        let mut access_path = 0;
        call(|error| unsafe { sys::fatctx_container_access_path(self.raw(), id, &mut access_path, error) })?;
        Ok(static_text(unsafe { sys::fatctx_access_path_name(access_path) }))
    }

    /// Returns the ids of the other records that are stored in the same bytes, ascending.
    pub fn same_bytes(&self, id: u32) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        loop {
            let mut count = 0;
            let capacity = ids.len() as u64;
            call(|error| unsafe {
                sys::fatctx_container_same_bytes(self.raw(), id, ids.as_mut_ptr(), capacity, &mut count, error)
            })?;
            ids.resize(count as usize, 0);
            if count <= capacity {
                return Ok(ids);
            }
        }
    }

    /// Returns the ranges of the file that a partial container should have and does not: those that one record needs, or
    /// all of them. With `read_payload` it looks for zeros in the payload, without it for holes of the file.
    pub fn absent(&self, id: Option<u32>, read_payload: bool) -> Result<Vec<Range<u64>>> {
        let mut ranges: Vec<sys::fatctx_file_range> = Vec::new();
        loop {
            let mut count = 0;
            let capacity = ranges.len() as u64;
            let into = if ranges.is_empty() { ptr::null_mut() } else { ranges.as_mut_ptr() };
            call(|error| unsafe {
                sys::fatctx_container_absent(
                    self.raw(),
                    id.unwrap_or(0),
                    u32::from(read_payload),
                    into,
                    capacity,
                    &mut count,
                    error,
                )
            })?;
            ranges.resize(count as usize, sys::fatctx_file_range { offset: 0, size: 0 });
            if count <= capacity {
                return Ok(ranges.iter().map(|one| one.offset..one.offset + one.size).collect());
            }
        }
    }

    /// Returns the table of the tensors of a weight blob.
    pub fn tensors(&self, weights_id: u32) -> Result<TensorTable> {
        TensorTable::made(|table, error| unsafe { sys::fatctx_container_tensors(self.raw(), weights_id, table, error) })
    }

    /// Makes a view of one tensor of a weight blob. Reads a few pages of the table, and checks the bytes of the tensor
    /// alone.
    pub fn tensor(&self, weights_id: u32, name: &str) -> Result<TensorView> {
        let mut texts = Texts::default();
        let name = texts.add(name)?;
        TensorView::made(|view, error| unsafe {
            sys::fatctx_container_tensor(self.raw(), weights_id, name, view, error)
        })
    }

    /// Hands the bytes of a record to a closure, piece by piece, each checked before. They are read, not mapped; a
    /// compressed record gives its original bytes.
    pub fn stream<F: FnMut(&[u8]) -> ControlFlow<()>>(&self, id: u32, sink: F) -> Result<()> {
        let mut callback = Callback::new(sink);
        let user = callback.user();
        let result =
            call(|error| unsafe { sys::fatctx_container_stream(self.raw(), id, Some(on_bytes::<F>), user, error) });
        callback.settle();
        result
    }

    /// Reads a record into memory. A compressed record gives its original bytes.
    pub fn read(&self, id: u32) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.stream(id, |piece| {
            bytes.extend_from_slice(piece);
            ControlFlow::Continue(())
        })?;
        Ok(bytes)
    }

    /// Writes the bytes of a record to a writer, and returns their number. An error of the library is inside the error.
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("fatctx-write-{}.fatctx", std::process::id()));
    /// # let mut packer = fatctx::Packer::new()?;
    /// # packer.add(fatctx::PackRecord::opaque("note", b"text"))?;
    /// # packer.publish(&path)?;
    /// let container = fatctx::Container::open(&path)?;
    /// let mut out = Vec::new();
    /// assert_eq!(container.write_to(container.find("note")?.id(), &mut out)?, 4);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_to(&self, id: u32, writer: &mut impl Write) -> io::Result<u64> {
        let mut written = 0;
        let mut refused = None;
        let streamed = self.stream(id, |piece| match writer.write_all(piece) {
            Ok(()) => {
                written += piece.len() as u64;
                ControlFlow::Continue(())
            }
            Err(error) => {
                refused = Some(error);
                ControlFlow::Break(())
            }
        });
        match refused {
            Some(error) => Err(error),
            None => streamed.map(|()| written).map_err(Error::into),
        }
    }

    /// Writes a record to a file that appears whole or not at all.
    pub fn extract(&self, id: u32, file: impl AsRef<Path>, overwrite: bool) -> Result<()> {
        self.extract_with_progress(id, file, overwrite, |_, _| ControlFlow::Continue(()))
    }

    /// Does the same and reports bytes that are done, and all of them.
    pub fn extract_with_progress<F: FnMut(u64, u64) -> ControlFlow<()>>(
        &self,
        id: u32,
        file: impl AsRef<Path>,
        overwrite: bool,
        progress: F,
    ) -> Result<()> {
        let file = path(file.as_ref())?;
        let mut callback = Callback::new(progress);
        let user = callback.user();
        let result = call(|error| unsafe {
            sys::fatctx_container_extract(
                self.raw(),
                id,
                file.as_ptr(),
                u32::from(overwrite),
                Some(on_progress::<F>),
                user,
                error,
            )
        });
        callback.settle();
        result
    }

    /// Returns file, records and their description as JSON, schema "fatctx.info/1".
    pub fn info_json(&self, parts: InfoParts) -> Result<String> {
        let raw = sys::fatctx_info_parts {
            graphs: u32::from(parts.graphs),
            options: u32::from(parts.options),
            tensors_of: parts.tensors_of.unwrap_or(0),
            sharing: u32::from(parts.sharing),
            extents: u32::from(parts.extents),
            present: u32::from(parts.present),
            ..Default::default()
        };
        text(|buffer, capacity, size, error| unsafe {
            sys::fatctx_container_info_json(self.raw(), &raw, buffer, capacity, size, error)
        })
    }

    /// Returns the archives that were imported into the container as JSON, schema "fatctx.stored_dlcs/1".
    pub fn dlcs_json(&self) -> Result<String> {
        text(|buffer, capacity, size, error| unsafe {
            sys::fatctx_container_dlcs_json(self.raw(), buffer, capacity, size, error)
        })
    }

    /// Writes an imported archive as it was, byte for byte. `layout` names its layout record; `None` is the only archive.
    pub fn export_dlc(&self, layout: Option<&str>, file: impl AsRef<Path>, overwrite: bool) -> Result<()> {
        let mut texts = Texts::default();
        let layout = layout.map_or(Ok(ptr::null()), |layout| texts.add(layout))?;
        let file = path(file.as_ref())?;
        call(|error| unsafe {
            sys::fatctx_container_export_dlc(
                self.raw(),
                layout,
                file.as_ptr(),
                u32::from(overwrite),
                None,
                ptr::null_mut(),
                error,
            )
        })
    }
}

impl fmt::Debug for Container {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Container").field("handle", &self.raw().id).finish()
    }
}
