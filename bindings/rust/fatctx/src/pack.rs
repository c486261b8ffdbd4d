//! Packing: a new container is written.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::os::raw::{c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use crate::error::Result;
use crate::ffi::{call, on_progress, owner, path, text, Callback, Texts};
use crate::record::{RecordType, Version};
use crate::sys;
use crate::tensor::DType;
use crate::view::RecordView;

/// How the bytes of a record are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// As they are.
    None,
    /// As one lz4 frame: for source models and opaque records, which nobody maps.
    Lz4,
    /// In a way of a newer version.
    Other(u32),
}

impl Codec {
    pub(crate) fn of(number: u32) -> Codec {
        match number {
            sys::FATCTX_CODEC_NONE => Codec::None,
            sys::FATCTX_CODEC_LZ4 => Codec::Lz4,
            other => Codec::Other(other),
        }
    }

    fn number(self) -> u32 {
        match self {
            Codec::None => sys::FATCTX_CODEC_NONE,
            Codec::Lz4 => sys::FATCTX_CODEC_LZ4,
            Codec::Other(number) => number,
        }
    }
}

/// How records share equal bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sharing {
    /// Not at all.
    Off,
    /// Whole pages, which stay mapped.
    Pages,
    /// At any offset; views of such records are composed, with memory that the open must allow.
    Bytes,
}

/// Formats of files with weights, whose index names their tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WeightsFormat {
    /// safetensors.
    Safetensors,
    /// GGUF.
    Gguf,
    /// The parameter archive of IREE.
    Irpa,
}

/// A progress closure at a place that does not move. It lives as long as the handle that calls it.
pub(crate) struct Watch {
    callback: *mut Callback<Progress>,
}

type Progress = Box<dyn FnMut(u64, u64) -> ControlFlow<()> + Send>;

// The closure and a panic of it may be sent, and only the owner of the handle makes calls that use them.
unsafe impl Send for Watch {}

impl Watch {
    pub(crate) fn new(progress: impl FnMut(u64, u64) -> ControlFlow<()> + Send + 'static) -> Watch {
        Watch { callback: Box::into_raw(Box::new(Callback::new(Box::new(progress)))) }
    }

    pub(crate) fn raw(&self) -> (sys::fatctx_progress, *mut c_void) {
        (Some(on_progress::<Progress>), self.callback.cast())
    }

    pub(crate) fn settle(&mut self) {
        unsafe { (*self.callback).settle() };
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(unsafe { Box::from_raw(self.callback) });
    }
}

pub(crate) fn text_of_array(array: &[c_char]) -> String {
    array.iter().map(|&sign| sign as u8).take_while(|&sign| sign != 0).map(char::from).collect()
}

/// Options of a pack. The defaults are those of the library.
pub struct PackOptions {
    raw: sys::fatctx_pack_options,
    model_name: Option<String>,
    options: Vec<(String, String, Option<String>)>,
    progress: Option<Watch>,
}

impl Default for PackOptions {
    fn default() -> PackOptions {
        PackOptions::new()
    }
}

impl PackOptions {
    /// Makes the default options.
    pub fn new() -> PackOptions {
        let mut raw = sys::fatctx_pack_options::default();
        unsafe { sys::fatctx_pack_options_init(&mut raw, std::mem::size_of_val(&raw)) };
        PackOptions { raw, model_name: None, options: Vec::new(), progress: None }
    }

    /// Finishes the container: nothing can be appended to it.
    pub fn seal(mut self, seal: bool) -> PackOptions {
        self.raw.seal = u32::from(seal);
        self
    }

    /// Replaces an existing file, by rename.
    pub fn overwrite(mut self, overwrite: bool) -> PackOptions {
        self.raw.overwrite = u32::from(overwrite);
        self
    }

    /// Says how records share equal bytes; by default whole pages.
    pub fn sharing(mut self, sharing: Sharing) -> PackOptions {
        self.raw.sharing = match sharing {
            Sharing::Off => sys::FATCTX_SHARING_OFF,
            Sharing::Pages => sys::FATCTX_SHARING_PAGES,
            Sharing::Bytes => sys::FATCTX_SHARING_BYTES,
        };
        self
    }

