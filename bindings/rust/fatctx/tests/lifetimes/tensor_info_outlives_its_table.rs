// Facts about a tensor are borrowed from the table.
use fatctx::Container;

fn main() {
    let table = Container::open("m.fatctx").unwrap().tensors(1).unwrap();
    let info = table.at(0).unwrap();
    println!("{}", info.name);
    drop(table); //~ E0505
    println!("{:?}", info.shape);
}
