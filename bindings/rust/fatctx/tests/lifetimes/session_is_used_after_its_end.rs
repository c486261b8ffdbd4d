// The end of a session takes it.
use fatctx::{Model, ModelOptions};

fn main() {
    let model = Model::open("m.fatctx", &ModelOptions::new()).unwrap();
    let session = model.begin_session().unwrap();
    println!("{}", session.binary().unwrap().len());
    let ended = session.end();
    println!("{}", session.binary().unwrap().len()); //~ E0382
    println!("{}", ended.is_ok());
}
