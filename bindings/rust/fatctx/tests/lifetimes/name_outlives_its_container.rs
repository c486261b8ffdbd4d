// A name is a part of the container, not a copy.
use fatctx::Container;

fn main() {
    let mut name = "none";
    println!("{name}");
    {
        let container = Container::open("m.fatctx").unwrap();
        println!("{}", container.find("weights").unwrap().name());
        name = container.find("weights").unwrap().name(); //~ E0597
    }
    println!("{name}");
}
