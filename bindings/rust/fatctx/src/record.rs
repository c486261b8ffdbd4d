//! Facts about records.

use std::fmt;
use std::iter::FusedIterator;

use crate::container::Container;
use crate::error::Result;
use crate::ffi::{borrowed, call, slice, static_text, text};
use crate::pack::Codec;
use crate::sys;
use crate::tensor::TensorTable;
use crate::view::RecordView;

/// The type of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordType {
    /// Code for one target.
    ContextBinary,
    /// Weights, which context binaries share.
    WeightBlob,
    /// The tensors of a weight blob.
    TensorTable,
    /// A model from which a binary can be compiled.
    SourceModel,
    /// A model that names a binary, such as an EPContext model.
    WrapperModel,
    /// The description of the container.
    Description,
    /// Anything else.
    Opaque,
    /// A type of a newer version.
    Other(u32),
}

impl RecordType {
    pub(crate) fn of(number: u32) -> RecordType {
        match number {
            sys::FATCTX_RECORD_CONTEXT_BINARY => RecordType::ContextBinary,
            sys::FATCTX_RECORD_WEIGHT_BLOB => RecordType::WeightBlob,
            sys::FATCTX_RECORD_TENSOR_TABLE => RecordType::TensorTable,
            sys::FATCTX_RECORD_SOURCE_MODEL => RecordType::SourceModel,
            sys::FATCTX_RECORD_WRAPPER_MODEL => RecordType::WrapperModel,
            sys::FATCTX_RECORD_DESCRIPTION => RecordType::Description,
            sys::FATCTX_RECORD_OPAQUE => RecordType::Opaque,
            other => RecordType::Other(other),
        }
    }

    pub(crate) fn number(self) -> u32 {
        match self {
            RecordType::ContextBinary => sys::FATCTX_RECORD_CONTEXT_BINARY,
            RecordType::WeightBlob => sys::FATCTX_RECORD_WEIGHT_BLOB,
            RecordType::TensorTable => sys::FATCTX_RECORD_TENSOR_TABLE,
            RecordType::SourceModel => sys::FATCTX_RECORD_SOURCE_MODEL,
            RecordType::WrapperModel => sys::FATCTX_RECORD_WRAPPER_MODEL,
            RecordType::Description => sys::FATCTX_RECORD_DESCRIPTION,
            RecordType::Opaque => sys::FATCTX_RECORD_OPAQUE,
            RecordType::Other(number) => number,
        }
    }

    /// Returns the word of the library: "weight_blob".
    pub fn name(self) -> &'static str {
        static_text(unsafe { sys::fatctx_record_type_name(self.number()) })
    }
}

/// A version of up to four numbers. All zero means "unknown".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number.
    pub major: u16,
    /// The second number.
    pub minor: u16,
    /// The third number.
    pub patch: u32,
    /// The fourth number.
    pub build: u32,
}

impl Version {
    pub(crate) fn of(raw: sys::fatctx_version) -> Version {
        Version { major: raw.major, minor: raw.minor, patch: raw.patch, build: raw.build }
    }

    pub(crate) fn raw(self) -> sys::fatctx_version {
        sys::fatctx_version { major: self.major, minor: self.minor, patch: self.patch, build: self.build }
    }
}

impl std::str::FromStr for Version {
    type Err = crate::Error;

    /// Reads "2", "2.48", "2.48.0", "2.48.0.1"; a leading "v" is allowed.
    fn from_str(text: &str) -> Result<Version> {
        let mut texts = crate::ffi::Texts::default();
        let text = texts.add(text)?;
        let mut raw = sys::fatctx_version::default();
        call(|error| unsafe { sys::fatctx_version_parse(text, &mut raw, error) })?;
        Ok(Version::of(raw))
    }
}

impl fmt::Display for Version {
    /// Writes "2.48": trailing zero parts are left out.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raw = self.raw();
        let shown = text(|buffer, capacity, size, error| unsafe {
            sys::fatctx_version_text(&raw, buffer, capacity, size, error)
        });
        formatter.write_str(&shown.map_err(|_| fmt::Error)?)
    }
}

/// The target that a record was built for. Empty texts, `None` and versions of zeros mean "not stated".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target<'c> {
    /// The group of records that are alternatives to each other.
    pub group: &'c str,
    /// The part of a model that the record computes.
    pub unit: &'c str,
    /// The backend: "htp", "cpu".
    pub backend: &'c str,
    /// The chip: "SM8650".
    pub part: &'c str,
    /// The architecture: "v75", "x86-64-v3".
    pub arch: &'c str,
    /// Required features, sorted, comma separated.
    pub features: &'c str,
    /// A free word that tells equal targets apart.
    pub variant: &'c str,
    /// The number of the chip in QNN.
    pub qnn_soc: Option<u32>,
    /// The size of VTCM.
    pub vtcm_mb: Option<u32>,
    /// The record runs on every device of its backend.
    pub generic: bool,
    /// The SDK that made the record.
    pub sdk: Version,
    /// The version of the interface that it needs.
    pub api: Version,
    /// The version of its own format.
    pub blob: Version,
}

