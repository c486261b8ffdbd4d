//! Choosing: models, sessions, and why a record was chosen.

use std::ffi::CString;
use std::fmt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use crate::container::Container;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::ffi::{call, copied, owner, path, slice, static_text, text, Texts};
use crate::memory::PrefetchReport;
use crate::open::OpenOptions;
use crate::sys;
use crate::tensor::TensorView;
use crate::view::RecordView;

/// What happens if the best record is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnDamage {
    /// The session fails.
    Fail,
    /// The best target of which every record is whole is chosen.
    Next,
}

/// The bytes that are accepted as a plain context binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RawBinaries {
    /// Those of a known format.
    Known,
    /// Any that are neither container nor DLC: the caller vouches that they are for the device.
    Any,
    /// None.
    Refuse,
}

/// How well a record fits the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Level {
    /// It fully uses the device.
    Optimal,
    /// It runs, and one compiled for the device would be better.
    PreferRecompilation,
    /// It runs everywhere.
    Fallback,
    /// It does not run.
    Unsupported,
    /// A level of a newer version, or none.
    Other(u32),
}

impl Level {
    fn of(number: u32) -> Level {
        match number {
            sys::FATCTX_LEVEL_OPTIMAL => Level::Optimal,
            sys::FATCTX_LEVEL_PREFER_RECOMPILATION => Level::PreferRecompilation,
            sys::FATCTX_LEVEL_FALLBACK => Level::Fallback,
            sys::FATCTX_LEVEL_UNSUPPORTED => Level::Unsupported,
            other => Level::Other(other),
        }
    }
}

/// Options of a choice. The defaults are those of the library: this machine, the only group, no lower architecture.
#[derive(Clone, Debug)]
pub struct ModelOptions {
    raw: sys::fatctx_model_options,
    open: OpenOptions,
    device: Option<Device>,
    group: Option<String>,
    record_override: Option<String>,
    max_sdk: Option<String>,
}

// The raw struct holds no pointer until a call fills it in.
unsafe impl Send for ModelOptions {}
unsafe impl Sync for ModelOptions {}

impl Default for ModelOptions {
    fn default() -> ModelOptions {
        ModelOptions::new()
    }
}

impl ModelOptions {
    /// Makes the default options.
    pub fn new() -> ModelOptions {
        let mut raw = sys::fatctx_model_options::default();
        unsafe { sys::fatctx_model_options_init(&mut raw, std::mem::size_of_val(&raw)) };
        ModelOptions { raw, open: OpenOptions::new(), device: None, group: None, record_override: None, max_sdk: None }
    }

    /// Sets the options of the open; a choice from an open container does not use them.
    pub fn open_options(mut self, open: OpenOptions) -> ModelOptions {
        self.open = open;
        self
    }

    /// Chooses for this device instead of this machine.
    pub fn device(mut self, device: &Device) -> ModelOptions {
        self.device = Some(device.clone());
        self
    }

    /// Chooses from this group.
    pub fn group(mut self, group: impl Into<String>) -> ModelOptions {
        self.group = Some(group.into());
        self
    }

    /// Takes the context binary with this name. `force` skips the comparison with the device.
    pub fn record(mut self, name: impl Into<String>, force: bool) -> ModelOptions {
        self.record_override = Some(name.into());
        self.raw.force = u32::from(force);
        self
    }

    /// Accepts only records that fully use the device.
    pub fn strict(mut self, strict: bool) -> ModelOptions {
        self.raw.strict = u32::from(strict);
        self
    }

    /// Accepts records of a lower architecture.
    pub fn allow_lower_arch(mut self, allow: bool) -> ModelOptions {
        self.raw.allow_lower_arch = u32::from(allow);
        self
    }

    /// Accepts no generic record as a fallback.
    pub fn refuse_generic(mut self, refuse: bool) -> ModelOptions {
        self.raw.refuse_generic = u32::from(refuse);
        self
    }

    /// Accepts units of different targets if no target has all of them.
    pub fn mix_targets(mut self, mix: bool) -> ModelOptions {
        self.raw.mix_targets = u32::from(mix);
        self
    }

    /// Says what happens if the best record is damaged.
    pub fn on_damage(mut self, on_damage: OnDamage) -> ModelOptions {
        self.raw.on_damage = match on_damage {
            OnDamage::Fail => sys::FATCTX_ON_DAMAGE_FAIL,
            OnDamage::Next => sys::FATCTX_ON_DAMAGE_NEXT,
        };
        self
    }