    /// Sets the alignment of records: 12, 16 or 21 bits; 0 chooses.
    pub fn extent_log2(mut self, bits: u32) -> PackOptions {
        self.raw.extent_log2 = bits;
        self
    }

    /// Sets the size of shared pages: 12, 14 or 16 bits.
    pub fn granule_log2(mut self, bits: u32) -> PackOptions {
        self.raw.granule_log2 = bits;
        self
    }

    /// Limits the pieces of one record with [`Sharing::Pages`].
    pub fn max_pieces(mut self, pieces: u32) -> PackOptions {
        self.raw.max_pieces = pieces;
        self
    }

    /// Sets the number of threads that look for shared bytes; it changes no byte of the file.
    pub fn threads(mut self, threads: u32) -> PackOptions {
        self.raw.threads = threads;
        self
    }

    /// Refuses a second context binary for a SoC in the same group, unit and backend.
    pub fn one_per_soc(mut self, one: bool) -> PackOptions {
        self.raw.one_per_soc = u32::from(one);
        self
    }

    /// Turns warnings about sharing into errors.
    pub fn strict_sharing(mut self, strict: bool) -> PackOptions {
        self.raw.strict_sharing = u32::from(strict);
        self
    }

    /// Stores SHA-256 of each record and each leaf as well.
    pub fn sha256(mut self, sha256: bool) -> PackOptions {
        self.raw.sha256 = u32::from(sha256);
        self
    }

    /// Names the model.
    pub fn model_name(mut self, name: impl Into<String>) -> PackOptions {
        self.model_name = Some(name.into());
        self
    }

    /// Adds an option of the whole container. `owner` is the execution provider or tool that it belongs to.
    pub fn option(mut self, key: impl Into<String>, value: impl Into<String>, owner: Option<&str>) -> PackOptions {
        self.options.push((key.into(), value.into(), owner.map(String::from)));
        self
    }

    /// Calls a closure while the container is written, with bytes that are done, and all of them.
    pub fn progress<F>(mut self, progress: F) -> PackOptions
    where
        F: FnMut(u64, u64) -> ControlFlow<()> + Send + 'static,
    {
        self.progress = Some(Watch::new(progress));
        self
    }
}

fn options_of(texts: &mut Texts, options: &[(String, String, Option<String>)]) -> Result<Vec<sys::fatctx_option>> {
    options
        .iter()
        .map(|(key, value, owner)| {
            Ok(sys::fatctx_option { key: texts.add(key)?, value: texts.add(value)?, owner: texts.add_optional(owner)? })
        })
        .collect()
}

/// A tensor of a weight blob that is packed.
#[derive(Clone, Debug)]
pub struct PackTensor {
    name: String,
    dtype: DType,
    shape: Vec<u64>,
    offset: u64,
    size: Option<u64>,
    alias: bool,
}

impl PackTensor {
    /// Describes a tensor at the beginning of the blob, with the size that type and shape give.
    pub fn new(name: impl Into<String>, dtype: DType, shape: impl Into<Vec<u64>>) -> PackTensor {
        PackTensor { name: name.into(), dtype, shape: shape.into(), offset: 0, size: None, alias: false }
    }

    /// Sets the place of its first byte in the blob.
    pub fn offset(mut self, offset: u64) -> PackTensor {
        self.offset = offset;
        self
    }

    /// Sets the number of its bytes.
    pub fn size(mut self, size: u64) -> PackTensor {
        self.size = Some(size);
        self
    }

    /// Says that it shares bytes with another tensor on purpose.
    pub fn alias(mut self, alias: bool) -> PackTensor {
        self.alias = alias;
        self
    }

    fn raw(&self, texts: &mut Texts) -> Result<sys::fatctx_pack_tensor> {
        let (shape, rank) = (self.shape.as_ptr(), self.shape.len() as u64);
        let mut size_bytes = 0;
        match self.size {
            Some(size) => size_bytes = size,
            None => call(|error| unsafe {
                sys::fatctx_tensor_size_bytes(self.dtype.number(), shape, rank, &mut size_bytes, error)
            })?,
        }
        Ok(sys::fatctx_pack_tensor {
            name: texts.add(&self.name)?,
            shape,
            rank,
            offset_in_blob: self.offset,
            size_bytes,
            dtype: self.dtype.number(),
            alias: u32::from(self.alias),
        })
    }
}