/// Facts about a record. They borrow from the container.
#[derive(Clone, Copy)]
pub struct Record<'c> {
    container: &'c Container,
    id: u32,
    kind: RecordType,
    name: &'c str,
    size: u64,
    stored_bytes: u64,
    file_offset: u64,
    hash: [u8; 16],
    weights: &'c [u32],
    target: Target<'c>,
    codec: Codec,
    is_recipe: bool,
    is_supported: bool,
}

impl<'c> Record<'c> {
    pub(crate) fn read(
        container: &'c Container,
        function: impl FnOnce(*mut sys::fatctx_record_info, *mut sys::fatctx_error) -> i32,
    ) -> Result<Record<'c>> {
        let mut info = sys::fatctx_record_info::default();
        call(|error| function(&mut info, error))?;
        // Texts and weights borrow from the handle of the container, which stays open during 'c.
        unsafe {
            Ok(Record {
                container,
                id: info.id,
                kind: RecordType::of(info.r#type),
                name: borrowed(info.name)?,
                size: info.size_bytes,
                stored_bytes: info.stored_bytes,
                file_offset: info.file_offset,
                hash: info.hash,
                weights: slice(info.weights, u64::from(info.weight_count)),
                target: Target {
                    group: borrowed(info.group)?,
                    unit: borrowed(info.unit)?,
                    backend: borrowed(info.backend)?,
                    part: borrowed(info.part)?,
                    arch: borrowed(info.arch)?,
                    features: borrowed(info.features)?,
                    variant: borrowed(info.variant)?,
                    qnn_soc: Some(info.qnn_soc).filter(|&soc| soc != 0),
                    vtcm_mb: Some(info.vtcm_mb).filter(|&size| size != 0),
                    generic: info.generic != 0,
                    sdk: Version::of(info.sdk),
                    api: Version::of(info.api),
                    blob: Version::of(info.blob),
                },
                codec: Codec::of(info.codec),
                is_recipe: info.recipe != 0,
                is_supported: info.supported != 0,
            })
        }
    }

    /// Returns the id of the record in its container, which is never 0.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Returns the type of the record.
    pub fn record_type(&self) -> RecordType {
        self.kind
    }

    /// Returns the name, which is unique in the container.
    pub fn name(&self) -> &'c str {
        self.name
    }

    /// Returns the number of its bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the number of bytes that the file stores for it.
    pub fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }

    /// Returns the place of its first slice in the file; 0 for an empty record.
    pub fn file_offset(&self) -> u64 {
        self.file_offset
    }

    /// Returns XXH3-128 of its bytes.
    pub fn hash(&self) -> [u8; 16] {
        self.hash
    }

    /// Returns the ids of the weight blobs that it refers to.
    pub fn weights(&self) -> &'c [u32] {
        self.weights
    }

    /// Returns the target that it was built for.
    pub fn target(&self) -> &Target<'c> {
        &self.target
    }

    /// Returns its compression. A compressed record has no view; it is read or streamed.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Returns true if the record is stored as a program and the bytes that it copies from.
    pub fn is_recipe(&self) -> bool {
        self.is_recipe
    }

    /// Returns false if this version of the library lists the record but cannot hand it out.
    pub fn is_supported(&self) -> bool {
        self.is_supported
    }

    /// Returns the target for people: "htp SM8650 soc 57 v75 vtcm 8".
    pub fn target_text(&self) -> Result<String> {
        text(|buffer, capacity, size, error| unsafe {
            sys::fatctx_container_record_target(self.container.raw(), self.id, buffer, capacity, size, error)
        })
    }

    /// Makes a view of its bytes.
    pub fn acquire(&self) -> Result<RecordView> {
        self.container.acquire(self.id)
    }

    /// Reads its bytes into memory.
    pub fn read_bytes(&self) -> Result<Vec<u8>> {
        self.container.read(self.id)
    }

    /// Returns the table of its tensors, if it is a weight blob.
    pub fn tensors(&self) -> Result<TensorTable> {
        self.container.tensors(self.id)
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Record")
            .field("id", &self.id)
            .field("type", &self.kind)
            .field("name", &self.name)
            .field("size", &self.size)
            .finish()
    }
}

/// An iterator over the records of a container, in ascending id.
#[derive(Clone, Debug)]
pub struct Records<'c> {
    container: &'c Container,
    next: u64,
    end: u64,
}

impl<'c> Records<'c> {
    pub(crate) fn of(container: &'c Container, count: u64) -> Records<'c> {
        Records { container, next: 0, end: count }
    }

    fn at(&self, index: u64) -> Result<Record<'c>> {
        let container = self.container;
        Record::read(container, |info, error| unsafe {
            sys::fatctx_container_record_at(container.raw(), index, info, error)
        })
    }
}

impl<'c> Iterator for Records<'c> {
    type Item = Result<Record<'c>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.end {
            return None;
        }
        self.next += 1;
        Some(self.at(self.next - 1))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.end - self.next) as usize;
        (left, Some(left))
    }
}

impl DoubleEndedIterator for Records<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.next == self.end {
            return None;
        }
        self.end -= 1;
        Some(self.at(self.end))
    }
}

impl ExactSizeIterator for Records<'_> {}
impl FusedIterator for Records<'_> {}
