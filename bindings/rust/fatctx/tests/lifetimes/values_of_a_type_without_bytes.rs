// Not every type has a bit pattern for all bytes: a bool does not.
use fatctx::Container;

fn main() {
    let tensor = Container::open("m.fatctx").unwrap().tensor(1, "mask").unwrap();
    println!("{:?}", tensor.values::<u8>());
    println!("{:?}", tensor.values::<bool>()); //~ E0277
}