/// An input or output of a graph.
#[derive(Clone, Debug)]
pub struct GraphTensor {
    /// The name.
    pub name: String,
    /// The type of the elements.
    pub dtype: DType,
    /// Elements per dimension; -1 for a dynamic one.
    pub shape: Vec<i64>,
}

/// A graph of a context binary.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The name.
    pub name: String,
    /// Its inputs.
    pub inputs: Vec<GraphTensor>,
    /// Its outputs.
    pub outputs: Vec<GraphTensor>,
}

#[derive(Clone, Debug)]
enum Source<'a> {
    Bytes(&'a [u8]),
    File(PathBuf),
    PartOfFile(PathBuf, u64, u64),
    Copy(RecordView),
}

/// A record to pack. Bytes are copied when it is added; a file is read when the container is written.
///
/// ```
/// use fatctx::PackRecord;
///
/// let code = PackRecord::context_binary("net.v75", b"code")
///     .backend("htp")
///     .arch("SM8650") // fills in part, number and VTCM from the table of SoCs
///     .weights(["net.weights"]);
/// # let _ = code;
/// ```
#[derive(Clone, Debug)]
pub struct PackRecord<'a> {
    raw: sys::fatctx_pack_record,
    name: String,
    source: Source<'a>,
    group: Option<String>,
    unit: Option<String>,
    backend: Option<String>,
    part: Option<String>,
    arch: Option<String>,
    features: Option<String>,
    variant: Option<String>,
    producer: Option<String>,
    format: Option<String>,
    weights: Vec<String>,
    tensors: Vec<PackTensor>,
    ranges: Vec<(String, Range<u64>)>,
    graphs: Vec<Graph>,
    options: Vec<(String, String, Option<String>)>,
}

// The raw struct holds no pointer until a call fills it in.
unsafe impl Send for PackRecord<'_> {}
unsafe impl Sync for PackRecord<'_> {}

