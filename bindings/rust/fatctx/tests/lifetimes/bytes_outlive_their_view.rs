// The bytes of a view are borrowed from it.
use fatctx::Container;

fn main() {
    let view = Container::open("m.fatctx").unwrap().acquire(1).unwrap();
    let mut bytes: &[u8] = &[];
    println!("{}", bytes.len());
    bytes = &view; //~ E0505
    drop(view);
    println!("{}", bytes.len());
}
