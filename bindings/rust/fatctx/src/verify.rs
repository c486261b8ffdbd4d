//! Verification: every byte of a file, or of one record.

use std::ops::{ControlFlow, Range};
use std::os::raw::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;

use crate::container::Container;
use crate::error::{Error, Result};
use crate::ffi::{call, path};
use crate::open::OpenOptions;
use crate::sys;

/// Options of a verification. The defaults check the whole file.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    strict: bool,
    record: u32,
    threads: u32,
    range: Range<u64>,
    open: OpenOptions,
}

impl VerifyOptions {
    /// Makes the default options.
    pub fn new() -> VerifyOptions {
        VerifyOptions::default()
    }

    /// Checks the whole file as if it were for delivery.
    pub fn strict(mut self, strict: bool) -> VerifyOptions {
        self.strict = strict;
        self
    }

    /// Checks this record only, of an open container.
    pub fn record(mut self, id: u32) -> VerifyOptions {
        self.record = id;
        self
    }

    /// Checks only these bytes: of the file, or of the record that is checked.
    pub fn range(mut self, range: Range<u64>) -> VerifyOptions {
        self.range = range;
        self
    }

    /// Sets the number of threads; by default that of the processors, at most 8.
    pub fn threads(mut self, threads: u32) -> VerifyOptions {
        self.threads = threads;
        self
    }

    /// Sets keys, generations and limits for [`verify_file`].
    pub fn open_options(mut self, open: OpenOptions) -> VerifyOptions {
        self.open = open;
        self
    }
}

/// The result of a verification.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Bytes that were read and compared.
    pub checked_bytes: u64,
    /// Everything that is wrong; each finding names its place.
    pub findings: Vec<Error>,
    /// Of the findings: bytes of the file that are not present.
    pub absent_bytes: u64,
    /// The container has a signature.
    pub signed: bool,
    /// The signature was made with one of the trusted keys.
    pub signature_verified: bool,
}

impl VerifyReport {
    /// Returns true if nothing is wrong.
    pub fn is_whole(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Checks a file, also one that is too damaged to be opened. Damage is a finding and not an error.
pub fn verify_file(file: impl AsRef<Path>, options: &VerifyOptions) -> Result<VerifyReport> {
    let file = path(file.as_ref())?;
    verified(
        options,
        |_, _| ControlFlow::Continue(()),
        |options, report, error| unsafe { sys::fatctx_verify_file(file.as_ptr(), options, report, error) },
    )
}

impl Container {
    /// Checks the container. Damage is a finding and not an error.
    pub fn verify(&self, options: &VerifyOptions) -> Result<VerifyReport> {
        self.verify_with_progress(options, |_, _| ControlFlow::Continue(()))
    }

    /// Does the same and reports bytes that are done, and all of them.
    pub fn verify_with_progress<F: FnMut(u64, u64) -> ControlFlow<()>>(
        &self,
        options: &VerifyOptions,
        progress: F,
    ) -> Result<VerifyReport> {
        verified(options, progress, |options, report, error| unsafe {
            sys::fatctx_container_verify(self.raw(), options, report, error)
        })
    }
}

/// The two callbacks of a verification share one `user`.
struct Watch<F> {
    progress: F,
    findings: Vec<Error>,
    panic: Option<Box<dyn std::any::Any + Send>>,
}

unsafe extern "C" fn on_progress<F: FnMut(u64, u64) -> ControlFlow<()>>(
    user: *mut c_void,
    done: u64,
    total: u64,
) -> i32 {
    let watch = unsafe { &mut *user.cast::<Watch<F>>() };
    let progress = &mut watch.progress;
    match catch_unwind(AssertUnwindSafe(|| progress(done, total))) {
        Ok(ControlFlow::Continue(())) => 0,
        Ok(ControlFlow::Break(())) => 1,
        Err(panic) => {
            watch.panic = Some(panic);
            1
        }
    }
}

unsafe extern "C" fn on_finding<F>(user: *mut c_void, finding: *const sys::fatctx_error) {
    let watch = unsafe { &mut *user.cast::<Watch<F>>() };
    watch.findings.push(Error::of(unsafe { &*finding }));
}

fn verified<F: FnMut(u64, u64) -> ControlFlow<()>>(
    options: &VerifyOptions,
    progress: F,
    function: impl FnOnce(*const sys::fatctx_verify_options, *mut sys::fatctx_verify_report, *mut sys::fatctx_error) -> i32,
) -> Result<VerifyReport> {
    let mut watch = Watch { progress, findings: Vec::new(), panic: None };
    let mut report = sys::fatctx_verify_report::default();
    let result = options.open.with_raw(|open| {
        let raw = sys::fatctx_verify_options {
            record_id: options.record,
            finding: Some(on_finding::<F>),
            progress: Some(on_progress::<F>),
            user: (&mut watch as *mut Watch<F>).cast(),
            strict: u32::from(options.strict),
            threads: options.threads,
            range_offset: options.range.start,
            range_size: options.range.end.saturating_sub(options.range.start),
            open,
            ..Default::default()
        };
        call(|error| function(&raw, &mut report, error))
    });
    if let Some(panic) = watch.panic {
        std::panic::resume_unwind(panic);
    }
    result?;
    Ok(VerifyReport {
        checked_bytes: report.checked_bytes,
        findings: watch.findings,
        absent_bytes: report.absent_bytes,
        signed: report.signed_file != 0,
        signature_verified: report.signature_verified != 0,
    })
}

/// Reads a public key that `fatctx keygen` wrote.
pub fn read_public_key(file: impl AsRef<Path>) -> Result<[u8; 32]> {
    let file = path(file.as_ref())?;
    let mut key = [0; 32];
    call(|error| unsafe { sys::fatctx_read_public_key(file.as_ptr(), key.as_mut_ptr(), error) })?;
    Ok(key)
}
