// Made by scripts/rust_declarations.py from the headers in include/fatctx/c. Change those, and run it again.

use std::os::raw::{c_char, c_int, c_void};

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_appender {
    pub id: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_append_options {
    pub struct_size: u32,
    /// 1: a record supersedes a stored one with the same full key, which stays readable in its own generation until the
    /// file is rewritten; otherwise exists; 0
    pub replace: u32,
    /// as in fatctx_pack_options; 0
    pub threads: u32,
    /// FATCTX_SHARING_PAGES, or _BYTES, which reads all of the file; 0: as the records of the file do
    pub sharing: u32,
    /// null
    pub progress: fatctx_progress,
    pub progress_user: *mut c_void,
    /// as in fatctx_pack_options, with the records of the file; 0
    pub one_per_soc: u32,
    /// as in fatctx_pack_options; 0
    pub strict_sharing: u32,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_append_options {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_append_report {
    pub struct_size: u32,
    /// that were added
    pub record_count: u32,
    /// the new one
    pub generation: u64,
    pub file_size_before: u64,
    pub file_size: u64,
    /// sum of the logical sizes of the added records
    pub input_bytes: u64,
    /// payload bytes that were written
    pub stored_bytes: u64,
    /// found in the file, or in another added record
    pub shared_bytes: u64,
    /// bytes of the file that no record uses
    pub dead_bytes: u64,
    pub superseded_count: u32,
    pub restored_count: u32,
    pub warning_count: u32,
    /// that of the container, as before; ended by NUL
    pub uuid: [c_char; 44],
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_append_report {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// A measurement or an observation of a record. `tool` may be null.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_evidence_note {
    pub struct_size: u32,
    pub reserved: u32,
    /// "Galaxy S24"
    pub device: *const c_char,
    /// with its version: "qnn-net-run 2.51"
    pub tool: *const c_char,
    /// "latency_ms"
    pub metric: *const c_char,
    /// "3.1"
    pub value: *const c_char,
    /// "2026-11-22"
    pub date: *const c_char,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_evidence_note {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

pub const FATCTX_ABI_VERSION: u32 = 1;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_text {
    /// UTF-8, not ended by NUL: printf("%.\*s", (int)text.size, text.data)
    pub data: *const c_char,
    /// bytes
    pub size: u64,
}

impl Default for fatctx_text {
    fn default() -> Self {
        unsafe { std::mem::zeroed() }
    }
}

/// All zero means "unknown".
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_version {
    pub major: u16,
    pub minor: u16,
    pub patch: u32,
    pub build: u32,
}

impl Default for fatctx_version {
    fn default() -> Self {
        unsafe { std::mem::zeroed() }
    }
}

/// Called from time to time; a result other than 0 stops the work, which then answers cancelled and leaves nothing
/// behind. Work that reads the bytes more than once, as packing does, begins again at 0 for each pass, with the total of
/// that pass.
pub type fatctx_progress = Option<unsafe extern "C" fn(user: *mut c_void, done_bytes: u64, total_bytes: u64) -> i32>;

/// Called when the library no longer needs a caller's memory, or the `user` of callbacks that it holds, on the thread
/// that gives up the last share. Null if the caller does not need the call. Not called if the function it was given to
/// fails.
pub type fatctx_release = Option<unsafe extern "C" fn(user: *mut c_void)>;

/// Kinds of text that a call writes. CSV is for profiles only.
pub const FATCTX_FORMAT_TEXT: u32 = 0;
/// Kinds of text that a call writes. CSV is for profiles only.
pub const FATCTX_FORMAT_JSON: u32 = 1;
/// Kinds of text that a call writes. CSV is for profiles only.
pub const FATCTX_FORMAT_CSV: u32 = 2;
/// Is the answer for a word that is not listed, where 0 has a meaning.
pub const FATCTX_UNKNOWN: u32 = 0xFFFFFFFF;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_verify_options {
    pub struct_size: u32,
    /// checks this record only; 0: the whole file; an open container only
    pub record_id: u32,
    pub finding: fatctx_finding,
    pub progress: fatctx_progress,
    /// for both
    pub user: *mut c_void,
    /// for a whole file: as if it were for delivery (docs/cli/inspect.md, fatctx verify); 0
    pub strict: u32,
    /// number that read and hash; 0: the number of processors, at most 8
    pub threads: u32,
    /// only the leaves that cover these bytes: of the file, or of the record that is checked
    pub range_offset: u64,
    /// 0: everything
    pub range_size: u64,
    /// fatctx_verify_file reads trusted_keys, minimum_generation, generation and max_made_bytes from it. A generation that
    /// keys or minimum_generation refuse is a finding. Null: defaults.
    pub open: *const fatctx_open_options,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_verify_options {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_verify_report {
    pub struct_size: u32,
    pub reserved: u32,
    pub checked_bytes: u64,
    /// 0: whole
    pub finding_count: u64,
    pub signed_file: u32,
    /// as in fatctx_open_report
    pub signature_verified: u32,
    /// bytes of the file that are not present
    pub absent_bytes: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_verify_report {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_sign_options {
    pub struct_size: u32,
    /// a sealed container stays sealed in any case; 0
    pub seal: u32,
    /// replace `out` if it is an existing, different file; 0
    pub overwrite: u32,
    pub reserved: u32,
    pub progress: fatctx_progress,
    pub user: *mut c_void,
    /// as fatctx_open_options.max_made_bytes; 0
    pub max_made_bytes: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_sign_options {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_sign_report {
    pub struct_size: u32,
    pub sealed: u32,
    /// the signed one
    pub generation: u64,
    pub file_size: u64,
    pub key_id: [u8; 32],
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_sign_report {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// Takes one restored range: "slot A1", and its offset and size in the file. `what` is valid during the call only.
pub type fatctx_restored = Option<unsafe extern "C" fn(user: *mut c_void, what: fatctx_text, file_offset: u64, size: u64)>;

/// Takes one restored range: "slot A1", and its offset and size in the file. `what` is valid during the call only.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_repair_options {
    pub struct_size: u32,
    pub reserved: u32,
    /// say what would be done; opens the file for reading and takes no lock; 0
    pub dry_run: u32,
    /// as fatctx_verify_options.threads
    pub threads: u32,
    /// called for each range when everything is done
    pub restored: fatctx_restored,
    /// called for each damage that neither the file nor `from` can undo
    pub finding: fatctx_finding,
    /// called by the final check; stopping it keeps the restored ranges
    pub progress: fatctx_progress,
    /// for all of them
    pub user: *mut c_void,
    /// Paths of containers with equal bytes, at any place of them; asked in this order. One that cannot be used is left
    /// out. Payload that is damaged or absent comes from them, and leaf hashes and tables of contents. Null: none.
    pub from: *const *const c_char,
    pub from_count: u64,
    /// Its trusted_keys and minimum_generation are for the damaged file, the rest is not read: with keys, each byte from
    /// `from` must match the signed SHA-256. Null: defaults.
    pub open: *const fatctx_open_options,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_repair_options {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// Takes one restored range: "slot A1", and its offset and size in the file. `what` is valid during the call only.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_repair_report {
    pub struct_size: u32,
    pub reserved: u32,
    pub generation: u64,
    pub restored_count: u64,
    /// 0: the file is whole
    pub finding_count: u64,
    pub checked_bytes: u64,
    /// size of the leaves of payload that were damaged or absent; 0 without `from`
    pub lacking_bytes: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_repair_report {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// The table of SoCs: part names, numbers and the known facts about each chip.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_soc_table {
    pub id: u64,
}

/// A machine, as it was detected or described.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_device {
    pub id: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_detect_options {
    pub struct_size: u32,
    /// ask FATCTX_SOC, FATCTX_ARCH, FATCTX_VTCM_MB and FATCTX_SOC_TABLE for missing options; 0
    pub environment: u32,
    /// replaces the machine's: "SM8750", "69", "kernel:639", "v79"; null
    pub soc: *const c_char,
    /// the same if only the arch is known: "v79"; null
    pub arch: *const c_char,
    /// a folder with the files of another machine; null
    pub root: *const c_char,
    /// {0}: the built-in one
    pub table: fatctx_soc_table,
    /// replaces the detected one; 0: none
    pub vtcm_mb: u32,
    /// a backend's answer for the device it runs on: its QNN number; 0: no answer
    pub backend_soc: u32,
    /// its arch; null: no answer
    pub backend_arch: *const c_char,
    /// its VTCM; 0: no answer
    pub backend_vtcm_mb: u32,
    pub reserved: u32,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_detect_options {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_dlc_import {
    pub struct_size: u32,
    /// discard the bytes between the entries: the archive cannot be given back
    pub without_layout: u32,
    /// goes into all records
    pub group: *const c_char,
    /// goes into the context binaries
    pub unit: *const c_char,
    /// in front of all names, to tell several archives in one container apart
    pub prefix: *const c_char,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_dlc_import {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// Does the same for an appender.
/// a choice of the context binaries to keep
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_dlc_choice {
    pub struct_size: u32,
    pub reserved: u32,
    /// all of these SoCs
    pub qnn_socs: *const u32,
    pub soc_count: u64,
    /// and these, by name
    pub entries: *const *const c_char,
    pub entry_count: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_dlc_choice {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// Does the same for an appender.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_thin_dlc {
    pub struct_size: u32,
    /// the ones that are kept
    pub entry_count: u32,
    pub size_bytes: u64,
    /// bytes that the original lacks; a view holds them in memory
    pub new_bytes: u64,
    /// payload that a view could not map; 0 for a file
    pub copied_bytes: u64,
    /// ranges of the original; of a view: that are mapped
    pub mapped_pieces: u32,
    /// new bytes between them
    pub built_pieces: u32,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_thin_dlc {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// Codes of docs/errors.md.
pub const FATCTX_OK: i32 = 0;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_IO: i32 = 1;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_NOT_FOUND: i32 = 2;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_INVALID_ARGUMENT: i32 = 3;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_TRUNCATED: i32 = 4;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_TRAILING_DATA: i32 = 5;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_BAD_MAGIC: i32 = 6;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_UNSUPPORTED: i32 = 7;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_MALFORMED: i32 = 8;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_CHECKSUM_MISMATCH: i32 = 9;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_LIMIT_EXCEEDED: i32 = 10;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_BAD_REFERENCE: i32 = 11;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_NO_MATCH: i32 = 12;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_CODEC: i32 = 13;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_SIGNATURE_MISSING: i32 = 14;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_SIGNATURE_BAD: i32 = 15;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_ROLLBACK: i32 = 16;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_NOT_REGULAR_FILE: i32 = 17;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_CHANGED: i32 = 18;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_MAPPING_LOST: i32 = 19;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_REMOTE_FILESYSTEM: i32 = 20;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_LOCKED: i32 = 21;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_EXISTS: i32 = 22;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_COMMIT_UNKNOWN: i32 = 23;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_NO_SPACE: i32 = 24;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_NO_RESOURCE: i32 = 25;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_STALE_HANDLE: i32 = 26;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_CANCELLED: i32 = 27;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_OUT_OF_MEMORY: i32 = 28;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_INTERNAL: i32 = 29;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_OPERATION_NOT_PERMITTED: i32 = 30;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_SERIALISE_FAILED: i32 = 31;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_BACKEND_LIBRARY_MISSING: i32 = 32;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_BACKEND_RESTARTED: i32 = 33;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_TIMED_OUT: i32 = 34;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_INVALID_CONFIG: i32 = 35;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_COPY_NOT_ALLOWED: i32 = 36;
/// Codes of docs/errors.md.
pub const FATCTX_ERROR_NOT_PRESENT: i32 = 37;

/// An error, in the caller's memory. If struct_size is smaller than this struct, the fields that fit as a whole are
/// written. Below 8 there is no room for the code, and nothing is written.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_error {
    pub struct_size: u32,
    pub code: i32,
    pub has_file_offset: u32,
    pub has_record_id: u32,
    /// the byte the complaint is about, from byte 0 of the container
    pub file_offset: u64,
    pub record_id: u32,
    pub has_os_error: u32,
    /// errno or GetLastError()
    pub os_error: i32,
    /// "F16": a row of docs/format.md section 9; empty if none
    pub rule: [c_char; 20],
    /// one line without a final stop, cut at the border of a character
    pub message: [c_char; 1024],
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_error {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// Takes one finding of a check, valid during the call only.
pub type fatctx_finding = Option<unsafe extern "C" fn(user: *mut c_void, finding: *const fatctx_error)>;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_fetch_plan {
    pub id: u64,
}

/// The bytes that a plan waits for; each stage is checked by the one before it.
pub const FATCTX_FETCH_HEADER: u32 = 0;
/// The bytes that a plan waits for; each stage is checked by the one before it.
pub const FATCTX_FETCH_TABLE: u32 = 1;
/// The bytes that a plan waits for; each stage is checked by the one before it.
pub const FATCTX_FETCH_HASHES: u32 = 2;
/// The bytes that a plan waits for; each stage is checked by the one before it.
pub const FATCTX_FETCH_PAYLOAD: u32 = 3;
/// The bytes that a plan waits for; each stage is checked by the one before it.
pub const FATCTX_FETCH_DONE: u32 = 4;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_fetch_options {
    pub struct_size: u32,
    /// all records; 0
    pub all: u32,
    /// The records that the file gets are those named, those for the devices, or `all`. With none of these: those for this
    /// machine.
    /// names; their weights come as well; null
    pub records: *const *const c_char,
    pub record_count: u64,
    /// null
    pub devices: *const fatctx_device,
    pub device_count: u64,
    /// the group of graphs, for devices; null: the only one
    pub group: *const c_char,
    /// no payload, but header, table and description; `records` are weight blobs whose tensor tables come
    pub metadata: u32,
    /// keeps the records of a partial container at `path`, of the same generation; 0
    pub more: u32,
    /// `path` may be replaced; 0
    pub overwrite: u32,
    pub reserved: u32,
    /// paths of containers that are here; equal leaves are copied from them; null
    pub seeds: *const *const c_char,
    pub seed_count: u64,
    /// ranges with at most so many bytes between them are fetched as one; 0: 128 KiB
    pub gap_bytes: u64,
    /// Its trusted_keys and minimum_generation are for the source, the rest is not read. With keys, every byte is also
    /// compared with the signed SHA-256. Null: defaults.
    pub open: *const fatctx_open_options,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_fetch_options {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_fetch_report {
    pub struct_size: u32,
    /// FATCTX_FETCH_HEADER, ...
    pub stage: u32,
    /// 0 until the table is there
    pub generation: u64,
    /// that the file will have
    pub record_count: u64,
    pub source_bytes: u64,
    /// payload that the records need, rounded to whole leaves of 64 KiB
    pub needed_bytes: u64,
    /// the part of it that an interrupted fetch left here
    pub present_bytes: u64,
    /// the part of it that was copied from the seeds
    pub reused_bytes: u64,
    /// all that was given to fatctx_fetch_plan_take()
    pub fetched_bytes: u64,
    /// that the present stage lacks
    pub missing_bytes: u64,
    /// copies of metadata that the source has damaged
    pub degraded_count: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_fetch_report {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_load_list {
    pub id: u64,
}

/// A source of bytes: a path, a descriptor, or memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_source {
    pub struct_size: u32,
    /// stays the caller's, and may be closed when the call has returned; -1: none
    pub descriptor: i32,
    /// null: none
    pub path: *const c_char,
    /// start of the part to load in the descriptor's file; a multiple of 4096
    pub offset: u64,
    /// size of that part; 0: to the end of the file
    pub size: u64,
    /// stay the caller's, unchanged, until everything made from them is closed; null: none
    pub bytes: *const c_void,
    pub bytes_size: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_source {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

pub const FATCTX_LOAD_GRAPH_INITIALISED: u32 = 0;
pub const FATCTX_LOAD_CONTEXT_INITIALISED: u32 = 1;

/// A report of progress: for each context binary its graphs and then the context binary. A load that fails reports
/// FATCTX_LOAD_CONTEXT_INITIALISED with the error as its last event.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_load_event {
    pub struct_size: u32,
    /// FATCTX_LOAD_...
    pub kind: u32,
    /// name of the context binary; empty if the load failed
    pub record: fatctx_text,
    /// unit of the context binary
    pub unit: fatctx_text,
    /// only with FATCTX_LOAD_GRAPH_INITIALISED
    pub graph: fatctx_text,
    /// why the load failed; else null
    pub error: *const fatctx_error,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_load_event {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// Called on the thread that called fatctx_load(), or on one of the list. The event is valid during the call only.
pub type fatctx_load_notify = Option<unsafe extern "C" fn(user: *mut c_void, event: *const fatctx_load_event)>;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_load_options {
    pub struct_size: u32,
    /// also brings the chosen bytes into memory; 0
    pub prefetch: u32,
    /// options for opening and for the choice, with the signal; null: defaults
    pub model: *const fatctx_model_options,
    /// null: none
    pub notify: fatctx_load_notify,
    /// about every 25 ms, on the thread of `notify`; null: none
    pub progress: fatctx_progress,
    /// of both
    pub user: *mut c_void,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_load_options {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// Called once for each item, on a thread of the list, for one item at a time. `session` is a new handle, which the
/// callback closes or keeps. If the load failed it is {0}, and `error` says why; otherwise `error` is null.
pub type fatctx_load_finished = Option<unsafe extern "C" fn(user: *mut c_void, index: u64, session: fatctx_session, error: *const fatctx_error)>;

/// Called once for each item, on a thread of the list, for one item at a time. `session` is a new handle, which the
/// callback closes or keeps. If the load failed it is {0}, and `error` says why; otherwise `error` is null.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_load_item {
    pub source: *const fatctx_source,
    /// null: defaults; its `user` is used until the item has finished
    pub options: *const fatctx_load_options,
    /// null: none
    pub finished: fatctx_load_finished,
    /// of `finished`
    pub user: *mut c_void,
}

impl Default for fatctx_load_item {
    fn default() -> Self {
        unsafe { std::mem::zeroed() }
    }
}

/// Ways in which a prefetch worked: nothing to do; the first touch costs nothing; the first touch costs a small fault.
pub const FATCTX_PREFETCH_NONE: u32 = 0;
/// Ways in which a prefetch worked: nothing to do; the first touch costs nothing; the first touch costs a small fault.
pub const FATCTX_PREFETCH_POPULATE: u32 = 1;
/// Ways in which a prefetch worked: nothing to do; the first touch costs nothing; the first touch costs a small fault.
pub const FATCTX_PREFETCH_READ_AHEAD: u32 = 2;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_prefetch {
    pub id: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_record_lock {
    pub id: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_prefetch_options {
    pub struct_size: u32,
    pub reserved: u32,
    /// budget; bytes beyond it stay on the disk; UINT64_MAX
    pub max_bytes: u64,
    /// after each step of at most 4 MiB, on the thread that does the work
    pub progress: fatctx_progress,
    pub user: *mut c_void,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_prefetch_options {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_prefetch_report {
    pub struct_size: u32,
    /// FATCTX_PREFETCH_...
    pub method: u32,
    /// size of the records
    pub asked_bytes: u64,
    /// less than asked: the budget was used up, or it was cancelled
    pub done_bytes: u64,
    pub cancelled: u32,
    pub reserved: u32,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_prefetch_report {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_release_options {
    pub struct_size: u32,
    /// only this process gives the pages back, the system's page cache may keep them; 0
    pub keep_cached: u32,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_release_options {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_release_report {
    pub struct_size: u32,
    pub reserved: u32,
    /// size of the records
    pub asked_bytes: u64,
    /// whole pages that hold nothing else; 0 if the bytes are not pages of a file
    pub released_bytes: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_release_report {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_model {
    pub id: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_session {
    pub id: u64,
}

/// Levels of how well a record fits the device.
pub const FATCTX_LEVEL_OPTIMAL: u32 = 1;
/// Levels of how well a record fits the device.
pub const FATCTX_LEVEL_PREFER_RECOMPILATION: u32 = 2;
/// Levels of how well a record fits the device.
pub const FATCTX_LEVEL_FALLBACK: u32 = 3;
/// Levels of how well a record fits the device.
pub const FATCTX_LEVEL_UNSUPPORTED: u32 = 4;

/// Says if the consumer takes mapped memory: returns 1, or 0 and writes the reason ("librpcmem is missing"), ended by
/// NUL, into the `capacity` bytes at `reason`, which come as an empty text. Called once per model, before any view is
/// handed out. Must not open the same file (it would wait for itself).
pub type fatctx_mapping_probe = Option<unsafe extern "C" fn(user: *mut c_void, reason: *mut c_char, capacity: usize) -> u32>;

/// The policy for a best matching target that turns out to be damaged: begin_session fails, or the best target of which
/// every record is whole is taken. In the second case open and choose read and check the records of a session.
pub const FATCTX_ON_DAMAGE_FAIL: u32 = 0;
/// The policy for a best matching target that turns out to be damaged: begin_session fails, or the best target of which
/// every record is whole is taken. In the second case open and choose read and check the records of a session.
pub const FATCTX_ON_DAMAGE_NEXT: u32 = 1;

/// A stored source model and its target device. All of it is valid during the call only.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_prepare_request {
    pub struct_size: u32,
    /// of the source model
    pub record_id: u32,
    pub name: fatctx_text,
    pub unit: fatctx_text,
    /// as JSON, schema "fatctx.device/1"
    pub device: fatctx_text,
    /// its bytes, decompressed and verified
    pub source: *const u8,
    pub source_size: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_prepare_request {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// Compiles a source model: returns 1 with the context binary, which is copied as soon as the call returns. Otherwise
/// returns 0 and writes the reason, ended by NUL, into the `capacity` bytes at `reason`, which come as an empty text.
pub type fatctx_prepare_hook = Option<unsafe extern "C" fn(user: *mut c_void, request: *const fatctx_prepare_request, binary: *mut *const c_void, binary_size: *mut u64, reason: *mut c_char, capacity: usize) -> u32>;

/// The format of an opened file.
pub const FATCTX_MODEL_CONTAINER: u32 = 0;
/// The format of an opened file.
pub const FATCTX_MODEL_DLC: u32 = 1;
/// The format of an opened file.
pub const FATCTX_MODEL_RAW_BINARY: u32 = 2;
/// The bytes that are accepted as a plain context binary: those of a known format, any that are neither container nor
/// DLC (the caller vouches that they are for this device), or none.
pub const FATCTX_RAW_BINARIES_KNOWN: u32 = 0;
/// The bytes that are accepted as a plain context binary: those of a known format, any that are neither container nor
/// DLC (the caller vouches that they are for this device), or none.
pub const FATCTX_RAW_BINARIES_ANY: u32 = 1;
/// The bytes that are accepted as a plain context binary: those of a known format, any that are neither container nor
/// DLC (the caller vouches that they are for this device), or none.
pub const FATCTX_RAW_BINARIES_REFUSE: u32 = 2;

/// A signal that stops a call from another thread, or after a time; made by fatctx_load_signal_create().
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_load_signal {
    pub id: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_model_options {
    pub struct_size: u32,
    /// only records that fully use the device; 0
    pub strict: u32,
    /// null: defaults
    pub open: *const fatctx_open_options,
    /// {0}: this machine
    pub device: fatctx_device,
    /// null: the only group
    pub group: *const c_char,
    /// name of the context binary to take
    pub record_override: *const c_char,
    /// with record_override: skip the axes; 0
    pub force: u32,
    /// 0
    pub allow_lower_arch: u32,
    /// no generic record as a fallback; 0
    pub refuse_generic: u32,
    /// units of different targets when no target has them all; 0
    pub mix_targets: u32,
    /// Hexagon generation boundaries; null: those of the table of SoCs
    pub boundaries: *const u32,
    pub boundary_count: u64,
    /// If it says 0, all sessions share copies, and the report of the model's container says why; with
    /// FATCTX_FILE_MAPPING_REQUIRE it gets copy_not_allowed instead. Null: the consumer takes mapped memory.
    pub consumer: fatctx_mapping_probe,
    pub consumer_user: *mut c_void,
    /// FATCTX_ON_DAMAGE_...; FATCTX_ON_DAMAGE_FAIL; fatctx_container_explain() does not use it
    pub on_damage: u32,
    /// judge as if source models could be compiled, also without `prepare`; 0
    pub prepare_hook: u32,
    /// tells spellings of one part and quirks; {0}: the built-in one
    pub soc_table: fatctx_soc_table,
    /// Called when no context binary of the group fits and the group has a source model, by open and choose, on the
    /// calling thread. Its result is the binary of all sessions. fatctx_container_explain() does not call it. Null: source
    /// models are not used.
    pub prepare: fatctx_prepare_hook,
    pub prepare_user: *mut c_void,
    /// refuse records of a newer SDK, "2.50"; null: the newest that the device reads
    pub max_sdk: *const c_char,
    /// FATCTX_RAW_BINARIES_...; FATCTX_RAW_BINARIES_KNOWN
    pub raw_binaries: u32,
    pub reserved: u32,
    /// Stops fatctx_model_open(), fatctx_view_open() and fatctx_load() from another thread or after a time. They then
    /// answer within 100 ms, even if the system does not; the thread that they leave gives everything back later. {0}:
    /// none
    pub signal: fatctx_load_signal,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_model_options {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_selection {
    pub struct_size: u32,
    /// FATCTX_LEVEL_..., the lowest among the chosen
    pub level: u32,
    /// 0 to 7
    pub tier: i32,
    /// one per unit
    pub chosen_count: u32,
    pub chosen: *const u32,
    /// one per context binary
    pub verdict_count: u64,
    pub warning_count: u64,
    /// the group that was judged
    pub group: fatctx_text,
    /// records that would have been chosen and are damaged; only with FATCTX_ON_DAMAGE_NEXT
    pub damaged_count: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_selection {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// Gets the selection. Lifetime: `chosen` and texts borrow from `model`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_verdict {
    pub struct_size: u32,
    pub record_id: u32,
    /// FATCTX_LEVEL_...
    pub level: u32,
    /// -1 for a record that does not fit
    pub tier: i32,
    /// why it was not chosen: fatctx_axis_id(); 0 for a chosen one
    pub axis: u32,
    pub chosen: u32,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_verdict {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_session_info {
    pub struct_size: u32,
    /// FATCTX_MODEL_...
    pub format: u32,
    /// one for each unit
    pub binary_count: u64,
    /// those that the binaries refer to; of a DLC also the metadata of shared weights
    pub weights_count: u64,
    pub path: fatctx_text,
    /// 0: a raw binary, for which nothing was selected
    pub selected: u32,
    /// FATCTX_LEVEL_...; 0 if nothing was selected
    pub level: u32,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_session_info {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_session_record {
    pub struct_size: u32,
    /// FATCTX_RECORD_...
    pub r#type: u32,
    /// of the record; of a DLC 1 for the first entry, ...; of a raw binary 0
    pub record_id: u32,
    pub access_path: u32,
    pub name: fatctx_text,
    /// of a context binary in a container
    pub unit: fatctx_text,
    /// bytes
    pub size: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_session_record {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

pub const FATCTX_SESSION_BINARIES: u32 = 0;
pub const FATCTX_SESSION_WEIGHTS: u32 = 1;

/// Writes the views in the folder, used last first, as JSON, schema "fatctx.cache/1".
///
/// Errors: not_found, operation_not_permitted (not a folder, of another user, or of another mode than 0700), io,
/// no_resource.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_view_cache_collection {
    pub struct_size: u32,
    pub reserved: u32,
    pub removed_files: u64,
    pub removed_bytes: u64,
    /// of processes that died while they made a file
    pub removed_temporaries: u64,
    pub left_files: u64,
    pub left_bytes: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_view_cache_collection {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

pub const FATCTX_PROFILE_OFF: u32 = 0;
pub const FATCTX_PROFILE_BASIC: u32 = 1;
pub const FATCTX_PROFILE_DETAILED: u32 = 2;
pub const FATCTX_EVENT_OPEN: u32 = 0;
pub const FATCTX_EVENT_MAP: u32 = 1;
pub const FATCTX_EVENT_VERIFY: u32 = 2;
pub const FATCTX_EVENT_SELECT: u32 = 3;
pub const FATCTX_EVENT_ACQUIRE: u32 = 4;
pub const FATCTX_EVENT_PREFETCH: u32 = 5;
pub const FATCTX_EVENT_RELEASE: u32 = 6;
pub const FATCTX_EVENT_UNMAP: u32 = 7;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_profile_event {
    pub struct_size: u32,
    /// FATCTX_EVENT_...
    pub kind: u32,
    /// of the steady clock
    pub start_ns: u64,
    pub duration_ns: u64,
    pub bytes: u64,
    /// 1, 2, ... in the order in which threads were first seen
    pub thread: u32,
    /// 0: the call gave an error
    pub ok: u32,
    /// 0: the event is about no single record
    pub record_id: u32,
    pub reserved: u32,
    pub path: fatctx_text,
    /// its name
    pub record: fatctx_text,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_profile_event {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// Takes one event, valid during the call only, when the outermost call of this library ends; on its thread, from
/// several threads at once. Calls of this library from inside it are not recorded.
pub type fatctx_profile_hook = Option<unsafe extern "C" fn(user: *mut c_void, event: *const fatctx_profile_event)>;

/// Takes one event, valid during the call only, when the outermost call of this library ends; on its thread, from
/// several threads at once. Calls of this library from inside it are not recorded.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_profile_options {
    pub struct_size: u32,
    /// FATCTX_PROFILE_...; FATCTX_PROFILE_BASIC; OFF stops
    pub level: u32,
    /// DETAILED keeps that many, the totals go on; 1,000,000
    pub max_events: u64,
    /// held until another profile is started or this one is stopped, and by calls in it
    pub hook: fatctx_profile_hook,
    /// called when `user` is no longer needed
    pub release: fatctx_release,
    /// for both
    pub user: *mut c_void,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_profile_options {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// Takes one line, without line feed and not ended by NUL, valid during the call only; on the thread of the call, from
/// several threads at once. Calls of this library from inside it are not recorded.
pub type fatctx_trace_sink = Option<unsafe extern "C" fn(user: *mut c_void, line: *const c_char, size: u64)>;

/// a call whose result differs now
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_replay_difference {
    pub struct_size: u32,
    pub reserved: u32,
    /// counted from 1
    pub line: u64,
    /// "view m.fatctx record 3"
    pub call: fatctx_text,
    /// then
    pub gave: fatctx_text,
    /// now
    pub gives: fatctx_text,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_replay_difference {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_replay_report {
    pub struct_size: u32,
    pub reserved: u32,
    /// repeated
    pub calls: u64,
    /// cannot be repeated: descriptors and buffers of the process that wrote the trace
    pub skipped: u64,
    pub difference_count: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_replay_report {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// Takes one difference, valid during the call only.
pub type fatctx_difference = Option<unsafe extern "C" fn(user: *mut c_void, difference: *const fatctx_replay_difference)>;

/// A container that is open.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_container {
    pub id: u64,
}

/// The point in time at which payload is checked. Metadata is always checked.
/// PRIVATE_COPY: views are copies in sealed memory of this process, which nobody can change after they were checked.
/// BESIDE_LOAD: a thread of the library checks a record while its view is in use already. Nobody may believe a result
/// before fatctx_session_await_checks() or fatctx_container_await_checks() has returned.
pub const FATCTX_VERIFY_RECORD_ON_ACQUIRE: u32 = 0;
/// The point in time at which payload is checked. Metadata is always checked.
/// PRIVATE_COPY: views are copies in sealed memory of this process, which nobody can change after they were checked.
/// BESIDE_LOAD: a thread of the library checks a record while its view is in use already. Nobody may believe a result
/// before fatctx_session_await_checks() or fatctx_container_await_checks() has returned.
pub const FATCTX_VERIFY_NONE: u32 = 1;
/// The point in time at which payload is checked. Metadata is always checked.
/// PRIVATE_COPY: views are copies in sealed memory of this process, which nobody can change after they were checked.
/// BESIDE_LOAD: a thread of the library checks a record while its view is in use already. Nobody may believe a result
/// before fatctx_session_await_checks() or fatctx_container_await_checks() has returned.
pub const FATCTX_VERIFY_PRIVATE_COPY: u32 = 2;
/// The point in time at which payload is checked. Metadata is always checked.
/// PRIVATE_COPY: views are copies in sealed memory of this process, which nobody can change after they were checked.
/// BESIDE_LOAD: a thread of the library checks a record while its view is in use already. Nobody may believe a result
/// before fatctx_session_await_checks() or fatctx_container_await_checks() has returned.
pub const FATCTX_VERIFY_BESIDE_LOAD: u32 = 3;
/// The use of file mapping: map, and copy only if that is not possible; never copy; always copy.
pub const FATCTX_FILE_MAPPING_AUTO: u32 = 0;
/// The use of file mapping: map, and copy only if that is not possible; never copy; always copy.
pub const FATCTX_FILE_MAPPING_REQUIRE: u32 = 1;
/// The use of file mapping: map, and copy only if that is not possible; never copy; always copy.
pub const FATCTX_FILE_MAPPING_DISABLED: u32 = 2;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_open_options {
    pub struct_size: u32,
    /// FATCTX_VERIFY_...; FATCTX_VERIFY_RECORD_ON_ACQUIRE
    pub verify: u32,
    /// 0
    pub refuse_symlinks: u32,
    /// refuse network and FUSE file systems with remote_filesystem; 0
    pub require_local: u32,
    /// FATCTX_FILE_MAPPING_...; FATCTX_FILE_MAPPING_AUTO
    pub file_mapping: u32,
    /// check the whole table of contents, also a large one; 0: its rows when they are used
    pub strict: u32,
    /// {0}: the system
    pub mapping_provider: fatctx_mapping_provider,
    /// not {0}: views are placed in its memory
    pub allocator: fatctx_view_allocator,
    /// memory that composed views may take together; 0
    pub max_copied_bytes: u64,
    /// Folder of mode 0700 whose files hold the built bytes of composed views, shared between processes, instead of that
    /// memory. Null or empty: none. Naming it is the permission. Copied by the call.
    pub cache_folder: *const c_char,
    /// the most that its files may take together; 0: 4 GiB
    pub cache_limit_bytes: u64,
    /// Public keys of 32 bytes each, one behind the other, of which one must have signed the container; payload is then
    /// compared with the signed SHA-256. Null: signatures are not required. Copied by the call.
    pub trusted_keys: *const u8,
    pub trusted_key_count: u64,
    /// an older one is refused with rollback; 0
    pub minimum_generation: u64,
    /// An earlier state of a container that was appended to, as long as its bytes exist; 0: the newest. Fails with
    /// not_found if the file does not have it.
    pub generation: u64,
    /// The most bytes that one call may make from the container's stored bytes, or read again, over all its records and
    /// threads; beyond it: limit_exceeded. 0: 1 GiB, or 100 times the stored bytes if that is more (docs/format.md, 8.1).
    pub max_made_bytes: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_open_options {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// an earlier state of the file; this struct never changes
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_generation {
    pub number: u64,
    /// where it ends in the file
    pub committed_end: u64,
}

impl Default for fatctx_generation {
    fn default() -> Self {
        unsafe { std::mem::zeroed() }
    }
}

/// a report of an open
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_open_report {
    pub struct_size: u32,
    /// copies of metadata that are damaged; 0: the file is whole
    pub degraded_count: u32,
    /// as given to open
    pub path: fatctx_text,
    /// "ext4", "overlayfs", ...
    pub filesystem: fatctx_text,
    /// hexadecimal with dashes
    pub uuid: fatctx_text,
    pub generation: u64,
    pub file_size: u64,
    pub committed_end: u64,
    /// bytes behind the committed end; never read
    pub tail_bytes: u64,
    /// 'A' or 'B': the pair that names the newest generation
    pub slot: u32,
    pub sealed: u32,
    pub signed_file: u32,
    pub remote_filesystem: u32,
    /// another open of this process had mapped it; nothing was read
    pub already_live: u32,
    /// FATCTX_VERIFY_...
    pub verify: u32,
    /// 0: views are copies, for the reason in copy_reason
    pub mapped: u32,
    /// records whose views are copies although the file is mapped
    pub copied_records: u32,
    pub copy_reason: fatctx_text,
    pub toc_hash: [u8; 16],
    /// for the first of them
    pub copied_records_reason: fatctx_text,
    /// newest in the file; larger than `generation` if an earlier one was requested
    pub newest_generation: u64,
    /// used by no record; compacting gives them back
    pub dead_bytes: u64,
    /// generations before `generation` whose bytes are still in the file
    pub earlier_generations: u32,
    /// with one of trusted_keys
    pub signature_verified: u32,
    /// SHA-256 of the public key that the signature names, hexadecimal; empty: none
    pub key_id: fatctx_text,
    /// "1.0": of the file
    pub format_version: fatctx_text,
    /// the damaged copies, `degraded_count` of them: "prologue copy 0", "slot A1", ...
    pub degraded: *const fatctx_text,
    /// `earlier_generations` of them, ascending
    pub earlier: *const fatctx_generation,
    /// Feature bits of a newer version, whose fields this library does not read: "ro_compat 0x4, compat 0x1"; empty: none.
    pub newer_features: fatctx_text,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_open_report {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_packer {
    pub id: u64,
}

/// Elements of arrays have no struct_size: these three structs never change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_option {
    pub key: *const c_char,
    pub value: *const c_char,
    /// execution provider or tool the option belongs to; null: none
    pub owner: *const c_char,
}

impl Default for fatctx_option {
    fn default() -> Self {
        unsafe { std::mem::zeroed() }
    }
}

/// Elements of arrays have no struct_size: these three structs never change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_pack_tensor {
    pub name: *const c_char,
    pub shape: *const u64,
    pub rank: u64,
    pub offset_in_blob: u64,
    pub size_bytes: u64,
    pub dtype: u32,
    /// shares bytes with another tensor on purpose
    pub alias: u32,
}

impl Default for fatctx_pack_tensor {
    fn default() -> Self {
        unsafe { std::mem::zeroed() }
    }
}

/// Elements of arrays have no struct_size: these three structs never change.
/// a part of an otherwise opaque record
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_pack_range {
    /// for errors
    pub name: *const c_char,
    pub offset: u64,
    /// at least 1
    pub size_bytes: u64,
}

impl Default for fatctx_pack_range {
    fn default() -> Self {
        unsafe { std::mem::zeroed() }
    }
}

/// Elements of arrays have no struct_size: these three structs never change.
/// an input or output of a graph
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_graph_tensor {
    pub name: *const c_char,
    /// fatctx_dtype_name()
    pub dtype: *const c_char,
    /// -1 for a dynamic dimension
    pub shape: *const i64,
    pub rank: u64,
}

impl Default for fatctx_graph_tensor {
    fn default() -> Self {
        unsafe { std::mem::zeroed() }
    }
}

/// Elements of arrays have no struct_size: these three structs never change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_graph {
    pub name: *const c_char,
    pub inputs: *const fatctx_graph_tensor,
    pub input_count: u64,
    pub outputs: *const fatctx_graph_tensor,
    pub output_count: u64,
}

impl Default for fatctx_graph {
    fn default() -> Self {
        unsafe { std::mem::zeroed() }
    }
}

pub const FATCTX_SHARING_OFF: u32 = 0;
pub const FATCTX_SHARING_PAGES: u32 = 1;
pub const FATCTX_SHARING_BYTES: u32 = 2;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_pack_options {
    pub struct_size: u32,
    /// 0
    pub seal: u32,
    /// replace an existing file (by rename); otherwise exists; 0
    pub overwrite: u32,
    /// FATCTX_SHARING_...; FATCTX_SHARING_PAGES. With BYTES records become recipes
    pub sharing: u32,
    /// 12, 16 or 21; 0 chooses: 12 for a small file, else 16; 0
    pub extent_log2: u32,
    /// 12, 14 or 16; 12
    pub granule_log2: u32,
    /// null: none
    pub model_name: *const c_char,
    pub options: *const fatctx_option,
    pub option_count: u64,
    pub progress: fatctx_progress,
    pub progress_user: *mut c_void,
    /// with FATCTX_SHARING_PAGES: most slices of one record, 1 to 65536; 4096
    pub max_pieces: u32,
    /// number that look for shared bytes; 0: the number of processors, at most 8. Changes no byte
    pub threads: u32,
    /// 1: refuses a second context binary for a SoC, in the same group, unit and backend, with exists, even if they
    /// differ; 0
    pub one_per_soc: u32,
    /// 1: turns the warnings about records that cannot share as compiled, or share less (docs/sharing.md), into the error
    /// unsupported; 0
    pub strict_sharing: u32,
    /// 1: stores SHA-256 beside XXH3, of each record and each leaf; 0
    pub sha256: u32,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_pack_options {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// A record to pack. fatctx_packer_add() copies everything except the file at `source_path`, which publish reads. Null
/// texts mean "not stated".
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_pack_record {
    pub struct_size: u32,
    /// FATCTX_RECORD_...; FATCTX_RECORD_OPAQUE
    pub r#type: u32,
    /// unique in the container; required
    pub name: *const c_char,
    /// the file that holds its bytes; null: `bytes`
    pub source_path: *const c_char,
    pub bytes: *const c_void,
    pub size: u64,
    pub group: *const c_char,
    pub unit: *const c_char,
    /// The target. For a context binary of backend "htp", `arch` may also be a SoC as fatctx_device_parse() takes it
    /// ("SM8650", "57", "Snapdragon 8 Gen 3"). `soc_table` fills in the empty ones of part, qnn_soc, arch and vtcm_mb. A
    /// fact that contradicts the table is an error.
    pub backend: *const c_char,
    pub part: *const c_char,
    pub arch: *const c_char,
    /// comma separated
    pub features: *const c_char,
    pub variant: *const c_char,
    pub qnn_soc: u32,
    pub vtcm_mb: u32,
    pub generic: u32,
    /// take the tensors out of the index of the IREE parameter archive at `source_path`
    pub tensors_from_irpa: u32,
    pub sdk: fatctx_version,
    pub api: fatctx_version,
    pub blob: fatctx_version,
    /// FATCTX_CODEC_...; LZ4 is for source models and opaque records, which nobody maps; NONE
    pub codec: u32,
    /// names of the weight blobs it refers to
    pub weights: *const *const c_char,
    pub weight_count: u64,
    /// weight blobs only
    pub tensors: *const fatctx_pack_tensor,
    pub tensor_count: u64,
    /// tool and version that made it
    pub producer: *const c_char,
    /// "iree-vmfb", "irpa", ...
    pub format: *const c_char,
    pub graphs: *const fatctx_graph,
    pub graph_count: u64,
    pub options: *const fatctx_option,
    pub option_count: u64,
    /// As tensors_from_irpa, for a safetensors or GGUF file; at most one of the three. Tensors without a matching
    /// FATCTX_DTYPE_... are bytes, and options "tensor.NAME.type" name their types.
    pub tensors_from_safetensors: u32,
    pub tensors_from_gguf: u32,
    /// By default an opaque record of up to 64 KiB shares an extent with others; with this it has its own extent, so that
    /// its pages can be mapped.
    pub own_extent: u32,
    /// see source_offset; 0: all of the file
    pub source_is_part: u32,
    /// The ranges of its parts, if it has no tensors: ascending by offset, inside the record, without overlap. Equal parts
    /// are stored once, at any offset; the ranges are not kept in the file.
    pub ranges: *const fatctx_pack_range,
    pub range_count: u64,
    /// The part of the file at `source_path` that is the record, if `source_is_part` is set: `source_size` bytes from
    /// `source_offset`. Excludes all of tensors_from_..., whose offsets count from the first byte of the file.
    pub source_offset: u64,
    pub source_size: u64,
    /// A loaded view, instead of `bytes` and `source_path`. It belongs to a file already, so `copy` is also required. The
    /// view may be closed when the call has returned. {0}: none
    pub loaded: fatctx_view,
    pub copy: u32,
    /// 1: takes a target that no device gets. One that contradicts the table is kept as it is stated, with a warning in
    /// the report; 0
    pub allow_unreachable: u32,
    /// completes the target; {0}: the built-in one
    pub soc_table: fatctx_soc_table,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_pack_record {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_pack_report {
    pub struct_size: u32,
    pub sealed: u32,
    pub file_size: u64,
    /// sum of all record sizes
    pub input_bytes: u64,
    /// payload bytes in the file
    pub stored_bytes: u64,
    pub record_count: u32,
    /// records whose bytes another record already stored
    pub shared_records: u32,
    pub warning_count: u32,
    /// hexadecimal with dashes, ended by NUL
    pub uuid: [c_char; 44],
    /// bytes of records that needed no storage of their own, equal records included
    pub shared_bytes: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_pack_report {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// Formats of files with weights.
pub const FATCTX_WEIGHTS_SAFETENSORS: u32 = 1;
/// Formats of files with weights.
pub const FATCTX_WEIGHTS_GGUF: u32 = 2;
/// Formats of files with weights.
pub const FATCTX_WEIGHTS_IRPA: u32 = 3;
/// Record types. The numbers are stored in the file (docs/format.md, section 5.2).
pub const FATCTX_RECORD_CONTEXT_BINARY: u32 = 1;
/// Record types. The numbers are stored in the file (docs/format.md, section 5.2).
pub const FATCTX_RECORD_WEIGHT_BLOB: u32 = 2;
/// Record types. The numbers are stored in the file (docs/format.md, section 5.2).
pub const FATCTX_RECORD_TENSOR_TABLE: u32 = 3;
/// Record types. The numbers are stored in the file (docs/format.md, section 5.2).
pub const FATCTX_RECORD_SOURCE_MODEL: u32 = 4;
/// Record types. The numbers are stored in the file (docs/format.md, section 5.2).
pub const FATCTX_RECORD_WRAPPER_MODEL: u32 = 5;
/// Record types. The numbers are stored in the file (docs/format.md, section 5.2).
pub const FATCTX_RECORD_DESCRIPTION: u32 = 6;
/// Record types. The numbers are stored in the file (docs/format.md, section 5.2).
pub const FATCTX_RECORD_OPAQUE: u32 = 7;
/// Element types. The numbers are stored in the file (docs/format.md, section 6).
pub const FATCTX_DTYPE_F32: u32 = 1;
/// Element types. The numbers are stored in the file (docs/format.md, section 6).
pub const FATCTX_DTYPE_F64: u32 = 2;
/// Element types. The numbers are stored in the file (docs/format.md, section 6).
pub const FATCTX_DTYPE_F16: u32 = 3;
/// Element types. The numbers are stored in the file (docs/format.md, section 6).
pub const FATCTX_DTYPE_BF16: u32 = 4;
/// Element types. The numbers are stored in the file (docs/format.md, section 6).
pub const FATCTX_DTYPE_I8: u32 = 5;
/// Element types. The numbers are stored in the file (docs/format.md, section 6).
pub const FATCTX_DTYPE_I16: u32 = 6;
/// Element types. The numbers are stored in the file (docs/format.md, section 6).
pub const FATCTX_DTYPE_I32: u32 = 7;
/// Element types. The numbers are stored in the file (docs/format.md, section 6).
pub const FATCTX_DTYPE_I64: u32 = 8;
/// Element types. The numbers are stored in the file (docs/format.md, section 6).
pub const FATCTX_DTYPE_U8: u32 = 9;
/// Element types. The numbers are stored in the file (docs/format.md, section 6).
pub const FATCTX_DTYPE_U16: u32 = 10;
/// Element types. The numbers are stored in the file (docs/format.md, section 6).
pub const FATCTX_DTYPE_U32: u32 = 11;
/// Element types. The numbers are stored in the file (docs/format.md, section 6).
pub const FATCTX_DTYPE_U64: u32 = 12;
/// Element types. The numbers are stored in the file (docs/format.md, section 6).
pub const FATCTX_DTYPE_BOOL: u32 = 13;
/// Element types. The numbers are stored in the file (docs/format.md, section 6).
pub const FATCTX_DTYPE_I4: u32 = 14;
/// Element types. The numbers are stored in the file (docs/format.md, section 6).
pub const FATCTX_DTYPE_U4: u32 = 15;
/// How the bytes of a record are stored. The numbers are stored in the file (docs/format.md, section 5.2).
pub const FATCTX_CODEC_NONE: u32 = 0;
/// How the bytes of a record are stored. The numbers are stored in the file (docs/format.md, section 5.2).
pub const FATCTX_CODEC_LZ4: u32 = 1;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_record_info {
    pub struct_size: u32,
    pub id: u32,
    /// FATCTX_RECORD_...
    pub r#type: u32,
    /// 0: this version lists the record but cannot hand it out
    pub supported: u32,
    pub ignorable: u32,
    pub must_map: u32,
    pub slice_count: u32,
    pub weight_count: u32,
    /// ids of the weight blobs it refers to
    pub weights: *const u32,
    pub name: fatctx_text,
    pub size_bytes: u64,
    pub stored_bytes: u64,
    /// of the first slice; 0 for an empty record
    pub file_offset: u64,
    /// of its bytes
    pub hash: [u8; 16],
    /// The target it was built for. Empty texts and zeros mean "not stated".
    pub group: fatctx_text,
    pub unit: fatctx_text,
    pub backend: fatctx_text,
    pub part: fatctx_text,
    pub arch: fatctx_text,
    /// sorted, comma separated
    pub features: fatctx_text,
    pub variant: fatctx_text,
    pub qnn_soc: u32,
    pub vtcm_mb: u32,
    pub generic: u32,
    pub sdk: fatctx_version,
    pub api: fatctx_version,
    pub blob: fatctx_version,
    /// FATCTX_CODEC_...; with any but NONE it has no view: stream and extract give its bytes
    pub codec: u32,
    /// 1: stored as a program and the bytes it copies from; its bytes are made on request
    pub recipe: u32,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_record_info {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// requested parts besides file and records
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_info_parts {
    pub struct_size: u32,
    /// 0
    pub graphs: u32,
    /// 0
    pub options: u32,
    /// id of a weight blob; 0, which is none
    pub tensors_of: u32,
    /// 0; the sharing of records, actual and possible: reads and verifies the payload
    pub sharing: u32,
    /// 0; the place of everything in the file: header, tables, segments, leaf hashes, slices
    pub extents: u32,
    /// 0; reads payload to find absent bytes, as fatctx_container_absent() does
    pub present: u32,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_info_parts {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// bytes of the file; this struct never changes
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_file_range {
    pub offset: u64,
    pub size: u64,
}

impl Default for fatctx_file_range {
    fn default() -> Self {
        unsafe { std::mem::zeroed() }
    }
}

/// Takes the next bytes of a stream, valid during the call only; a result other than 0 stops it: cancelled.
pub type fatctx_sink = Option<unsafe extern "C" fn(user: *mut c_void, bytes: *const c_void, size: u64) -> i32>;

/// The way in which fatctx_container_read() gets bytes. STREAMED is in reports only: one piece after another, on the
/// calling thread.
pub const FATCTX_READ_AUTO: u32 = 0;
/// The way in which fatctx_container_read() gets bytes. STREAMED is in reports only: one piece after another, on the
/// calling thread.
pub const FATCTX_READ_DIRECT: u32 = 1;
/// The way in which fatctx_container_read() gets bytes. STREAMED is in reports only: one piece after another, on the
/// calling thread.
pub const FATCTX_READ_CACHED: u32 = 2;
/// The way in which fatctx_container_read() gets bytes. STREAMED is in reports only: one piece after another, on the
/// calling thread.
pub const FATCTX_READ_STREAMED: u32 = 3;

/// The way in which fatctx_container_read() gets bytes. STREAMED is in reports only: one piece after another, on the
/// calling thread.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_read_options {
    pub struct_size: u32,
    /// FATCTX_READ_...; FATCTX_READ_AUTO
    pub method: u32,
    /// does not drop the pages that the call read into the page cache; 0
    pub keep_cached: u32,
    /// number of threads; 0: chosen by the size, at most 4
    pub threads: u32,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_read_options {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// The way in which fatctx_container_read() gets bytes. STREAMED is in reports only: one piece after another, on the
/// calling thread.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_read_report {
    pub struct_size: u32,
    /// FATCTX_READ_...: the one that read most of the bytes
    pub method: u32,
    /// size of the record
    pub size_bytes: u64,
    /// read past the page cache
    pub direct_bytes: u64,
    /// bytes that the page cache had before; 0 if the system does not report it
    pub cached_bytes: u64,
    /// number of threads that read; 0: the calling thread alone
    pub threads: u32,
    pub reserved: u32,
    /// why this method, with the measured facts; cut to fit
    pub reason: [c_char; 160],
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_read_report {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// A report: the JSON of one moment, or of work that is done once. It needs nothing else any more.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_report {
    pub id: u64,
}

pub const FATCTX_SEAL_AS_SOURCE: u32 = 0;
pub const FATCTX_SEAL_NO: u32 = 1;
pub const FATCTX_SEAL_YES: u32 = 2;
/// Beside FATCTX_SHARING_...: as the records share bytes now, with off becoming pages; for a merge bytes if a container
/// shares so, else pages.
pub const FATCTX_SHARING_AS_SOURCE: u32 = 3;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_rewrite_options {
    pub struct_size: u32,
    /// FATCTX_SEAL_...; AS_SOURCE, which means NO for a merge
    pub seal: u32,
    /// replace `target` if it is an existing, different file; otherwise exists; 0
    pub overwrite: u32,
    /// FATCTX_SHARING_... or FATCTX_SHARING_AS_SOURCE; the latter
    pub sharing: u32,
    /// ids of the records that stay; null: all. The description stays always, a table of tensors
    /// with its weight blob. Not for a merge
    pub keep: *const u32,
    pub keep_count: u64,
    /// the one to write; 0: the newest. Not for a merge
    pub generation: u64,
    /// for a merge alone; null: that of the first container
    pub model_name: *const c_char,
    /// as in fatctx_pack_options; 4096
    pub max_pieces: u32,
    /// as in fatctx_pack_options; 0
    pub threads: u32,
    pub progress: fatctx_progress,
    pub progress_user: *mut c_void,
    /// as fatctx_open_options.max_made_bytes, of each source by itself; 0
    pub max_made_bytes: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_rewrite_options {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// A target as a filter: a null, empty or 0 field fits everything. `arch` may be a SoC as fatctx_device_parse() takes
/// it. Elements of arrays have no struct_size: this struct never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_target_filter {
    pub group: *const c_char,
    pub unit: *const c_char,
    pub backend: *const c_char,
    pub part: *const c_char,
    pub arch: *const c_char,
    /// comma separated; the record must have all of them
    pub features: *const c_char,
    pub variant: *const c_char,
    pub qnn_soc: u32,
    pub vtcm_mb: u32,
    pub sdk: fatctx_version,
    pub generic: u32,
    pub reserved: u32,
}

impl Default for fatctx_target_filter {
    fn default() -> Self {
        unsafe { std::mem::zeroed() }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_file_mapping_info {
    pub struct_size: u32,
    /// 0: this build cannot map files on this system
    pub available: u32,
    /// "Boost.Interprocess", "mmap", "MapViewOfFile"; static storage
    pub how: fatctx_text,
    pub page_bytes: u64,
    /// how often this process copied because a consumer could not take mapped memory
    pub fallbacks: u64,
    /// whose calls: "posix", "win32"; static storage
    pub provider: fatctx_text,
    /// a map begins at a multiple of this: a page, or 64 KiB on Windows
    pub granule_bytes: u64,
    /// 1: pieces of granules can be mapped side by side in one view
    pub stitched: u32,
    /// 1: copies can be made that nobody can change, and composed views with them
    pub sealed_memory: u32,
    /// mappings of this process that have lost bytes so far; see the guard
    pub lost_mappings: u64,
    pub guard_installed: u32,
    pub reserved: u32,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_file_mapping_info {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_mapping_provider {
    pub id: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_view_allocator {
    pub id: u64,
}

/// A replacement for the system's mmap: a runtime that has a mapping of its own.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_mapping_callbacks {
    pub struct_size: u32,
    pub reserved: u32,
    /// for reports: "hexagon fastrpc"; copied; required
    pub name: *const c_char,
    /// Makes `size` bytes of the file behind `descriptor` readable from its byte `offset` on (a multiple of 4096), and
    /// keeps them so until unmap. `descriptor` is borrowed for the call. Required. Answers unsupported if mapping is not
    /// available: with FATCTX_FILE_MAPPING_AUTO the library copies then. Any other code is the answer of the open.
    pub map: Option<unsafe extern "C" fn(user: *mut c_void, descriptor: c_int, offset: u64, size: u64, mapped: *mut *const c_void, error: *mut fatctx_error) -> i32>,
    /// Called exactly once for each run of bytes that map gave, after its last use. Required.
    pub unmap: Option<unsafe extern "C" fn(user: *mut c_void, mapped: *const c_void, size: u64)>,
    pub release: fatctx_release,
    /// for all of them
    pub user: *mut c_void,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_mapping_callbacks {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// Memory that a consumer shares with a device. This struct never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_block {
    /// at least as aligned as requested
    pub data: *mut c_void,
    /// bytes, at least as many as requested
    pub size: u64,
    /// for import by a device; -1 if there is none
    pub descriptor: i32,
    pub reserved: u32,
}

impl Default for fatctx_block {
    fn default() -> Self {
        unsafe { std::mem::zeroed() }
    }
}

/// An allocator of memory that a device can share (rpcmem, a memfd, a DMA buffer). A record is read into it once per
/// process, and all sessions see the same bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_allocator_callbacks {
    pub struct_size: u32,
    pub reserved: u32,
    /// for reports; copied; required
    pub name: *const c_char,
    /// Fills `block`, which comes with data = null and descriptor = -1. Required. Codes: backend_library_missing,
    /// no_resource, out_of_memory.
    pub allocate: Option<unsafe extern "C" fn(user: *mut c_void, size: u64, alignment: u64, block: *mut fatctx_block, error: *mut fatctx_error) -> i32>,
    /// Called when the block holds the record's bytes, before any view of it is handed out, so that it can be registered
    /// with a device. An error gives the block back. May be null.
    pub filled: Option<unsafe extern "C" fn(user: *mut c_void, block: *const fatctx_block, error: *mut fatctx_error) -> i32>,
    /// Called exactly once for each block that allocate gave, after the last view of it. Required.
    pub give_back: Option<unsafe extern "C" fn(user: *mut c_void, block: *const fatctx_block)>,
    pub release: fatctx_release,
    /// for all of them
    pub user: *mut c_void,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_allocator_callbacks {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

/// A view of the read-only bytes of a record or of a tensor. `data` is valid until the handle is closed; copies of this
/// struct are the same handle. `data` is null for an empty record.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_view {
    pub id: u64,
    pub data: *const c_void,
    /// bytes
    pub size: u64,
}

impl Default for fatctx_view {
    fn default() -> Self {
        unsafe { std::mem::zeroed() }
    }
}

/// The tensors of a weight blob by name.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_tensor_table {
    pub id: u64,
}

/// Makes another handle to the same bytes, closed on its own.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_view_info {
    pub struct_size: u32,
    /// 0 for a tensor
    pub record_id: u32,
    pub is_tensor: u32,
    /// fatctx_access_path_name()
    pub access_path: u32,
    pub data: *const c_void,
    pub size: u64,
    /// memory shown instead of pages of the file, shared with other views of the record
    pub copied_bytes: u64,
    /// bytes shown from a file in a cache folder instead of pages of the container
    pub cached_bytes: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_view_info {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_tensor_info {
    pub struct_size: u32,
    /// FATCTX_DTYPE_...
    pub dtype: u32,
    pub name: fatctx_text,
    /// elements per dimension, outermost first
    pub shape: *const u64,
    /// Bytes from one element to the next in each dimension; null for element types below a byte, for a scalar, and from
    /// fatctx_tensor_table_at().
    pub strides_bytes: *const u64,
    pub rank: u64,
    pub offset_in_blob: u64,
    pub size_bytes: u64,
    /// shares bytes with another tensor on purpose
    pub alias: u32,
    pub reserved: u32,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_tensor_info {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct fatctx_range_access {
    pub id: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_range_hooks {
    pub struct_size: u32,
    pub reserved: u32,
    /// Registers the pages with a device; called on the thread that asks. An error refuses the range, and `released` is
    /// then not called for it. May be null.
    pub provided: Option<unsafe extern "C" fn(user: *mut c_void, aligned: *const c_void, aligned_size: u64, error: *mut fatctx_error) -> i32>,
    /// Undoes the registration: once for each provided range, when it is released or the last owner is closed. May be
    /// null.
    pub released: Option<unsafe extern "C" fn(user: *mut c_void, aligned: *const c_void, aligned_size: u64)>,
    pub release: fatctx_release,
    /// for all of them
    pub user: *mut c_void,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_range_hooks {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fatctx_range {
    pub struct_size: u32,
    pub reserved: u32,
    /// for fatctx_range_access_release(); never 0, never used again
    pub id: u64,
    pub data: *const c_void,
    pub size: u64,
    /// whole pages of 4 KiB around them, as far as the record goes
    pub aligned: *const c_void,
    pub aligned_size: u64,
    /// of `data` in `aligned`
    pub data_start: u64,
}

/// Zeros, and `struct_size`: the defaults, unless an `_init` function exists, which sets other ones.
impl Default for fatctx_range {
    fn default() -> Self {
        let mut made: Self = unsafe { std::mem::zeroed() };
        made.struct_size = std::mem::size_of::<Self>() as u32;
        made
    }
}

extern "C" {
    /// Takes the file's write lock, which is held until the handle is closed. `path` must not be a link. An appender works
    /// for one call at a time, as a packer does, and not in a child that was forked from the process that opened it.
    ///
    /// Errors: not_found, locked (another process is appending), operation_not_permitted (the container is sealed, or the
    /// file may not be written; the message says how to get a writable copy), remote_filesystem, unsupported (no
    /// locks here, or made by a newer version in a way that only it can add to), those of fatctx_container_open.
    pub fn fatctx_appender_open(path: *const c_char, options: *const fatctx_append_options, appender: *mut fatctx_appender, error: *mut fatctx_error) -> i32;
    /// Adds a record as fatctx_packer_add does; `weights` may also name weight blobs of the file. Writes nothing.
    ///
    /// Errors: those of fatctx_packer_add; exists also if the file has a record of this name or key; operation_not_permitted
    /// (it was committed).
    pub fn fatctx_appender_add(appender: fatctx_appender, record: *const fatctx_pack_record, error: *mut fatctx_error) -> i32;
    /// Adds a note to the evidence of a record of the file; fatctx_container_info_json() shows it. Writes nothing.
    ///
    /// Errors: not_found, invalid_argument (a text is missing or too long, the date is invalid); the commit says `exists` if
    /// the same note exists.
    pub fn fatctx_appender_note(appender: fatctx_appender, record_name: *const c_char, note: *const fatctx_evidence_note, error: *mut fatctx_error) -> i32;
    /// Writes the added records behind the end of the file, syncs it, then names them in the header and syncs again.
    /// `report` may be null. After the call nothing more can be added or committed.
    ///
    /// Errors: bad_reference, changed (an input), no_space, io, limit_exceeded, cancelled: the file opens as before, and
    /// bytes behind its end are dead. commit_unknown: the last sync failed; the disk has the new generation or the
    /// old one, and reads may show the new one before the disk has it. The next append or fatctx_repair() relies on
    /// neither.
    pub fn fatctx_appender_commit(appender: fatctx_appender, report: *mut fatctx_append_report, error: *mut fatctx_error) -> i32;
    /// Writes the report of the commit, schema "fatctx.appended/1": a row for each added record, the names of superseded
    /// records, copies of metadata that were damaged and are whole again ("slot A1"), warnings. Errors: not_found (nothing
    /// was committed).
    pub fn fatctx_appender_report_json(appender: fatctx_appender, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// Gives the lock up and discards everything that was not committed.
    pub fn fatctx_appender_close(appender: fatctx_appender, error: *mut fatctx_error) -> i32;
    /// Returns the FATCTX_ABI_VERSION of the library; another number means that header and library do not belong together.
    pub fn fatctx_abi_version() -> u32;
    /// "0.1.0"; static storage
    pub fn fatctx_library_version() -> *const c_char;
    /// "1.0": the format it writes; static storage
    pub fn fatctx_format_version() -> *const c_char;
    /// Check a whole file, or one record of it. Damage is a finding, not an error: look at `report`, which is required. The
    /// second takes a path, and also reports damage that keeps the file from being opened. `progress` is called on the
    /// calling thread only. Errors: io, not_found, not_regular_file, cancelled; invalid_argument (a range outside, or that
    /// no leaf covers; strict
    /// together with a range or with one record).
    pub fn fatctx_container_verify(container: fatctx_container, options: *const fatctx_verify_options, report: *mut fatctx_verify_report, error: *mut fatctx_error) -> i32;
    /// Check a whole file, or one record of it. Damage is a finding, not an error: look at `report`, which is required. The
    /// second takes a path, and also reports damage that keeps the file from being opened. `progress` is called on the
    /// calling thread only. Errors: io, not_found, not_regular_file, cancelled; invalid_argument (a range outside, or that
    /// no leaf covers; strict
    /// together with a range or with one record).
    pub fn fatctx_verify_file(path: *const c_char, options: *const fatctx_verify_options, report: *mut fatctx_verify_report, error: *mut fatctx_error) -> i32;
    /// Writes NAME.key, which is secret, and NAME.pub. Errors: exists (nothing is replaced), not_found, no_space, io.
    pub fn fatctx_make_keys(name: *const c_char, public_key: *mut u8, error: *mut fatctx_error) -> i32;
    /// Reads a public key that fatctx_make_keys() or `fatctx keygen` wrote. Errors: invalid_argument (not a key), not_found,
    /// io.
    pub fn fatctx_read_public_key(path: *const c_char, public_key: *mut u8, error: *mut fatctx_error) -> i32;
    /// Writes a signed copy of the container at `path` to `out`, which may be `path`. `report` may be null.
    ///
    /// Errors: checksum_mismatch (nothing damaged is signed), those of fatctx_container_open, exists, unsupported,
    /// limit_exceeded, changed, locked, no_space, io, cancelled, commit_unknown; of the key: not_found, invalid_argument,
    /// operation_not_permitted (others than its owner can read it).
    pub fn fatctx_sign_container(path: *const c_char, key_path: *const c_char, out: *const c_char, options: *const fatctx_sign_options, report: *mut fatctx_sign_report, error: *mut fatctx_error) -> i32;
    /// Restores metadata that has a good copy, leaf hashes that the payload proves, and what `from` has. Bytes whose hashes
    /// are right are never written. Each range is written and synced before the next (payload in batches), then everything
    /// is read again. Takes the file's write lock; `path` must not be a link. A sealed file without damage is not written
    /// to. `report` is required.
    ///
    /// Errors: not_found, not_regular_file, locked, operation_not_permitted (it may not be written, and a range needs
    /// restoring), remote_filesystem, unsupported, io, no_space, cancelled; those of fatctx_container_open for a
    /// file that does not open.
    pub fn fatctx_repair(path: *const c_char, options: *const fatctx_repair_options, report: *mut fatctx_repair_report, error: *mut fatctx_error) -> i32;
    /// Reads a table in the form of docs/selection.md, section 10: `path` adds to the built-in one or replaces it. Null: the
    /// built-in one. Errors: invalid_argument with file, line and column; not_found, io, not_regular_file, limit_exceeded.
    pub fn fatctx_soc_table_read(path: *const c_char, table: *mut fatctx_soc_table, error: *mut fatctx_error) -> i32;
    /// Writes rows with `search` in a name, the arch or a number, schema "fatctx.socs/1"; null or empty: all.
    /// fatctx_device_parse() resolves one name by any of its spellings.
    pub fn fatctx_soc_table_json(table: fatctx_soc_table, search: *const c_char, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// Writes rows with `search` in a name, the arch or a number, schema "fatctx.socs/1"; null or empty: all.
    /// fatctx_device_parse() resolves one name by any of its spellings.
    pub fn fatctx_soc_table_close(table: fatctx_soc_table, error: *mut fatctx_error) -> i32;
    /// Asks this machine, with options; null for the defaults. An unknown machine is a device whose facts are empty, and not
    /// an error. Detection is advice; the load is the proof. Errors: invalid_config; those of fatctx_soc_table_read() for
    /// the table that the environment names.
    pub fn fatctx_device_detect(options: *const fatctx_detect_options, device: *mut fatctx_device, error: *mut fatctx_error) -> i32;
    /// Gets the NPU of a detected device, which elsewhere is its processor: a new handle. Errors: not_found.
    pub fn fatctx_device_npu(device: fatctx_device, npu: *mut fatctx_device, error: *mut fatctx_error) -> i32;
    /// Writes how it was found, with every place that was looked at, schema "fatctx.detection/1".
    pub fn fatctx_device_detection_json(device: fatctx_device, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// Reads a device given by hand: "x86-64-v3", "aarch64+dotprod+i8mm", "v75", a SoC of the built-in table ("SM8750",
    /// "69", "kernel:639"), or JSON of schema "fatctx.device/1" (a text whose first character is `{`).
    ///
    /// Errors: invalid_argument, naming the accepted forms.
    pub fn fatctx_device_parse(text: *const c_char, device: *mut fatctx_device, error: *mut fatctx_error) -> i32;
    /// Writes the facts of a device, schema "fatctx.device/1".
    pub fn fatctx_device_json(device: fatctx_device, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// Writes the facts of a device, schema "fatctx.device/1".
    pub fn fatctx_device_close(device: fatctx_device, error: *mut fatctx_error) -> i32;
    /// Writes 1 into `found` if the file has the entries of a DLC, else 0. Errors: not_found, io, not_regular_file.
    pub fn fatctx_is_dlc(path: *const c_char, found: *mut u32, error: *mut fatctx_error) -> i32;
    /// Writes what an archive contains: entries, context binaries with their SoCs, findings. Schema "fatctx.dlc/1". Checks
    /// the structure of the whole archive and reads its metadata, never a payload. Errors: not_found, io, not_regular_file,
    /// bad_magic, truncated, malformed, unsupported, limit_exceeded.
    pub fn fatctx_dlc_json(path: *const c_char, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// Does the same for an archive that was imported into a container. `layout` is the name of its layout record; null: the
    /// only archive.
    ///
    /// Errors: also not_found (no archive), invalid_argument (several, and none named), bad_reference (a record is missing
    /// or has other bytes), checksum_mismatch, changed.
    pub fn fatctx_container_dlc_json(container: fatctx_container, layout: *const c_char, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// Lists the archives that were imported into a container, schema "fatctx.stored_dlcs/1". Errors: checksum_mismatch,
    /// malformed (of a layout record), changed.
    pub fn fatctx_container_dlcs_json(container: fatctx_container, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// Adds one record for each entry, and one with the archive's layout. `options` may be null. The file must not change
    /// until publish. Errors: those of fatctx_dlc_json() and fatctx_packer_add(); changed. The packer must not be used after
    /// an error.
    pub fn fatctx_packer_add_dlc(packer: fatctx_packer, path: *const c_char, options: *const fatctx_dlc_import, error: *mut fatctx_error) -> i32;
    /// Does the same for an appender.
    pub fn fatctx_appender_add_dlc(appender: fatctx_appender, path: *const c_char, options: *const fatctx_dlc_import, error: *mut fatctx_error) -> i32;
    /// Writes a thin DLC of the file, which appears whole or not at all; `out` = null only plans it. `report` may be null.
    ///
    /// Errors: those of fatctx_dlc_json(); no_match (naming the existing ones), bad_reference (no metadata); of writing also
    /// exists (without `overwrite`), no_space, changed, commit_unknown.
    pub fn fatctx_dlc_thin(path: *const c_char, choice: *const fatctx_dlc_choice, out: *const c_char, overwrite: u32, report: *mut fatctx_thin_dlc, error: *mut fatctx_error) -> i32;
    /// Writes the original archive, byte for byte, checked against the hash of the original. `layout` as in
    /// fatctx_container_dlc_json(), `progress` may be null. Errors: those; exists, no_space, io, cancelled, commit_unknown.
    pub fn fatctx_container_export_dlc(container: fatctx_container, layout: *const c_char, out: *const c_char, overwrite: u32, progress: fatctx_progress, user: *mut c_void, error: *mut fatctx_error) -> i32;
    /// Writes the file that fatctx_dlc_thin() of the original would write. `report` may be null.
    pub fn fatctx_container_thin_dlc(container: fatctx_container, layout: *const c_char, choice: *const fatctx_dlc_choice, out: *const c_char, overwrite: u32, report: *mut fatctx_thin_dlc, error: *mut fatctx_error) -> i32;
    /// Makes a view of the same bytes as one range of memory: pages of the container, and sealed memory for the bytes
    /// between payloads. The view has record id 0. `report` may be null.
    ///
    /// Errors: also copy_not_allowed (payload that is not stored in the container as whole pages, and max_copied_bytes does
    /// not allow it), no_resource, out_of_memory, unsupported.
    pub fn fatctx_container_thin_dlc_view(container: fatctx_container, layout: *const c_char, choice: *const fatctx_dlc_choice, view: *mut fatctx_view, report: *mut fatctx_thin_dlc, error: *mut fatctx_error) -> i32;
    /// Brings the mapped bytes of such a view into memory. Errors: those of fatctx_container_prefetch(); invalid_argument,
    /// if the view is not one of a thin DLC.
    pub fn fatctx_thin_dlc_prefetch(view: fatctx_view, options: *const fatctx_prefetch_options, report: *mut fatctx_prefetch_report, error: *mut fatctx_error) -> i32;
    /// Initialises an error. `struct_size` is sizeof(fatctx_error) as the caller knows it. Does nothing for null or a size
    /// below 8.
    pub fn fatctx_error_init(error: *mut fatctx_error, struct_size: usize);
    /// Returns "checksum_mismatch"; "ok" for 0 and "unknown" for a code that is not listed. Static storage.
    pub fn fatctx_error_code_name(code: i32) -> *const c_char;
    /// Returns the line for people: "m.fatctx: record 3: extent overlaps record 2 (malformed, F16, at byte 0x30000)". A code
    /// that is not listed is printed in decimal and hexadecimal. Errors: invalid_argument, out_of_memory.
    pub fn fatctx_error_text(error: *const fatctx_error, buffer: *mut c_char, capacity: usize, size: *mut usize) -> i32;
    /// Reads "2", "2.48", "2.48.0", "2.48.0.1"; a leading "v" is allowed. Errors: invalid_argument.
    pub fn fatctx_version_parse(text: *const c_char, version: *mut fatctx_version, error: *mut fatctx_error) -> i32;
    /// Writes "2.48": trailing zero parts are left out. `version` is required.
    pub fn fatctx_version_text(version: *const fatctx_version, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// "header", "table", ...; "unknown"
    pub fn fatctx_fetch_stage_name(stage: u32) -> *const c_char;
    /// Begins a fetch of a container of `source_bytes` bytes into `path`, or goes on with one that did not end: its file is
    /// `<path>.fetching` until fatctx_fetch_plan_publish(). A plan works for one call at a time, as a packer does.
    ///
    /// Errors: exists (`path` exists, and neither `overwrite` nor `more` is set), locked (another process works on it),
    /// operation_not_permitted (`<path>.fetching` is the file of somebody else), truncated (an empty source),
    /// not_found (a seed), stale_handle (a device), io, no_space.
    pub fn fatctx_fetch_plan_begin(path: *const c_char, source_bytes: u64, options: *const fatctx_fetch_options, plan: *mut fatctx_fetch_plan, error: *mut fatctx_error) -> i32;
    /// Writes the ranges of the source that the present stage lacks, ascending; none when all is there. `count` gets their
    /// number, and `ranges` the first `capacity` of them. `ranges` may be null if `capacity` is 0.
    pub fn fatctx_fetch_plan_wanted(plan: fatctx_fetch_plan, ranges: *mut fatctx_file_range, capacity: u64, count: *mut u64, error: *mut fatctx_error) -> i32;
    /// Takes bytes of the source: any part of the wanted ranges, in any order and any cut. Others are ignored.
    ///
    /// Errors: checksum_mismatch (the bytes are not those of the container; they were not written, and are wanted again),
    /// bad_magic (not a container), those of fatctx_container_open, not_found (a record), no_match (a device),
    /// changed (with `more`: the source has another generation), invalid_argument (bytes behind the end of the
    /// source), no_space, io.
    pub fn fatctx_fetch_plan_take(plan: fatctx_fetch_plan, offset: u64, bytes: *const c_void, size: u64, error: *mut fatctx_error) -> i32;
    /// Uses a file that is here:
    /// - a container: it copies equal leaves, as of the seeds;
    /// - the block index of the source (`fatctx index` makes it): it looks for blocks in the seeds, at any offset;
    /// - an update that makes the source from one of the seeds (`fatctx delta` makes it): it makes what the seeds have the
    /// bytes for. They may be partial. Meanwhile it needs room for the whole container beside the file.
    /// After an index or an update, it joins wanted ranges over at most 8 KiB, and over more only if there would be over
    /// 4,096 ranges. None of these files needs trust: each leaf must match, or is wanted again. Time: linear in the sizes of
    /// the container and of the seeds.
    ///
    /// Errors: operation_not_permitted (the stage is not FATCTX_FETCH_PAYLOAD), changed (an index or update of another
    /// state, or no seed is the old file of the update), malformed, truncated, trailing_data, checksum_mismatch,
    /// limit_exceeded (a bad index or update), not_found, those of fatctx_container_open, no_space, io.
    pub fn fatctx_fetch_plan_use(plan: fatctx_fetch_plan, path: *const c_char, error: *mut fatctx_error) -> i32;
    /// Uses a file that is here:
    /// - a container: it copies equal leaves, as of the seeds;
    /// - the block index of the source (`fatctx index` makes it): it looks for blocks in the seeds, at any offset;
    /// - an update that makes the source from one of the seeds (`fatctx delta` makes it): it makes what the seeds have the
    /// bytes for. They may be partial. Meanwhile it needs room for the whole container beside the file.
    /// After an index or an update, it joins wanted ranges over at most 8 KiB, and over more only if there would be over
    /// 4,096 ranges. None of these files needs trust: each leaf must match, or is wanted again. Time: linear in the sizes of
    /// the container and of the seeds.
    ///
    /// Errors: operation_not_permitted (the stage is not FATCTX_FETCH_PAYLOAD), changed (an index or update of another
    /// state, or no seed is the old file of the update), malformed, truncated, trailing_data, checksum_mismatch,
    /// limit_exceeded (a bad index or update), not_found, those of fatctx_container_open, no_space, io.
    pub fn fatctx_fetch_plan_report(plan: fatctx_fetch_plan, report: *mut fatctx_fetch_report, error: *mut fatctx_error) -> i32;
    /// Writes the file to the disk and gives it its name. Processes that use an old file of this name keep it.
    ///
    /// Errors: operation_not_permitted (bytes are missing, or it was published), exists, locked, commit_unknown, no_space,
    /// io.
    pub fn fatctx_fetch_plan_publish(plan: fatctx_fetch_plan, error: *mut fatctx_error) -> i32;
    /// Removes the unfinished file. Errors: operation_not_permitted (it was published).
    pub fn fatctx_fetch_plan_discard(plan: fatctx_fetch_plan, error: *mut fatctx_error) -> i32;
    /// Ends the plan. The unfinished file stays: the next plan for the same path goes on with it.
    pub fn fatctx_fetch_plan_close(plan: fatctx_fetch_plan, error: *mut fatctx_error) -> i32;
    /// A source of bytes: a path, a descriptor, or memory.
    pub fn fatctx_source_init(source: *mut fatctx_source, struct_size: usize);
    pub fn fatctx_load_options_init(options: *mut fatctx_load_options, struct_size: usize);
    /// Opens the source, recognises its format, chooses, checks the bytes and returns a session with views of them. With
    /// a signal or with progress it answers within 100 ms when it is stopped, even if the system does not answer.
    ///
    /// Errors: those of fatctx_model_open() and fatctx_model_begin_session(); changed.
    pub fn fatctx_load(source: *const fatctx_source, options: *const fatctx_load_options, session: *mut fatctx_session, error: *mut fatctx_error) -> i32;
    /// Makes a signal that stops a load from another thread, or after `timeout_ms`; 0: no limit. Serves one load at a time,
    /// and the next one when that has ended. Closing it stops nothing.
    pub fn fatctx_load_signal_create(timeout_ms: u64, signal: *mut fatctx_load_signal, error: *mut fatctx_error) -> i32;
    /// Makes the load that uses it answer cancelled. If no load uses it, the next one does.
    pub fn fatctx_load_signal_cancel(signal: fatctx_load_signal, error: *mut fatctx_error) -> i32;
    /// Errors of both: operation_not_permitted (a load uses it).
    pub fn fatctx_load_signal_set_timeout(signal: fatctx_load_signal, timeout_ms: u64, error: *mut fatctx_error) -> i32;
    /// Errors of both: operation_not_permitted (a load uses it).
    pub fn fatctx_load_signal_reset(signal: fatctx_load_signal, error: *mut fatctx_error) -> i32;
    /// Errors of both: operation_not_permitted (a load uses it).
    pub fn fatctx_load_signal_state(signal: fatctx_load_signal, cancelled: *mut u32, in_use: *mut u32, error: *mut fatctx_error) -> i32;
    /// Errors of both: operation_not_permitted (a load uses it).
    pub fn fatctx_load_signal_close(signal: fatctx_load_signal, error: *mut fatctx_error) -> i32;
    /// Loads a list in the background, `threads` items at a time (0: the number of processors, at most 8), and returns. A
    /// failed item does not stop the others. Callbacks come in the order in which items finish; with one thread, in list
    /// order. Errors: invalid_argument, stale_handle (a signal, a device), no_resource, io.
    pub fn fatctx_load_list_start(items: *const fatctx_load_item, count: u64, threads: u32, list: *mut fatctx_load_list, error: *mut fatctx_error) -> i32;
    /// Makes unfinished items answer cancelled. Does not wait.
    pub fn fatctx_load_list_cancel(list: fatctx_load_list, error: *mut fatctx_error) -> i32;
    /// Waits until all have finished. Errors: operation_not_permitted (from a callback of this list).
    pub fn fatctx_load_list_wait(list: fatctx_load_list, error: *mut fatctx_error) -> i32;
    /// Waits until all have finished. Errors: operation_not_permitted (from a callback of this list).
    pub fn fatctx_load_list_state(list: fatctx_load_list, size: *mut u64, finished: *mut u64, error: *mut fatctx_error) -> i32;
    /// Gets the result of an item. Errors: not_found (index out of range), operation_not_permitted (it has not finished),
    /// those of the load.
    pub fn fatctx_load_list_result(list: fatctx_load_list, index: u64, session: *mut fatctx_session, error: *mut fatctx_error) -> i32;
    /// Cancels unfinished items and waits for their callbacks, but not from one of them.
    pub fn fatctx_load_list_close(list: fatctx_load_list, error: *mut fatctx_error) -> i32;
    pub fn fatctx_prefetch_options_init(options: *mut fatctx_prefetch_options, struct_size: usize);
    /// Brings the pages of exactly one record into memory. Checks nothing and touches no page itself. A stopped prefetch
    /// answers cancelled, and `report`, which is required, says how far it came. Errors: not_found, unsupported (as
    /// acquire), changed, io (naming the first bad byte), no_resource, cancelled.
    pub fn fatctx_container_prefetch(container: fatctx_container, record_id: u32, options: *const fatctx_prefetch_options, report: *mut fatctx_prefetch_report, error: *mut fatctx_error) -> i32;
    /// Does the same on a thread of the library, which calls `progress`; options and `user` are used until the wait or the
    /// close has ended. A forked child has no such thread. Errors: not_found, unsupported, no_resource (no thread).
    pub fn fatctx_container_prefetch_in_background(container: fatctx_container, record_id: u32, options: *const fatctx_prefetch_options, prefetch: *mut fatctx_prefetch, error: *mut fatctx_error) -> i32;
    /// Asks it to stop after the present step; does not wait.
    pub fn fatctx_prefetch_cancel(prefetch: fatctx_prefetch, error: *mut fatctx_error) -> i32;
    /// Gets its progress: `done` is 1 when it has ended.
    pub fn fatctx_prefetch_state(prefetch: fatctx_prefetch, done: *mut u32, done_bytes: *mut u64, error: *mut fatctx_error) -> i32;
    /// Waits for the end; may be called again. Errors: those of fatctx_container_prefetch(); operation_not_permitted from
    /// its own `progress`, which would wait for itself.
    pub fn fatctx_prefetch_wait(prefetch: fatctx_prefetch, report: *mut fatctx_prefetch_report, error: *mut fatctx_error) -> i32;
    /// Cancels and waits for the step that is going on. Errors: operation_not_permitted from its own `progress`.
    pub fn fatctx_prefetch_close(prefetch: fatctx_prefetch, error: *mut fatctx_error) -> i32;
    /// Gives back the memory of a record. Views stay valid; their bytes are read from the
    /// file again when they are touched. Errors: not_found, unsupported (as acquire), operation_not_permitted (it is
    /// locked).
    pub fn fatctx_container_release(container: fatctx_container, record_id: u32, options: *const fatctx_release_options, report: *mut fatctx_release_report, error: *mut fatctx_error) -> i32;
    /// Acquires the record and keeps its pages in memory until the lock is closed. Errors: those of acquire, no_resource
    /// (naming RLIMIT_MEMLOCK and the bytes).
    pub fn fatctx_container_lock(container: fatctx_container, record_id: u32, lock: *mut fatctx_record_lock, error: *mut fatctx_error) -> i32;
    /// Acquires the record and keeps its pages in memory until the lock is closed. Errors: those of acquire, no_resource
    /// (naming RLIMIT_MEMLOCK and the bytes).
    pub fn fatctx_record_lock_close(lock: fatctx_record_lock, error: *mut fatctx_error) -> i32;
    /// Return the word of a level ("OPTIMAL"; "UNKNOWN"), and the short name of an axis ("A1"; "unknown"). Static storage.
    pub fn fatctx_level_name(level: u32) -> *const c_char;
    /// Return the word of a level ("OPTIMAL"; "UNKNOWN"), and the short name of an axis ("A1"; "unknown"). Static storage.
    pub fn fatctx_axis_id(axis: u32) -> *const c_char;
    /// "container", "dlc", "raw_binary"
    pub fn fatctx_model_format_name(format: u32) -> *const c_char;
    /// The bytes that are accepted as a plain context binary: those of a known format, any that are neither container nor
    /// DLC (the caller vouches that they are for this device), or none.
    pub fn fatctx_raw_binaries_name(raw_binaries: u32) -> *const c_char;
    /// or FATCTX_UNKNOWN
    pub fn fatctx_raw_binaries_from_name(name: *const c_char) -> u32;
    pub fn fatctx_model_options_init(options: *mut fatctx_model_options, struct_size: usize);
    /// Opens a container, a DLC or a raw binary and chooses a target. fatctx_load() does it for a descriptor or memory too.
    ///
    /// Errors: those of open, no_match with the reason for every record in the message, copy_not_allowed; with
    /// FATCTX_ON_DAMAGE_NEXT those of acquire, of the first damaged record if no target is whole, and
    /// invalid_argument with FATCTX_VERIFY_NONE, which finds no damage; for a DLC those of fatctx_dlc_json(); for a
    /// raw binary bad_magic and invalid_argument; for both signature_missing and unsupported; with a signal
    /// cancelled, timed_out, operation_not_permitted (it serves another call already), no_resource.
    pub fn fatctx_model_open(path: *const c_char, options: *const fatctx_model_options, model: *mut fatctx_model, error: *mut fatctx_error) -> i32;
    /// Chooses from a container that is open; `options->open` is not used.
    pub fn fatctx_model_choose(container: fatctx_container, options: *const fatctx_model_options, model: *mut fatctx_model, error: *mut fatctx_error) -> i32;
    /// Chooses from a container that is open; `options->open` is not used.
    pub fn fatctx_model_close(model: fatctx_model, error: *mut fatctx_error) -> i32;
    /// Make new handles for the container and the device of the model; the caller closes them. Errors: not_found (a DLC and
    /// a raw binary have no container).
    pub fn fatctx_model_container(model: fatctx_model, container: *mut fatctx_container, error: *mut fatctx_error) -> i32;
    /// Make new handles for the container and the device of the model; the caller closes them. Errors: not_found (a DLC and
    /// a raw binary have no container).
    pub fn fatctx_model_device(model: fatctx_model, device: *mut fatctx_device, error: *mut fatctx_error) -> i32;
    /// Gets the selection. Lifetime: `chosen` and texts borrow from `model`.
    pub fn fatctx_model_selection(model: fatctx_model, selection: *mut fatctx_selection, error: *mut fatctx_error) -> i32;
    /// Gets a verdict by index. Errors: not_found (index out of range).
    pub fn fatctx_model_verdict(model: fatctx_model, index: u64, verdict: *mut fatctx_verdict, error: *mut fatctx_error) -> i32;
    /// Gets a warning: "vtcm_unverified", ... Lifetime: borrows from `model`. Errors: not_found (index out of range).
    pub fn fatctx_model_warning(model: fatctx_model, index: u64, text: *mut fatctx_text, error: *mut fatctx_error) -> i32;
    /// Gets the error of a damaged record, in the order in which they were found: the result of its acquire, with
    /// `record_id`. Errors: not_found (index out of range).
    pub fn fatctx_model_damaged(model: fatctx_model, index: u64, damage: *mut fatctx_error, error: *mut fatctx_error) -> i32;
    /// Explains why this record was chosen and no other. `format`: FATCTX_FORMAT_TEXT (several lines) or FATCTX_FORMAT_JSON
    /// (schema "fatctx.selection/1"; null for a raw binary).
    pub fn fatctx_model_explain(model: fatctx_model, format: u32, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// Explains the choice from a container, also if no record fits. Errors: invalid_argument (group or override does not
    /// exist).
    pub fn fatctx_container_explain(container: fatctx_container, options: *const fatctx_model_options, format: u32, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// Begins a session. Any number of sessions; the second and later cost no IO. Errors: those of acquire.
    pub fn fatctx_model_begin_session(model: fatctx_model, session: *mut fatctx_session, error: *mut fatctx_error) -> i32;
    /// Begins a session. Any number of sessions; the second and later cost no IO. Errors: those of acquire.
    pub fn fatctx_session_close(session: fatctx_session, error: *mut fatctx_error) -> i32;
    /// Waits for the checks of its records that FATCTX_VERIFY_BESIDE_LOAD has begun: call it before the first result is
    /// believed. Errors: those of fatctx_container_await_checks().
    pub fn fatctx_session_await_checks(session: fatctx_session, error: *mut fatctx_error) -> i32;
    /// Closes the session and says whether results computed from its views can be trusted. Closes the handle in any case
    /// except stale_handle. If the file looks different than when the session began, its records are verified again.
    ///
    /// Errors: those of fatctx_container_check(); then also those of acquire.
    pub fn fatctx_session_end(session: fatctx_session, error: *mut fatctx_error) -> i32;
    /// Gets the context binary of `unit`; null: of the only unit. Errors: not_found, listing the units.
    pub fn fatctx_session_binary(session: fatctx_session, unit: *const c_char, view: *mut fatctx_view, error: *mut fatctx_error) -> i32;
    /// Gets the facts of a session. Lifetime of all texts: they borrow from `session`.
    pub fn fatctx_session_describe(session: fatctx_session, info: *mut fatctx_session_info, error: *mut fatctx_error) -> i32;
    /// Gets a record by index: `part` is FATCTX_SESSION_BINARIES (in unit order) or FATCTX_SESSION_WEIGHTS (in record
    /// order). Lifetime of all texts: they borrow from `session`. Errors: invalid_argument (`part`), not_found (index out of
    /// range).
    pub fn fatctx_session_record_at(session: fatctx_session, part: u32, index: u64, record: *mut fatctx_session_record, error: *mut fatctx_error) -> i32;
    /// Makes a new handle for the model of the session, for further sessions and for the reason of the choice.
    pub fn fatctx_session_model(session: fatctx_session, model: *mut fatctx_model, error: *mut fatctx_error) -> i32;
    /// Gets the session as JSON, schema "fatctx.session/1": its records with their graphs, and the reason of the choice.
    pub fn fatctx_session_json(session: fatctx_session, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// Gets a view of a weight blob by index. Errors: not_found (index out of range).
    pub fn fatctx_session_weights(session: fatctx_session, index: u64, view: *mut fatctx_view, error: *mut fatctx_error) -> i32;
    /// Gets a tensor of any of these blobs. Errors: not_found; those of fatctx_container_tensors().
    pub fn fatctx_session_tensor(session: fatctx_session, name: *const c_char, view: *mut fatctx_view, error: *mut fatctx_error) -> i32;
    /// Opens, selects and views in one call: the context binary of `unit` for `options->device`. The view is the only
    /// handle. Errors: those of fatctx_model_open(), fatctx_model_begin_session() and fatctx_session_binary().
    pub fn fatctx_view_open(path: *const c_char, options: *const fatctx_model_options, unit: *const c_char, view: *mut fatctx_view, error: *mut fatctx_error) -> i32;
    /// Does the same for memory; `release` and `user` as in fatctx_container_open_memory().
    pub fn fatctx_view_open_memory(bytes: *const c_void, size: u64, options: *const fatctx_model_options, unit: *const c_char, release: fatctx_release, user: *mut c_void, view: *mut fatctx_view, error: *mut fatctx_error) -> i32;
    /// Bring all records of a session into memory (binaries first, then weights, each once) and give them back, as
    /// fatctx_container_prefetch() and the functions beside it do for one record.
    pub fn fatctx_session_prefetch(session: fatctx_session, options: *const fatctx_prefetch_options, report: *mut fatctx_prefetch_report, error: *mut fatctx_error) -> i32;
    /// Bring all records of a session into memory (binaries first, then weights, each once) and give them back, as
    /// fatctx_container_prefetch() and the functions beside it do for one record.
    pub fn fatctx_session_prefetch_in_background(session: fatctx_session, options: *const fatctx_prefetch_options, prefetch: *mut fatctx_prefetch, error: *mut fatctx_error) -> i32;
    /// Bring all records of a session into memory (binaries first, then weights, each once) and give them back, as
    /// fatctx_container_prefetch() and the functions beside it do for one record.
    pub fn fatctx_session_release(session: fatctx_session, options: *const fatctx_release_options, report: *mut fatctx_release_report, error: *mut fatctx_error) -> i32;
    pub fn fatctx_metrics_of_container(container: fatctx_container, report: *mut fatctx_report, error: *mut fatctx_error) -> i32;
    /// Takes the numbers of every file that this process has open; buffers in memory are not among them.
    pub fn fatctx_metrics_of_runtime(report: *mut fatctx_report, error: *mut fatctx_error) -> i32;
    /// Writes the views in the folder, used last first, as JSON, schema "fatctx.cache/1".
    ///
    /// Errors: not_found, operation_not_permitted (not a folder, of another user, or of another mode than 0700), io,
    /// no_resource.
    pub fn fatctx_view_cache_json(folder: *const c_char, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// Removes the files that were used longest ago until the rest take at most `limit_bytes` together (0: removes all of
    /// them). Views that show a removed file stay valid. `collection` may be null. Errors: as above.
    pub fn fatctx_view_cache_collect(folder: *const c_char, limit_bytes: u64, collection: *mut fatctx_view_cache_collection, error: *mut fatctx_error) -> i32;
    /// Takes one event, valid during the call only, when the outermost call of this library ends; on its thread, from
    /// several threads at once. Calls of this library from inside it are not recorded.
    pub fn fatctx_profile_options_init(options: *mut fatctx_profile_options, struct_size: usize);
    /// Discards the recorded events and starts anew. Errors: invalid_argument.
    pub fn fatctx_profile_start(options: *const fatctx_profile_options, error: *mut fatctx_error) -> i32;
    /// Get the events recorded so far, schema "fatctx.profile/1"; the second also stops the recorder. As CSV: an event a
    /// line if detailed, else a total a line, below a title line.
    pub fn fatctx_profile_current(report: *mut fatctx_report, error: *mut fatctx_error) -> i32;
    /// Get the events recorded so far, schema "fatctx.profile/1"; the second also stops the recorder. As CSV: an event a
    /// line if detailed, else a total a line, below a title line.
    pub fn fatctx_profile_stop(report: *mut fatctx_report, error: *mut fatctx_error) -> i32;
    /// Starts a trace. The first line names the schema. The sink is held until the trace is stopped or another is started.
    pub fn fatctx_trace_start(sink: fatctx_trace_sink, release: fatctx_release, user: *mut c_void, error: *mut fatctx_error) -> i32;
    /// Starts a trace. The first line names the schema. The sink is held until the trace is stopped or another is started.
    pub fn fatctx_trace_stop(error: *mut fatctx_error) -> i32;
    /// Repeats the calls of a trace of `size` bytes one after the other and compares their results. `difference` may be
    /// null; `report` is required. Errors: invalid_argument (naming the line, the value found and the values allowed).
    pub fn fatctx_trace_replay(trace: *const c_char, size: u64, difference: fatctx_difference, user: *mut c_void, report: *mut fatctx_replay_report, error: *mut fatctx_error) -> i32;
    /// Sets every field to its default. `struct_size` is sizeof(fatctx_open_options) as the caller knows it; the same holds
    /// for all _init functions. Does nothing for null.
    pub fn fatctx_open_options_init(options: *mut fatctx_open_options, struct_size: usize);
    /// Opens `path`, or joins this process's existing mapping of the same file. Reads the header and the table of contents
    /// (of one larger than 64 KiB, the head), never payload. `options`: null for the defaults, in all functions that take
    /// options. Errors: not_found, io, not_regular_file, truncated, trailing_data, bad_magic, unsupported, malformed,
    /// checksum_mismatch, limit_exceeded, bad_reference, changed, remote_filesystem, copy_not_allowed, no_resource,
    /// out_of_memory.
    pub fn fatctx_container_open(path: *const c_char, options: *const fatctx_open_options, container: *mut fatctx_container, error: *mut fatctx_error) -> i32;
    /// Does the same for `size` bytes from `offset` of an open file, such as an asset in an application's package; size = 0
    /// is "to the end of the file".
    ///
    /// Ownership:  `descriptor` stays the caller's and may be closed afterwards. On Windows it is the number of a HANDLE (of
    /// which 32 bits count), not a descriptor of the C runtime.
    pub fn fatctx_container_open_descriptor(descriptor: c_int, offset: u64, size: u64, options: *const fatctx_open_options, container: *mut fatctx_container, error: *mut fatctx_error) -> i32;
    /// Does the same for memory.
    ///
    /// Ownership:  `bytes` stay the caller's, and must exist unchanged until the last handle that uses them is closed.
    /// `release`, if it is not null, is called once then, with `user`. It is not called if the open fails.
    pub fn fatctx_container_open_memory(bytes: *const c_void, size: u64, options: *const fatctx_open_options, release: fatctx_release, user: *mut c_void, container: *mut fatctx_container, error: *mut fatctx_error) -> i32;
    /// Opens the same source again, with the same options: the present file at its path, or the present contents of the file
    /// behind its descriptor. `container`, its sessions and views keep the old bytes. Errors: as open.
    pub fn fatctx_container_reopen(container: fatctx_container, reopened: *mut fatctx_container, error: *mut fatctx_error) -> i32;
    /// Opens the same source again, with the same options: the present file at its path, or the present contents of the file
    /// behind its descriptor. `container`, its sessions and views keep the old bytes. Errors: as open.
    pub fn fatctx_container_close(container: fatctx_container, error: *mut fatctx_error) -> i32;
    /// Checks that the file is still the one that was opened, and that no mapped byte was lost. Errors: changed, io, and
    /// with the guard installed mapping_lost.
    pub fn fatctx_container_check(container: fatctx_container, error: *mut fatctx_error) -> i32;
    /// Gets the report of the open. Lifetime: texts and arrays borrow from `container`. Errors: those of the table of
    /// contents, if the open has read only its head.
    pub fn fatctx_container_report(container: fatctx_container, report: *mut fatctx_open_report, error: *mut fatctx_error) -> i32;
    pub fn fatctx_pack_options_init(options: *mut fatctx_pack_options, struct_size: usize);
    /// A record to pack. fatctx_packer_add() copies everything except the file at `source_path`, which publish reads. Null
    /// texts mean "not stated".
    pub fn fatctx_pack_record_init(record: *mut fatctx_pack_record, struct_size: usize);
    /// Writes the tensors of a file with weights, schema "fatctx.tensors/1", from its index and never their bytes. For
    /// inspection: `tensors_from_...` of a fatctx_pack_record takes them into a record. `format`: FATCTX_WEIGHTS_...
    ///
    /// Errors: not_found, io, not_regular_file, truncated, bad_magic, unsupported, malformed, trailing_data, limit_exceeded;
    /// each names tensor and byte.
    pub fn fatctx_tensors_json(path: *const c_char, format: u32, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// Makes a packer, which works for one call at a time: a second one meanwhile (another thread, a callback) answers
    /// operation_not_permitted.
    pub fn fatctx_packer_create(options: *const fatctx_pack_options, packer: *mut fatctx_packer, error: *mut fatctx_error) -> i32;
    /// Adds a record.
    ///
    /// Errors: invalid_argument (names, keys, tensors, a record without bytes; a target that contradicts the table of SoCs,
    /// or that no device gets), exists (the name, the full key, or with one_per_soc the SoC, already exists),
    /// operation_not_permitted (it was loaded, and `copy` is not set), stale_handle (of a table or a view),
    /// limit_exceeded; those of reading the archive.
    pub fn fatctx_packer_add(packer: fatctx_packer, record: *const fatctx_pack_record, error: *mut fatctx_error) -> i32;
    /// Writes a temporary beside `path`, syncs it, renames it to `path`. `report` may be null. On any error before the
    /// rename the temporary is removed and `path` is unchanged.
    ///
    /// Errors: exists, not_found, changed, bad_reference, no_space, io, limit_exceeded, unsupported, cancelled,
    /// commit_unknown.
    pub fn fatctx_packer_publish(packer: fatctx_packer, path: *const c_char, report: *mut fatctx_pack_report, error: *mut fatctx_error) -> i32;
    /// Writes the report of the last publish, schema "fatctx.packed/1": a row for each record, and the warnings.
    ///
    /// Errors: not_found (nothing was published).
    pub fn fatctx_packer_report_json(packer: fatctx_packer, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// Writes the report of the last publish, schema "fatctx.packed/1": a row for each record, and the warnings.
    ///
    /// Errors: not_found (nothing was published).
    pub fn fatctx_packer_close(packer: fatctx_packer, error: *mut fatctx_error) -> i32;
    /// Return words for numbers: "weight_blob", "float32"; "unknown" for a number that is not listed. Static storage.
    pub fn fatctx_record_type_name(r#type: u32) -> *const c_char;
    /// Return words for numbers: "weight_blob", "float32"; "unknown" for a number that is not listed. Static storage.
    pub fn fatctx_dtype_name(dtype: u32) -> *const c_char;
    /// Return numbers for words; 0 for an unknown word, and for null.
    pub fn fatctx_record_type_from_name(name: *const c_char) -> u32;
    /// Return numbers for words; 0 for an unknown word, and for null.
    pub fn fatctx_dtype_from_name(name: *const c_char) -> u32;
    /// bits an element takes; 0 for a number that is not listed
    pub fn fatctx_dtype_bits(dtype: u32) -> u32;
    /// Returns the bytes that a tensor takes: row-major, without gaps, types below a byte rounded up to whole bytes. `shape`
    /// may be null if `rank` is 0. Errors: invalid_argument (a type that is not listed), limit_exceeded (more bits than 64
    /// bits count).
    pub fn fatctx_tensor_size_bytes(dtype: u32, shape: *const u64, rank: u64, size_bytes: *mut u64, error: *mut fatctx_error) -> i32;
    /// Compute XXH3-128 in canonical byte order, into 16 bytes at `hash`: detects accidents, not forgeries. `bytes` may be
    /// null if `size` is 0. Errors of the second: not_found, io, not_regular_file, changed.
    pub fn fatctx_content_hash(bytes: *const c_void, size: u64, hash: *mut u8, error: *mut fatctx_error) -> i32;
    /// Compute XXH3-128 in canonical byte order, into 16 bytes at `hash`: detects accidents, not forgeries. `bytes` may be
    /// null if `size` is 0. Errors of the second: not_found, io, not_regular_file, changed.
    pub fn fatctx_content_hash_of_file(path: *const c_char, hash: *mut u8, error: *mut fatctx_error) -> i32;
    /// Gets the number of records.
    pub fn fatctx_container_record_count(container: fatctx_container, count: *mut u64, error: *mut fatctx_error) -> i32;
    /// Get a record by index in ascending record id, by id, by name. Lifetime: texts and weights borrow from `container`.
    ///
    /// Errors: not_found.
    pub fn fatctx_container_record_at(container: fatctx_container, index: u64, record: *mut fatctx_record_info, error: *mut fatctx_error) -> i32;
    /// Get a record by index in ascending record id, by id, by name. Lifetime: texts and weights borrow from `container`.
    ///
    /// Errors: not_found.
    pub fn fatctx_container_record(container: fatctx_container, record_id: u32, record: *mut fatctx_record_info, error: *mut fatctx_error) -> i32;
    /// Get a record by index in ascending record id, by id, by name. Lifetime: texts and weights borrow from `container`.
    ///
    /// Errors: not_found.
    pub fn fatctx_container_find(container: fatctx_container, name: *const c_char, record: *mut fatctx_record_info, error: *mut fatctx_error) -> i32;
    /// Writes the target of a record for people: "htp SM8650 soc 57 v75 vtcm 8". Errors: not_found.
    pub fn fatctx_container_record_target(container: fatctx_container, record_id: u32, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// Writes the ids of the other records that are stored in the same bytes as this one, ascending: the first `capacity` of
    /// them into `ids`, and their number into `count`. `ids` may be null if `capacity` is 0. Errors: not_found.
    pub fn fatctx_container_same_bytes(container: fatctx_container, record_id: u32, ids: *mut u32, capacity: u64, count: *mut u64, error: *mut fatctx_error) -> i32;
    /// Writes file, records and their description as JSON, schema "fatctx.info/1". `parts`: null for none of them.
    ///
    /// Errors: malformed, checksum_mismatch, io (the description); those of fatctx_container_tensors; with sharing also
    /// changed, truncated, limit_exceeded (records that together are more than 64 times as large as their file).
    pub fn fatctx_container_info_json(container: fatctx_container, parts: *const fatctx_info_parts, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// Writes the ranges of the file that a partial container should have and does not: those that one record needs, or with
    /// `record_id` 0 all of them, ascending. `count` gets their number, and `ranges` the first `capacity` of them.
    /// `ranges` may be null if `capacity` is 0. Without `read_payload` only holes of the file count, and no payload is read;
    /// with it, about a page of each 64 KiB is, and zeros count too. Errors: not_found, truncated, io.
    pub fn fatctx_container_absent(container: fatctx_container, record_id: u32, read_payload: u32, ranges: *mut fatctx_file_range, capacity: u64, count: *mut u64, error: *mut fatctx_error) -> i32;
    /// Write the bytes of a record as a stream, or as a file that appears whole or not at all; for a record with a codec the
    /// decoded bytes. They are read with pread, never through the map, and checked before they are handed on. `progress` may
    /// be null.
    ///
    /// Errors: not_found, unsupported, checksum_mismatch, codec, truncated, changed, io, cancelled; for a file also exists
    /// (without `overwrite`), no_space, commit_unknown.
    pub fn fatctx_container_stream(container: fatctx_container, record_id: u32, sink: fatctx_sink, user: *mut c_void, error: *mut fatctx_error) -> i32;
    /// Write the bytes of a record as a stream, or as a file that appears whole or not at all; for a record with a codec the
    /// decoded bytes. They are read with pread, never through the map, and checked before they are handed on. `progress` may
    /// be null.
    ///
    /// Errors: not_found, unsupported, checksum_mismatch, codec, truncated, changed, io, cancelled; for a file also exists
    /// (without `overwrite`), no_space, commit_unknown.
    pub fn fatctx_container_extract(container: fatctx_container, record_id: u32, path: *const c_char, overwrite: u32, progress: fatctx_progress, user: *mut c_void, error: *mut fatctx_error) -> i32;
    /// Reads the bytes of a record into `memory`, which has exactly its size: for consumers that cannot take mapped memory.
    /// Large records are read by several threads, checked there, and not left in the page cache. `options`, `report` and
    /// `progress` may be null. After an error the content of `memory` is undefined.
    ///
    /// Errors: invalid_argument (another size); those of fatctx_container_stream().
    pub fn fatctx_container_read(container: fatctx_container, record_id: u32, memory: *mut c_void, size: u64, options: *const fatctx_read_options, report: *mut fatctx_read_report, progress: fatctx_progress, user: *mut c_void, error: *mut fatctx_error) -> i32;
    /// Writes a report: FATCTX_FORMAT_JSON; of a profile also FATCTX_FORMAT_CSV. Errors: unsupported (another format),
    /// invalid_argument (a number that is none).
    pub fn fatctx_report_text(report: fatctx_report, format: u32, buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    /// Writes a report: FATCTX_FORMAT_JSON; of a profile also FATCTX_FORMAT_CSV. Errors: unsupported (another format),
    /// invalid_argument (a number that is none).
    pub fn fatctx_report_close(report: fatctx_report, error: *mut fatctx_error) -> i32;
    /// Measures sharing: the bytes that are stored once, and those that could be. Schema "fatctx.sharing/1". Reads and
    /// verifies every record whose pages could be shared: uncompressed, in a segment of its own. The others count as they
    /// are stored. Takes about 30 bytes of memory for each 4 KiB. `progress` may be null.
    ///
    /// Errors: checksum_mismatch, malformed, changed, truncated, io, cancelled, limit_exceeded (records that together are
    /// more than 64 times as large as their file).
    pub fn fatctx_container_sharing(container: fatctx_container, progress: fatctx_progress, user: *mut c_void, report: *mut fatctx_report, error: *mut fatctx_error) -> i32;
    /// Compares two containers: which records were added, removed, changed, retargeted, renamed or rebound. Schema
    /// "fatctx.diff/1". Reads metadata, and payload only of weight blobs that changed and have a tensor table in both.
    /// `same`, which may be null, gets 1 if records and descriptions are the same, else 0. `progress` may be null.
    ///
    /// Errors: checksum_mismatch, malformed, codec, limit_exceeded, unsupported, truncated, changed, mapping_lost, io,
    /// cancelled.
    pub fn fatctx_container_diff(before: fatctx_container, after: fatctx_container, progress: fatctx_progress, user: *mut c_void, same: *mut u32, report: *mut fatctx_report, error: *mut fatctx_error) -> i32;
    /// Writes the field tables of the format as JSON, schema "fatctx.layout/1".
    pub fn fatctx_layout_json(buffer: *mut c_char, capacity: usize, size: *mut usize, error: *mut fatctx_error) -> i32;
    pub fn fatctx_rewrite_options_init(options: *mut fatctx_rewrite_options, struct_size: usize);
    /// Writes the kept records to `target`, which may be `source`: that file is then locked against appends, and replaced.
    /// The new file keeps the uuid and has one generation, the one after the newest. It appears whole or not at all, and a
    /// process that has the old one mapped keeps it. `options`: null for the defaults. `report` (schema
    /// "fatctx.rewrite/1") may be null.
    ///
    /// Errors: not_found, exists, locked (another process is appending to `source`), changed (`source` was replaced
    /// meanwhile), not_regular_file (`source` is a link and would be replaced), not_found (an id of `keep`, the
    /// generation), invalid_argument (a kept binary refers to weights that are not kept), unsupported (a record that
    /// this version only lists), checksum_mismatch and codec (a record is damaged: remove it, or restore the file),
    /// cancelled, those of opening `source` and of fatctx_packer_publish. Except for commit_unknown, `target` is
    /// unchanged after an error.
    pub fn fatctx_rewrite_container(source: *const c_char, target: *const c_char, options: *const fatctx_rewrite_options, report: *mut fatctx_report, error: *mut fatctx_error) -> i32;
    /// Writes the records of all containers to `target`. If several have equal records under one name, it writes one. The
    /// order of `sources` changes a byte only if they disagree on the name of the model or on options of the whole
    /// container: then the first one counts, with a warning. Extents and granules are the largest that a source has.
    ///
    /// Errors: exists (two records of one name, or of one key, that differ), invalid_argument (fewer than two sources; an
    /// option that is not for a merge), those of fatctx_rewrite_container.
    pub fn fatctx_merge_containers(sources: *const *const c_char, count: u64, target: *const c_char, options: *const fatctx_rewrite_options, report: *mut fatctx_report, error: *mut fatctx_error) -> i32;
    /// Writes the ids to keep when a container is stripped to targets, for `keep`: context binaries that fit one of
    /// `filters`, the weights that they refer to, and other records with a backend in their key that fit one. Also those of
    /// records that belong to no target, such as source models, and weights that no binary refers to. Ascending: the first
    /// `capacity` of them into `ids`, and their number into `count`. `ids` may be null if `capacity` is 0.
    ///
    /// Errors: invalid_argument (there are no filters), no_match (no context binary fits one of them).
    pub fn fatctx_container_records_left(container: fatctx_container, filters: *const fatctx_target_filter, filter_count: u64, ids: *mut u32, capacity: u64, count: *mut u64, error: *mut fatctx_error) -> i32;
    /// Writes the ids of all records except `gone`, in the same way.
    ///
    /// Errors: not_found, invalid_argument (a description or a table of tensors, which is kept or removed with the record it
    /// describes).
    pub fn fatctx_container_records_without(container: fatctx_container, gone: *const u32, gone_count: u64, ids: *mut u32, capacity: u64, count: *mut u64, error: *mut fatctx_error) -> i32;
    /// Gets what this build and this system can do, and what this process has met so far.
    pub fn fatctx_file_mapping_describe(info: *mut fatctx_file_mapping_info, error: *mut fatctx_error) -> i32;
    /// Installs the guard against SIGBUS. Bytes of a file that was truncated while mapped then read as zeros and do not end
    /// the process. Every later call for that container, and fatctx_session_end(), answers mapping_lost. Process-wide and
    /// permanent; faults at other addresses go to the previous handler. Errors: unsupported, io.
    pub fn fatctx_mapping_guard_install(error: *mut fatctx_error) -> i32;
    /// Makes a handle of the callbacks. Errors: invalid_argument.
    pub fn fatctx_mapping_provider_create(callbacks: *const fatctx_mapping_callbacks, provider: *mut fatctx_mapping_provider, error: *mut fatctx_error) -> i32;
    /// Makes a handle of the callbacks. Errors: invalid_argument.
    pub fn fatctx_mapping_provider_close(provider: fatctx_mapping_provider, error: *mut fatctx_error) -> i32;
    /// Makes a handle of the callbacks. Errors: invalid_argument.
    pub fn fatctx_view_allocator_create(callbacks: *const fatctx_allocator_callbacks, allocator: *mut fatctx_view_allocator, error: *mut fatctx_error) -> i32;
    /// Makes a handle of the callbacks. Errors: invalid_argument.
    pub fn fatctx_view_allocator_close(allocator: fatctx_view_allocator, error: *mut fatctx_error) -> i32;
    /// Make views of a record's bytes, checked by the open policy before they are handed out.
    ///
    /// Errors: not_found, unsupported (also for a record with a codec), checksum_mismatch, not_present (a partial file does
    /// not have the bytes), io, truncated, changed.
    pub fn fatctx_container_acquire(container: fatctx_container, record_id: u32, view: *mut fatctx_view, error: *mut fatctx_error) -> i32;
    /// Make views of a record's bytes, checked by the open policy before they are handed out.
    ///
    /// Errors: not_found, unsupported (also for a record with a codec), checksum_mismatch, not_present (a partial file does
    /// not have the bytes), io, truncated, changed.
    pub fn fatctx_container_acquire_name(container: fatctx_container, name: *const c_char, view: *mut fatctx_view, error: *mut fatctx_error) -> i32;
    /// Waits for the checks that FATCTX_VERIFY_BESIDE_LOAD has begun for this container: of `count` records, or of all if
    /// `record_ids` is null. Errors: not_found; checksum_mismatch, io, truncated, of the first damaged record.
    pub fn fatctx_container_await_checks(container: fatctx_container, record_ids: *const u32, count: u64, error: *mut fatctx_error) -> i32;
    /// Gets how a view of the record would be made (fatctx_access_path_name()), without making one. Errors: not_found,
    /// unsupported, copy_not_allowed; for a recipe those of acquire, because its program is read.
    pub fn fatctx_container_access_path(container: fatctx_container, record_id: u32, access_path: *mut u32, error: *mut fatctx_error) -> i32;
    /// Returns the word of an access path: "direct", "stitched", ...; "unknown". Static storage.
    pub fn fatctx_access_path_name(access_path: u32) -> *const c_char;
    /// Gets the tensor table of a weight blob. Errors: as acquire; not_found if it has no table; malformed.
    pub fn fatctx_container_tensors(container: fatctx_container, weights_id: u32, table: *mut fatctx_tensor_table, error: *mut fatctx_error) -> i32;
    /// Gets a view of one tensor of a weight blob. Compares the hashes of its own bytes and not of the whole blob, and reads
    /// a few pages of the table. Errors: those of fatctx_container_tensors(); not_found, naming the nearest name.
    pub fn fatctx_container_tensor(container: fatctx_container, weights_id: u32, name: *const c_char, view: *mut fatctx_view, error: *mut fatctx_error) -> i32;
    pub fn fatctx_view_close(view: fatctx_view, error: *mut fatctx_error) -> i32;
    /// Makes another handle to the same bytes, closed on its own.
    pub fn fatctx_view_copy(view: fatctx_view, copy: *mut fatctx_view, error: *mut fatctx_error) -> i32;
    /// Makes another handle to the same bytes, closed on its own.
    pub fn fatctx_view_describe(view: fatctx_view, info: *mut fatctx_view_info, error: *mut fatctx_error) -> i32;
    /// Gets the facts of the tensor of a view. Lifetime: name, shape and strides borrow from `view`.
    ///
    /// Errors: invalid_argument if it is a view of a whole record.
    pub fn fatctx_view_tensor(view: fatctx_view, tensor: *mut fatctx_tensor_info, error: *mut fatctx_error) -> i32;
    /// Gets the number of tensors, and the id of the weight blob; `weights_id` may be null.
    pub fn fatctx_tensor_table_size(table: fatctx_tensor_table, size: *mut u64, weights_id: *mut u32, error: *mut fatctx_error) -> i32;
    /// Gets a tensor by index in the bytewise order of names. Lifetime: name and shape borrow from `table`.
    ///
    /// Errors: not_found.
    pub fn fatctx_tensor_table_at(table: fatctx_tensor_table, index: u64, tensor: *mut fatctx_tensor_info, error: *mut fatctx_error) -> i32;
    /// Make views of tensors, by name or by index. Errors: not_found, naming the nearest name.
    pub fn fatctx_tensor_table_view(table: fatctx_tensor_table, name: *const c_char, view: *mut fatctx_view, error: *mut fatctx_error) -> i32;
    /// Make views of tensors, by name or by index. Errors: not_found, naming the nearest name.
    pub fn fatctx_tensor_table_view_at(table: fatctx_tensor_table, index: u64, view: *mut fatctx_view, error: *mut fatctx_error) -> i32;
    /// Make views of tensors, by name or by index. Errors: not_found, naming the nearest name.
    pub fn fatctx_tensor_table_close(table: fatctx_tensor_table, error: *mut fatctx_error) -> i32;
    /// Makes ranges over a view of a whole record, which it shares. It holds the mapping until it is closed, and may outlive
    /// the view. `hooks` may be null. Errors: invalid_argument (a view of a tensor).
    pub fn fatctx_range_access_create(view: fatctx_view, hooks: *const fatctx_range_hooks, access: *mut fatctx_range_access, error: *mut fatctx_error) -> i32;
    /// Provides a range. `offset` and `size` count from the first byte of the record. Errors: invalid_argument (an empty
    /// range, or one that leaves the record), those of the hook.
    pub fn fatctx_range_access_provide(access: fatctx_range_access, offset: u64, size: u64, range: *mut fatctx_range, error: *mut fatctx_error) -> i32;
    /// Gives a range back. Errors: stale_handle (never provided, or released already).
    pub fn fatctx_range_access_release(access: fatctx_range_access, range_id: u64, error: *mut fatctx_error) -> i32;
    /// Gets the number of ranges that were provided and not released.
    pub fn fatctx_range_access_outstanding(access: fatctx_range_access, count: *mut u64, error: *mut fatctx_error) -> i32;
    /// Closes the handle and releases the remaining ranges, if no other call is using it.
    pub fn fatctx_range_access_close(access: fatctx_range_access, error: *mut fatctx_error) -> i32;
}