impl<'a> PackRecord<'a> {
    /// Makes a record of any type, without bytes.
    pub fn new(record_type: RecordType, name: impl Into<String>) -> PackRecord<'a> {
        let mut raw = sys::fatctx_pack_record::default();
        unsafe { sys::fatctx_pack_record_init(&mut raw, std::mem::size_of_val(&raw)) };
        raw.r#type = record_type.number();
        PackRecord {
            raw,
            name: name.into(),
            source: Source::Bytes(&[]),
            group: None,
            unit: None,
            backend: None,
            part: None,
            arch: None,
            features: None,
            variant: None,
            producer: None,
            format: None,
            weights: Vec::new(),
            tensors: Vec::new(),
            ranges: Vec::new(),
            graphs: Vec::new(),
            options: Vec::new(),
        }
    }

    /// Makes a context binary.
    pub fn context_binary(name: impl Into<String>, bytes: &'a [u8]) -> PackRecord<'a> {
        PackRecord::new(RecordType::ContextBinary, name).bytes(bytes)
    }

    /// Makes a weight blob.
    pub fn weight_blob(name: impl Into<String>, bytes: &'a [u8]) -> PackRecord<'a> {
        PackRecord::new(RecordType::WeightBlob, name).bytes(bytes)
    }

    /// Makes a record that the library does not look into.
    pub fn opaque(name: impl Into<String>, bytes: &'a [u8]) -> PackRecord<'a> {
        PackRecord::new(RecordType::Opaque, name).bytes(bytes)
    }

    /// Takes these bytes.
    pub fn bytes(mut self, bytes: &'a [u8]) -> PackRecord<'a> {
        self.source = Source::Bytes(bytes);
        self
    }

    /// Takes the bytes of a file, which must not change until the container is written.
    pub fn file(mut self, file: impl Into<PathBuf>) -> PackRecord<'a> {
        self.source = Source::File(file.into());
        self
    }

    /// Takes `size` bytes of a file from `offset`.
    pub fn part_of_file(mut self, file: impl Into<PathBuf>, offset: u64, size: u64) -> PackRecord<'a> {
        self.source = Source::PartOfFile(file.into(), offset, size);
        self
    }

    /// Takes a copy of a record of another file.
    pub fn copy_of(mut self, view: &RecordView) -> PackRecord<'a> {
        self.source = Source::Copy(view.clone());
        self
    }

    /// Sets the group of records that are alternatives to each other.
    pub fn group(mut self, group: impl Into<String>) -> PackRecord<'a> {
        self.group = Some(group.into());
        self
    }

    /// Sets the part of the model that the record computes.
    pub fn unit(mut self, unit: impl Into<String>) -> PackRecord<'a> {
        self.unit = Some(unit.into());
        self
    }

    /// Sets the backend: "htp", "cpu".
    pub fn backend(mut self, backend: impl Into<String>) -> PackRecord<'a> {
        self.backend = Some(backend.into());
        self
    }

    /// Sets the chip: "SM8650".
    pub fn part(mut self, part: impl Into<String>) -> PackRecord<'a> {
        self.part = Some(part.into());
        self
    }

    /// Sets the architecture; for "htp" a SoC will do, whose other facts the table of SoCs fills in.
    pub fn arch(mut self, arch: impl Into<String>) -> PackRecord<'a> {
        self.arch = Some(arch.into());
        self
    }

    /// Sets the required features, comma separated.
    pub fn features(mut self, features: impl Into<String>) -> PackRecord<'a> {
        self.features = Some(features.into());
        self
    }

    /// Sets a free word that tells equal targets apart.
    pub fn variant(mut self, variant: impl Into<String>) -> PackRecord<'a> {
        self.variant = Some(variant.into());
        self
    }

    /// Sets the number of the chip in QNN.
    pub fn qnn_soc(mut self, number: u32) -> PackRecord<'a> {
        self.raw.qnn_soc = number;
        self
    }

    /// Sets the size of VTCM.
    pub fn vtcm_mb(mut self, size: u32) -> PackRecord<'a> {
        self.raw.vtcm_mb = size;
        self
    }

    /// Says that it runs on every device of its backend.
    pub fn generic(mut self, generic: bool) -> PackRecord<'a> {
        self.raw.generic = u32::from(generic);
        self
    }

    /// Sets the SDK that made it.
    pub fn sdk(mut self, version: Version) -> PackRecord<'a> {
        self.raw.sdk = version.raw();
        self
    }

    /// Sets the version of the interface that it needs.
    pub fn api(mut self, version: Version) -> PackRecord<'a> {
        self.raw.api = version.raw();
        self
    }

    /// Sets the version of its own format.
    pub fn blob(mut self, version: Version) -> PackRecord<'a> {
        self.raw.blob = version.raw();
        self
    }

    /// Keeps a target that no device gets, with a warning.
    pub fn allow_unreachable(mut self, allow: bool) -> PackRecord<'a> {
        self.raw.allow_unreachable = u32::from(allow);
        self
    }

    /// Sets the compression.
    pub fn codec(mut self, codec: Codec) -> PackRecord<'a> {
        self.raw.codec = codec.number();
        self
    }

    /// Gives a small opaque record pages of its own, so that it can be mapped.
    pub fn own_extent(mut self, own: bool) -> PackRecord<'a> {
        self.raw.own_extent = u32::from(own);
        self
    }

    /// Names the weight blobs that it refers to.
    pub fn weights<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> PackRecord<'a> {
        self.weights = names.into_iter().map(Into::into).collect();
        self
    }

    /// Describes the tensors of a weight blob.
    pub fn tensors(mut self, tensors: impl IntoIterator<Item = PackTensor>) -> PackRecord<'a> {
        self.tensors = tensors.into_iter().collect();
        self
    }

    /// Takes the tensors from the index of the file.
    pub fn tensors_from(mut self, format: WeightsFormat) -> PackRecord<'a> {
        self.raw.tensors_from_safetensors = u32::from(format == WeightsFormat::Safetensors);
        self.raw.tensors_from_gguf = u32::from(format == WeightsFormat::Gguf);
        self.raw.tensors_from_irpa = u32::from(format == WeightsFormat::Irpa);
        self
    }

    /// Names a part of an otherwise opaque record: equal parts are stored once.
    pub fn range(mut self, name: impl Into<String>, range: Range<u64>) -> PackRecord<'a> {
        self.ranges.push((name.into(), range));
        self
    }

    /// Describes a graph of a context binary.
    pub fn graph(mut self, graph: Graph) -> PackRecord<'a> {
        self.graphs.push(graph);
        self
    }

    /// Adds an option of the record. `owner` is the execution provider or tool that it belongs to.
    pub fn option(mut self, key: impl Into<String>, value: impl Into<String>, owner: Option<&str>) -> PackRecord<'a> {
        self.options.push((key.into(), value.into(), owner.map(String::from)));
        self
    }

    /// Names the tool that made it, with its version.
    pub fn producer(mut self, producer: impl Into<String>) -> PackRecord<'a> {
        self.producer = Some(producer.into());
        self
    }

    /// Names the format of its bytes: "iree-vmfb".
    pub fn format(mut self, format: impl Into<String>) -> PackRecord<'a> {
        self.format = Some(format.into());
        self
    }

    /// Calls a function with the record as C has it.
    pub(crate) fn with_raw<T>(&self, function: impl FnOnce(*const sys::fatctx_pack_record) -> Result<T>) -> Result<T> {
        let mut texts = Texts::default();
        let mut raw = self.raw;
        raw.name = texts.add(&self.name)?;
        raw.group = texts.add_optional(&self.group)?;
        raw.unit = texts.add_optional(&self.unit)?;
        raw.backend = texts.add_optional(&self.backend)?;
        raw.part = texts.add_optional(&self.part)?;
        raw.arch = texts.add_optional(&self.arch)?;
        raw.features = texts.add_optional(&self.features)?;
        raw.variant = texts.add_optional(&self.variant)?;
        raw.producer = texts.add_optional(&self.producer)?;
        raw.format = texts.add_optional(&self.format)?;
        let file = match &self.source {
            Source::File(file) | Source::PartOfFile(file, ..) => Some(path(file)?),
            Source::Bytes(_) | Source::Copy(_) => None,
        };
        raw.source_path = file.as_ref().map_or(ptr::null(), |file| file.as_ptr());
        match &self.source {
            Source::Bytes(bytes) => {
                raw.bytes = bytes.as_ptr().cast();
                raw.size = bytes.len() as u64;
            }
            Source::File(_) => {}
            Source::PartOfFile(_, offset, size) => {
                raw.source_is_part = 1;
                raw.source_offset = *offset;
                raw.source_size = *size;
            }
            Source::Copy(view) => {
                raw.loaded = view.raw();
                raw.copy = 1;
            }
        }
        let weights: Vec<*const c_char> = self.weights.iter().map(|name| texts.add(name)).collect::<Result<_>>()?;
        (raw.weights, raw.weight_count) = (pointer(&weights), weights.len() as u64);
        let tensors: Vec<_> = self.tensors.iter().map(|tensor| tensor.raw(&mut texts)).collect::<Result<_>>()?;
        (raw.tensors, raw.tensor_count) = (pointer(&tensors), tensors.len() as u64);
        let mut ranges = Vec::new();
        for (name, range) in &self.ranges {
            let (offset, size_bytes) = (range.start, range.end.saturating_sub(range.start));
            ranges.push(sys::fatctx_pack_range { name: texts.add(name)?, offset, size_bytes });
        }
        (raw.ranges, raw.range_count) = (pointer(&ranges), ranges.len() as u64);
        let options = options_of(&mut texts, &self.options)?;
        (raw.options, raw.option_count) = (pointer(&options), options.len() as u64);
        let mut sides = Vec::new();
        for graph in &self.graphs {
            sides.push((side_of(&mut texts, &graph.inputs)?, side_of(&mut texts, &graph.outputs)?));
        }
        let mut graphs = Vec::new();
        for (graph, (inputs, outputs)) in self.graphs.iter().zip(&sides) {
            graphs.push(sys::fatctx_graph {
                name: texts.add(&graph.name)?,
                inputs: pointer(inputs),
                input_count: inputs.len() as u64,
                outputs: pointer(outputs),
                output_count: outputs.len() as u64,
            });
        }
        (raw.graphs, raw.graph_count) = (pointer(&graphs), graphs.len() as u64);
        function(&raw)
    }
}