    /// Refuses records of a newer SDK: "2.50".
    pub fn max_sdk(mut self, version: impl Into<String>) -> ModelOptions {
        self.max_sdk = Some(version.into());
        self
    }

    /// Says which bytes are accepted as a plain context binary.
    pub fn raw_binaries(mut self, raw_binaries: RawBinaries) -> ModelOptions {
        self.raw.raw_binaries = match raw_binaries {
            RawBinaries::Known => sys::FATCTX_RAW_BINARIES_KNOWN,
            RawBinaries::Any => sys::FATCTX_RAW_BINARIES_ANY,
            RawBinaries::Refuse => sys::FATCTX_RAW_BINARIES_REFUSE,
        };
        self
    }

    /// Calls a function with the options as C has them.
    fn with_raw<T>(&self, function: impl FnOnce(*const sys::fatctx_model_options) -> Result<T>) -> Result<T> {
        let mut texts = Texts::default();
        let mut raw = self.raw;
        raw.group = texts.add_optional(&self.group)?;
        raw.record_override = texts.add_optional(&self.record_override)?;
        raw.max_sdk = texts.add_optional(&self.max_sdk)?;
        raw.device = self.device.as_ref().map_or(Default::default(), Device::raw);
        self.open.with_raw(|open| {
            raw.open = open;
            function(&raw)
        })
    }
}

owner!(ModelHandle, fatctx_model, fatctx_model_close);

/// An opened file with the target that was chosen for a device. Clones are the same model.
#[derive(Clone)]
pub struct Model {
    handle: Arc<ModelHandle>,
}

/// The result of a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Selection {
    /// The lowest level among the chosen records.
    pub level: Level,
    /// The tier of the rules of selection, 0 to 7.
    pub tier: i32,
    /// The chosen records, one per unit.
    pub chosen: Vec<u32>,
    /// The group that was judged.
    pub group: String,
    /// Warnings: "vtcm_unverified".
    pub warnings: Vec<String>,
}

/// The judgement of one context binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// The record.
    pub record_id: u32,
    /// How well it fits.
    pub level: Level,
    /// Its tier; `None` if it does not fit.
    pub tier: Option<i32>,
    /// The rule that refused it: "A1"; `None` for a chosen one.
    pub axis: Option<&'static str>,
    /// It was chosen.
    pub chosen: bool,
}

impl Model {
    /// Opens a container, a DLC or a plain binary, and chooses.
    pub fn open(file: impl AsRef<Path>, options: &ModelOptions) -> Result<Model> {
        let file = path(file.as_ref())?;
        options.with_raw(|options| {
            Model::made(|model, error| unsafe { sys::fatctx_model_open(file.as_ptr(), options, model, error) })
        })
    }

    fn made(function: impl FnOnce(*mut sys::fatctx_model, *mut sys::fatctx_error) -> i32) -> Result<Model> {
        let mut handle = sys::fatctx_model::default();
        call(|error| function(&mut handle, error))?;
        Ok(Model { handle: Arc::new(ModelHandle(handle)) })
    }

    fn raw(&self) -> sys::fatctx_model {
        self.handle.0
    }

    /// Returns the container. A DLC and a plain binary have none.
    pub fn container(&self) -> Result<Container> {
        Container::opened(|container, error| unsafe { sys::fatctx_model_container(self.raw(), container, error) })
    }

    /// Returns the device for which it was chosen.
    pub fn device(&self) -> Result<Device> {
        let mut handle = sys::fatctx_device::default();
        call(|error| unsafe { sys::fatctx_model_device(self.raw(), &mut handle, error) })?;
        Ok(Device::of(handle))
    }

    /// Explains in several lines why this record was chosen and no other.
    pub fn explain(&self) -> Result<String> {
        self.explained(sys::FATCTX_FORMAT_TEXT)
    }

    /// Explains the same as JSON, schema "fatctx.selection/1".
    pub fn explain_json(&self) -> Result<String> {
        self.explained(sys::FATCTX_FORMAT_JSON)
    }

    fn explained(&self, format: u32) -> Result<String> {
        text(|buffer, capacity, size, error| unsafe {
            sys::fatctx_model_explain(self.raw(), format, buffer, capacity, size, error)
        })
    }

    fn read_selection(&self) -> Result<sys::fatctx_selection> {
        let mut raw = sys::fatctx_selection::default();
        call(|error| unsafe { sys::fatctx_model_selection(self.raw(), &mut raw, error) })?;
        Ok(raw)
    }

