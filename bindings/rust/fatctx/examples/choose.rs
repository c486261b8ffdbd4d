//! Opens a container, says which record fits this machine and why, and looks at its bytes: choose model.fatctx

use fatctx::{Container, ModelOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: choose FILE")?;
    let container = Container::open(path)?; // maps the file once per process
    for record in container.records()? {
        let record = record?;
        println!("{:>3} {:<14} {} ({} bytes)", record.id(), record.record_type().name(), record.name(), record.size());
    }

    let model = container.select(&ModelOptions::new())?; // for this machine
    println!("{}", model.explain()?); // why this record and no other

    let session = model.begin_session()?;
    let binary = session.binary()?; // derefs to &[u8]: mapped, not copied
    println!("binary: {} bytes at {:p}", binary.len(), binary.as_ptr());
    for (name, weights) in session.weight_names()?.iter().zip(session.weights()?) {
        println!("{name}: {} bytes at {:p}", weights.len(), weights.as_ptr());
    }
    session.end()?; // can the results be trusted?
    Ok(())
}
