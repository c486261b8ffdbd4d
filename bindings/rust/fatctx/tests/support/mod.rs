//! Folders and containers of the tests.
#![allow(dead_code)] // each test program uses some of it

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use fatctx::{DType, PackOptions, PackRecord, PackTensor, Packer};

/// A folder that is deleted with its content.
pub struct TempDir {
    path: PathBuf,
}

impl TempDir {
    pub fn new() -> TempDir {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("fatctx-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        TempDir { path }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Bytes that tell every place from its neighbours.
pub fn pattern(size: usize, seed: u8) -> Vec<u8> {
    (0..size).map(|at| (at as u8).wrapping_mul(31).wrapping_add((at >> 8) as u8).wrapping_add(seed)).collect()
}

pub fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub const VALUES: [f32; 6] = [1.5, -2.25, 3.0, 4.75, -5.5, 6.125];

/// A container with two binaries for processors, their weights with two tensors, and a compressed note.
pub fn sample(path: &Path) {
    let mut packer = Packer::with_options(PackOptions::new().model_name("net")).unwrap();
    add_sample(&mut packer);
    packer.publish(path).unwrap();
}

pub fn add_sample(packer: &mut Packer) {
    let mut weights = floats(&VALUES);
    weights.extend([7u8, 8, 9, 10]);
    let tensors = [
        PackTensor::new("layer.weight", DType::F32, [2, 3]),
        PackTensor::new("layer.zero_point", DType::U8, [4]).offset(24),
    ];
    packer.add(PackRecord::weight_blob("net.weights", &weights).tensors(tensors)).unwrap();
    for (arch, size) in [("x86-64-v2", 5000), ("x86-64-v3", 6000)] {
        let code = pattern(size, size as u8);
        let record = PackRecord::context_binary(format!("net.{arch}"), &code)
            .backend("cpu")
            .arch(arch)
            .weights(["net.weights"])
            .producer("test 1.0");
        packer.add(record).unwrap();
    }
    let note = "what the model is for. ".repeat(500);
    packer.add(PackRecord::opaque("note", note.as_bytes()).codec(fatctx::Codec::Lz4)).unwrap();
}
