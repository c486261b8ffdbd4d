//! Devices: the facts about a machine.

use std::fmt;
use std::sync::Arc;

use crate::error::Result;
use crate::ffi::{call, owner, text, Texts};
use crate::sys;

owner!(Handle, fatctx_device, fatctx_device_close);

/// A machine, as it was detected or described. Clones are the same device.
#[derive(Clone)]
pub struct Device {
    handle: Arc<Handle>,
}

impl Device {
    fn made(function: impl FnOnce(*mut sys::fatctx_device, *mut sys::fatctx_error) -> i32) -> Result<Device> {
        let mut handle = sys::fatctx_device::default();
        call(|error| function(&mut handle, error))?;
        Ok(Device { handle: Arc::new(Handle(handle)) })
    }

    /// Asks this machine. An unknown machine is a device whose facts are empty, and not an error.
    pub fn detect() -> Result<Device> {
        Device::made(|device, error| unsafe { sys::fatctx_device_detect(std::ptr::null(), device, error) })
    }

    /// Reads a device that is given by hand: "x86-64-v3", "aarch64+dotprod+i8mm", "v75", "SM8750", "69", "kernel:639",
    /// or JSON of schema "fatctx.device/1".
    pub fn parse(description: &str) -> Result<Device> {
        let mut texts = Texts::default();
        let description = texts.add(description)?;
        Device::made(|device, error| unsafe { sys::fatctx_device_parse(description, device, error) })
    }

    /// Returns the NPU of a detected device, which elsewhere is its processor.
    pub fn npu(&self) -> Result<Device> {
        Device::made(|npu, error| unsafe { sys::fatctx_device_npu(self.raw(), npu, error) })
    }

    /// Returns the facts as JSON, schema "fatctx.device/1".
    pub fn json(&self) -> Result<String> {
        text(|buffer, capacity, size, error| unsafe {
            sys::fatctx_device_json(self.raw(), buffer, capacity, size, error)
        })
    }

    /// Returns how the device was found as JSON, schema "fatctx.detection/1".
    pub fn detection_json(&self) -> Result<String> {
        text(|buffer, capacity, size, error| unsafe {
            sys::fatctx_device_detection_json(self.raw(), buffer, capacity, size, error)
        })
    }

    pub(crate) fn of(handle: sys::fatctx_device) -> Device {
        Device { handle: Arc::new(Handle(handle)) }
    }

    pub(crate) fn raw(&self) -> sys::fatctx_device {
        self.handle.0
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Device").field(&self.json().unwrap_or_default()).finish()
    }
}