    /// Returns the result of the choice.
    pub fn selection(&self) -> Result<Selection> {
        let raw = self.read_selection()?;
        let mut warnings = Vec::new();
        for index in 0..raw.warning_count {
            let mut warning = sys::fatctx_text::default();
            call(|error| unsafe { sys::fatctx_model_warning(self.raw(), index, &mut warning, error) })?;
            warnings.push(unsafe { copied(warning) });
        }
        // Texts and numbers borrow from the model, which is open during this call.
        unsafe {
            Ok(Selection {
                level: Level::of(raw.level),
                tier: raw.tier,
                chosen: slice(raw.chosen, u64::from(raw.chosen_count)).to_vec(),
                group: copied(raw.group),
                warnings,
            })
        }
    }

    /// Returns the judgement of every context binary.
    pub fn verdicts(&self) -> Result<Vec<Verdict>> {
        let mut verdicts = Vec::new();
        for index in 0..self.read_selection()?.verdict_count {
            let mut raw = sys::fatctx_verdict::default();
            call(|error| unsafe { sys::fatctx_model_verdict(self.raw(), index, &mut raw, error) })?;
            verdicts.push(Verdict {
                record_id: raw.record_id,
                level: Level::of(raw.level),
                tier: Some(raw.tier).filter(|&tier| tier >= 0),
                axis: Some(raw.axis)
                    .filter(|&axis| axis != 0)
                    .map(|axis| static_text(unsafe { sys::fatctx_axis_id(axis) })),
                chosen: raw.chosen != 0,
            });
        }
        Ok(verdicts)
    }

    /// Returns the errors of damaged records that would have been chosen, with [`OnDamage::Next`].
    pub fn damaged(&self) -> Result<Vec<Error>> {
        let mut damaged = Vec::new();
        for index in 0..self.read_selection()?.damaged_count {
            let mut damage = sys::fatctx_error::default();
            call(|error| unsafe { sys::fatctx_model_damaged(self.raw(), index, &mut damage, error) })?;
            damaged.push(Error::of(&damage));
        }
        Ok(damaged)
    }

    /// Begins a session. The second and later ones cost no reading.
    pub fn begin_session(&self) -> Result<Session> {
        let mut handle = sys::fatctx_session::default();
        call(|error| unsafe { sys::fatctx_model_begin_session(self.raw(), &mut handle, error) })?;
        Ok(Session { handle: SessionHandle(handle) })
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Model").field("handle", &self.raw().id).finish()
    }
}

impl Container {
    /// Chooses the records for a device.
    pub fn select(&self, options: &ModelOptions) -> Result<Model> {
        options.with_raw(|options| {
            Model::made(|model, error| unsafe { sys::fatctx_model_choose(self.raw(), options, model, error) })
        })
    }

    /// Explains the choice, also if no record fits.
    pub fn explain(&self, options: &ModelOptions) -> Result<String> {
        self.explained(options, sys::FATCTX_FORMAT_TEXT)
    }

    /// Explains the same as JSON, schema "fatctx.selection/1".
    pub fn explain_json(&self, options: &ModelOptions) -> Result<String> {
        self.explained(options, sys::FATCTX_FORMAT_JSON)
    }

    fn explained(&self, options: &ModelOptions, format: u32) -> Result<String> {
        options.with_raw(|options| {
            text(|buffer, capacity, size, error| unsafe {
                sys::fatctx_container_explain(self.raw(), options, format, buffer, capacity, size, error)
            })
        })
    }
}

owner!(SessionHandle, fatctx_session, fatctx_session_close);

/// Views of the chosen binaries and of the weights that they share.
pub struct Session {
    handle: SessionHandle,
}

impl Session {
    fn raw(&self) -> sys::fatctx_session {
        self.handle.0
    }

    fn describe(&self) -> Result<sys::fatctx_session_info> {
        let mut info = sys::fatctx_session_info::default();
        call(|error| unsafe { sys::fatctx_session_describe(self.raw(), &mut info, error) })?;
        Ok(info)
    }

    /// Returns the context binary of the only unit.
    pub fn binary(&self) -> Result<RecordView> {
        RecordView::made(|view, error| unsafe { sys::fatctx_session_binary(self.raw(), ptr::null(), view, error) })
    }

    /// Returns the context binary of a unit. The error lists the units.
    pub fn binary_of(&self, unit: &str) -> Result<RecordView> {
        let mut texts = Texts::default();
        let unit = texts.add(unit)?;
        RecordView::made(|view, error| unsafe { sys::fatctx_session_binary(self.raw(), unit, view, error) })
    }

