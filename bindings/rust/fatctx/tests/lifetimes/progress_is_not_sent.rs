// A packer moves to other threads, and its closure with it.
use std::ops::ControlFlow;
use std::rc::Rc;

use fatctx::PackOptions;

fn main() {
    let calls = Rc::new(0);
    println!("{calls}");
    let mut options = PackOptions::new();
    options = options.progress(move |_, _| if *calls == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }); //~ E0277
    drop(options);
}