fn side_of(texts: &mut Texts, tensors: &[GraphTensor]) -> Result<Vec<sys::fatctx_graph_tensor>> {
    tensors
        .iter()
        .map(|tensor| {
            Ok(sys::fatctx_graph_tensor {
                name: texts.add(&tensor.name)?,
                dtype: texts.add(tensor.dtype.name())?,
                shape: tensor.shape.as_ptr(),
                rank: tensor.shape.len() as u64,
            })
        })
        .collect()
}

/// Returns the elements, or null if there are none.
fn pointer<T>(elements: &[T]) -> *const T {
    if elements.is_empty() {
        ptr::null()
    } else {
        elements.as_ptr()
    }
}

/// The result of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackReport {
    /// The container is finished.
    pub sealed: bool,
    /// Bytes of the file.
    pub file_size: u64,
    /// Sum of the sizes of the records.
    pub input_bytes: u64,
    /// Bytes of payload in the file.
    pub stored_bytes: u64,
    /// Bytes of records that needed no storage of their own.
    pub shared_bytes: u64,
    /// The number of records, with the description.
    pub record_count: u32,
    /// Records whose bytes another record already stored.
    pub shared_records: u32,
    /// Warnings, which [`Packer::report_json`] has.
    pub warning_count: u32,
    /// The identity of the container, hexadecimal with dashes.
    pub uuid: String,
}

