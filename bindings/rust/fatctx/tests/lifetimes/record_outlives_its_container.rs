// A record borrows its name from the container.
use fatctx::Container;

fn main() {
    let container = Container::open("m.fatctx").unwrap();
    let record = container.find("weights").unwrap();
    println!("{}", record.name());
    drop(container); //~ E0505
    let _ = record.id();
}
