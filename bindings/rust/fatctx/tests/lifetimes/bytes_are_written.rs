// A view is read-only.
use fatctx::Container;

fn main() {
    let mut view = Container::open("m.fatctx").unwrap().acquire(1).unwrap();
    view[0] = 1; //~ E0594
    view = view.clone();
    println!("{}", view.len());
}