owner!(Handle, fatctx_packer, fatctx_packer_close);

/// Collects records and writes a container. Equal input gives equal files.
pub struct Packer {
    // Dropped first: the library may use the closure until then.
    handle: Handle,
    progress: Option<Watch>,
}

impl Packer {
    /// Makes a packer with the default options.
    pub fn new() -> Result<Packer> {
        Packer::with_options(PackOptions::new())
    }

    /// Makes a packer.
    pub fn with_options(options: PackOptions) -> Result<Packer> {
        let mut texts = Texts::default();
        let mut raw = options.raw;
        raw.model_name = texts.add_optional(&options.model_name)?;
        let listed = options_of(&mut texts, &options.options)?;
        (raw.options, raw.option_count) = (pointer(&listed), listed.len() as u64);
        if let Some(watch) = &options.progress {
            (raw.progress, raw.progress_user) = watch.raw();
        }
        let mut handle = sys::fatctx_packer::default();
        call(|error| unsafe { sys::fatctx_packer_create(&raw, &mut handle, error) })?;
        Ok(Packer { handle: Handle(handle), progress: options.progress })
    }

    /// Adds a record. Its bytes are copied; its file is read by [`Packer::publish`].
    pub fn add(&mut self, record: PackRecord<'_>) -> Result<()> {
        record.with_raw(|record| call(|error| unsafe { sys::fatctx_packer_add(self.handle.0, record, error) }))
    }

    /// Adds the records of a DLC archive: one for each entry, and one with its layout.
    pub fn add_dlc(&mut self, file: impl AsRef<Path>) -> Result<()> {
        let file = path(file.as_ref())?;
        call(|error| unsafe { sys::fatctx_packer_add_dlc(self.handle.0, file.as_ptr(), ptr::null(), error) })
    }

    /// Writes the container, which appears whole or not at all.
    pub fn publish(&mut self, file: impl AsRef<Path>) -> Result<PackReport> {
        let file = path(file.as_ref())?;
        let mut raw = sys::fatctx_pack_report::default();
        let result = call(|error| unsafe { sys::fatctx_packer_publish(self.handle.0, file.as_ptr(), &mut raw, error) });
        if let Some(watch) = &mut self.progress {
            watch.settle();
        }
        result?;
        Ok(PackReport {
            sealed: raw.sealed != 0,
            file_size: raw.file_size,
            input_bytes: raw.input_bytes,
            stored_bytes: raw.stored_bytes,
            shared_bytes: raw.shared_bytes,
            record_count: raw.record_count,
            shared_records: raw.shared_records,
            warning_count: raw.warning_count,
            uuid: text_of_array(&raw.uuid),
        })
    }

    /// Returns the report of the last publish as JSON, schema "fatctx.packed/1".
    pub fn report_json(&self) -> Result<String> {
        text(|buffer, capacity, size, error| unsafe {
            sys::fatctx_packer_report_json(self.handle.0, buffer, capacity, size, error)
        })
    }
}

impl fmt::Debug for Packer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Packer").field("handle", &self.handle.0.id).finish()
    }
}
