//! Appending: records are added to a container in place.

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;

use crate::error::Result;
use crate::ffi::{call, owner, path, text, Texts};
use crate::pack::{text_of_array, PackRecord, Watch};
use crate::sys;

/// Options of an append.
#[derive(Default)]
pub struct AppendOptions {
    raw: sys::fatctx_append_options,
    progress: Option<Watch>,
}

impl AppendOptions {
    /// Makes the default options.
    pub fn new() -> AppendOptions {
        AppendOptions::default()
    }

    /// Lets a record supersede a stored one with the same key, which stays readable in its own generation.
    pub fn replace(mut self, replace: bool) -> AppendOptions {
        self.raw.replace = u32::from(replace);
        self
    }

    /// Refuses a second context binary for a SoC in the same group, unit and backend.
    pub fn one_per_soc(mut self, one: bool) -> AppendOptions {
        self.raw.one_per_soc = u32::from(one);
        self
    }

    /// Turns warnings about sharing into errors.
    pub fn strict_sharing(mut self, strict: bool) -> AppendOptions {
        self.raw.strict_sharing = u32::from(strict);
        self
    }

    /// Sets the number of threads that look for shared bytes; it changes no byte of the file.
    pub fn threads(mut self, threads: u32) -> AppendOptions {
        self.raw.threads = threads;
        self
    }

    /// Calls a closure during the commit with bytes that are done, and all of them.
    pub fn progress<F>(mut self, progress: F) -> AppendOptions
    where
        F: FnMut(u64, u64) -> ControlFlow<()> + Send + 'static,
    {
        self.progress = Some(Watch::new(progress));
        self
    }
}

/// A measurement or an observation of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvidenceNote {
    /// The device: "Galaxy S24".
    pub device: String,
    /// The tool with its version: "qnn-net-run 2.51".
    pub tool: Option<String>,
    /// The name of the measure: "latency_ms".
    pub metric: String,
    /// The value: "3.1".
    pub value: String,
    /// The date: "2026-11-22".
    pub date: String,
}

/// The result of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppendReport {
    /// Records that were added; a changed description is one of them.
    pub record_count: u32,
    /// The new generation.
    pub generation: u64,
    /// Bytes of the file before.
    pub file_size_before: u64,
    /// Bytes of the file.
    pub file_size: u64,
    /// Sum of the sizes of the added records.
    pub input_bytes: u64,
    /// Bytes of payload that were written.
    pub stored_bytes: u64,
    /// Bytes that the file, or another added record, had already.
    pub shared_bytes: u64,
    /// Bytes of the file that no record uses.
    pub dead_bytes: u64,
    /// Records that were superseded.
    pub superseded_count: u32,
    /// Warnings, which [`Appender::report_json`] has.
    pub warning_count: u32,
    /// The identity of the container, as before.
    pub uuid: String,
}

owner!(Handle, fatctx_appender, fatctx_appender_close);

/// Adds records to a container in place, while others read it. It holds the write lock of the file until it is dropped.
///
/// ```
/// # use fatctx::{AppendOptions, Appender, Container, PackRecord, Packer};
/// # let path = std::env::temp_dir().join(format!("fatctx-append-{}.fatctx", std::process::id()));
/// # let mut packer = Packer::new()?;
/// # packer.add(PackRecord::opaque("first", b"1"))?;
/// # packer.publish(&path)?;
/// let before = Container::open(&path)?;
/// let mut appender = Appender::open(&path, AppendOptions::new())?;
/// appender.add(PackRecord::opaque("second", b"2"))?;
/// let report = appender.commit()?;
///
/// assert_eq!(report.generation, before.report()?.generation + 1);
/// assert!(before.find("second").is_err()); // open containers keep their generation
/// assert_eq!(&before.reopen()?.acquire_name("second")?[..], b"2");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), fatctx::Error>(())
/// ```
pub struct Appender {
    // Dropped first: the library may use the closure until then.
    handle: Handle,
    progress: Option<Watch>,
}

impl Appender {
    /// Takes the write lock of a container.
    pub fn open(file: impl AsRef<Path>, options: AppendOptions) -> Result<Appender> {
        let file = path(file.as_ref())?;
        let mut raw = options.raw;
        if let Some(watch) = &options.progress {
            (raw.progress, raw.progress_user) = watch.raw();
        }
        let mut handle = sys::fatctx_appender::default();
        call(|error| unsafe { sys::fatctx_appender_open(file.as_ptr(), &raw, &mut handle, error) })?;
        Ok(Appender { handle: Handle(handle), progress: options.progress })
    }

    /// Adds a record; its weights may also be weight blobs of the file. Writes nothing.
    pub fn add(&mut self, record: PackRecord<'_>) -> Result<()> {
        record.with_raw(|record| call(|error| unsafe { sys::fatctx_appender_add(self.handle.0, record, error) }))
    }

    /// Adds a note to the evidence of a record of the file. Writes nothing.
    pub fn note(&mut self, record: &str, note: &EvidenceNote) -> Result<()> {
        let mut texts = Texts::default();
        let name = texts.add(record)?;
        let raw = sys::fatctx_evidence_note {
            device: texts.add(&note.device)?,
            tool: texts.add_optional(&note.tool)?,
            metric: texts.add(&note.metric)?,
            value: texts.add(&note.value)?,
            date: texts.add(&note.date)?,
            ..Default::default()
        };
        call(|error| unsafe { sys::fatctx_appender_note(self.handle.0, name, &raw, error) })
    }

    /// Writes the added records behind the end of the file and names them in its header. After the call nothing more can
    /// be added. On an error other than `commit_unknown` the file opens as before.
    pub fn commit(&mut self) -> Result<AppendReport> {
        let mut raw = sys::fatctx_append_report::default();
        let result = call(|error| unsafe { sys::fatctx_appender_commit(self.handle.0, &mut raw, error) });
        if let Some(watch) = &mut self.progress {
            watch.settle();
        }
        result?;
        Ok(AppendReport {
            record_count: raw.record_count,
            generation: raw.generation,
            file_size_before: raw.file_size_before,
            file_size: raw.file_size,
            input_bytes: raw.input_bytes,
            stored_bytes: raw.stored_bytes,
            shared_bytes: raw.shared_bytes,
            dead_bytes: raw.dead_bytes,
            superseded_count: raw.superseded_count,
            warning_count: raw.warning_count,
            uuid: text_of_array(&raw.uuid),
        })
    }

    /// Returns the report of the commit as JSON, schema "fatctx.appended/1".
    pub fn report_json(&self) -> Result<String> {
        text(|buffer, capacity, size, error| unsafe {
            sys::fatctx_appender_report_json(self.handle.0, buffer, capacity, size, error)
        })
    }
}

impl fmt::Debug for Appender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Appender").field("handle", &self.handle.0.id).finish()
    }
}
