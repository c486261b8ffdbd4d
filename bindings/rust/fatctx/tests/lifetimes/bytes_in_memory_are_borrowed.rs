// Memory of a container must live as long as every view of it, so it cannot be borrowed from the stack.
use fatctx::Container;

fn main() {
    let bytes = std::fs::read("m.fatctx").unwrap();
    println!("{}", Container::open_bytes(bytes.clone()).is_ok());
    println!("{}", Container::open_bytes(&bytes).is_ok()); //~ E0597
}
