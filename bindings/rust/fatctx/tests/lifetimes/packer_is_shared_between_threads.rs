// A packer works for one call at a time.
use fatctx::{PackRecord, Packer};

fn main() {
    let mut packer = Packer::new().unwrap();
    let first = &mut packer;
    packer.add(PackRecord::opaque("a", b"1")).unwrap(); //~ E0499
    first.add(PackRecord::opaque("b", b"2")).unwrap();
}
