// The elements of a tensor are borrowed from its view.
use fatctx::Container;

fn main() {
    let container = Container::open("m.fatctx").unwrap();
    let mut values: &[f32] = &[];
    println!("{values:?}");
    {
        let tensor = container.tensor(1, "bias").unwrap();
        println!("{:?}", tensor.shape());
        values = tensor.values::<f32>().unwrap(); //~ E0597
    }
    println!("{values:?}");
}