    /// Returns the units that have a context binary, in their order.
    pub fn units(&self) -> Result<Vec<String>> {
        let count = self.describe()?.binary_count;
        (0..count).map(|index| self.record_at(sys::FATCTX_SESSION_BINARIES, index, |raw| raw.unit)).collect()
    }

    /// Returns the names of the weight blobs that the binaries refer to, in the order of [`Session::weights`].
    pub fn weight_names(&self) -> Result<Vec<String>> {
        let count = self.describe()?.weights_count;
        (0..count).map(|index| self.record_at(sys::FATCTX_SESSION_WEIGHTS, index, |raw| raw.name)).collect()
    }

    fn record_at(
        &self,
        part: u32,
        index: u64,
        field: impl FnOnce(&sys::fatctx_session_record) -> sys::fatctx_text,
    ) -> Result<String> {
        let mut raw = sys::fatctx_session_record::default();
        call(|error| unsafe { sys::fatctx_session_record_at(self.raw(), part, index, &mut raw, error) })?;
        Ok(unsafe { copied(field(&raw)) })
    }

    /// Returns views of the weight blobs that the binaries refer to.
    pub fn weights(&self) -> Result<Vec<RecordView>> {
        (0..self.describe()?.weights_count)
            .map(|index| {
                RecordView::made(|view, error| unsafe { sys::fatctx_session_weights(self.raw(), index, view, error) })
            })
            .collect()
    }

    /// Returns a tensor of any of these blobs.
    pub fn tensor(&self, name: &str) -> Result<TensorView> {
        let mut texts = Texts::default();
        let name = texts.add(name)?;
        TensorView::made(|view, error| unsafe { sys::fatctx_session_tensor(self.raw(), name, view, error) })
    }

    /// Returns the model, for further sessions.
    pub fn model(&self) -> Result<Model> {
        Model::made(|model, error| unsafe { sys::fatctx_session_model(self.raw(), model, error) })
    }

    /// Returns the session as JSON, schema "fatctx.session/1".
    pub fn json(&self) -> Result<String> {
        text(|buffer, capacity, size, error| unsafe {
            sys::fatctx_session_json(self.raw(), buffer, capacity, size, error)
        })
    }

    /// Brings all records of the session into memory, at most `max_bytes` of them (`u64::MAX`: all).
    pub fn prefetch(&self, max_bytes: u64) -> Result<PrefetchReport> {
        let options = sys::fatctx_prefetch_options { max_bytes, ..Default::default() };
        let mut raw = sys::fatctx_prefetch_report::default();
        call(|error| unsafe { sys::fatctx_session_prefetch(self.raw(), &options, &mut raw, error) })?;
        Ok(PrefetchReport::of(&raw))
    }

    /// Ends the session and says whether results computed from its views can be trusted. If the file looks different than
    /// at the beginning, its records are verified again. Views stay valid.
    pub fn end(self) -> Result<()> {
        let raw = self.raw();
        // The call closes the handle, also if it fails.
        std::mem::forget(self.handle);
        call(|error| unsafe { sys::fatctx_session_end(raw, error) })
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Session").field("handle", &self.raw().id).finish()
    }
}

/// Opens, selects and views in one call: the context binary of `unit`, or of the only unit.
///
/// ```
/// # use fatctx::{ModelOptions, PackRecord, Packer};
/// # let path = std::env::temp_dir().join(format!("fatctx-one-{}.fatctx", std::process::id()));
/// # let mut packer = Packer::new()?;
/// # packer.add(PackRecord::context_binary("v1", b"code").backend("cpu").arch("x86-64-v1").generic(true))?;
/// # packer.publish(&path)?;
/// # let device = fatctx::Device::parse("x86-64-v2")?;
/// # let options = ModelOptions::new().device(&device).allow_lower_arch(true);
/// let binary = fatctx::open_view(&path, &options, None)?;
/// assert_eq!(&binary[..], b"code");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), fatctx::Error>(())
/// ```
pub fn open_view(file: impl AsRef<Path>, options: &ModelOptions, unit: Option<&str>) -> Result<RecordView> {
    let file: CString = path(file.as_ref())?;
    let mut texts = Texts::default();
    let unit = unit.map_or(Ok(ptr::null()), |unit| texts.add(unit))?;
    options.with_raw(|options| {
        RecordView::made(|view, error| unsafe { sys::fatctx_view_open(file.as_ptr(), options, unit, view, error) })
    })
}
