//! Packs two binaries and their shared weights, then adds a third in place: pack model.fatctx

use fatctx::{AppendOptions, Appender, DType, PackOptions, PackRecord, PackTensor, Packer};

fn main() -> fatctx::Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or_else(|| "model.fatctx".into());
    let weights: Vec<u8> = (0..1024).flat_map(|number| (number as f32).to_le_bytes()).collect();

    let mut packer = Packer::with_options(PackOptions::new().model_name("net").overwrite(true))?;
    let matrix = PackTensor::new("layer.weight", DType::F32, [32, 32]);
    packer.add(PackRecord::weight_blob("net.weights", &weights).tensors([matrix]))?;
    for arch in ["x86-64-v2", "x86-64-v3"] {
        let code = format!("the code for {arch}");
        let record = PackRecord::context_binary(format!("net.{arch}"), code.as_bytes());
        packer.add(record.backend("cpu").arch(arch).weights(["net.weights"]))?;
    }
    let report = packer.publish(&path)?;
    println!("{} records in {} bytes", report.record_count, report.file_size);

    let mut appender = Appender::open(&path, AppendOptions::new())?; // readers go on meanwhile
    let code = PackRecord::context_binary("net.x86-64-v4", b"the code for x86-64-v4");
    appender.add(code.backend("cpu").arch("x86-64-v4").weights(["net.weights"]))?;
    println!("generation {}", appender.commit()?.generation);
    Ok(())
}
