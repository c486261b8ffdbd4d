//! Containers, models, sessions and views are used and dropped on any thread.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use fatctx::*;
use support::{pattern, sample, TempDir, VALUES};

fn is_send<T: Send>() {}
fn is_send_and_sync<T: Send + Sync + 'static>() {}

#[test]
fn handles_may_be_sent_and_shared() {
    is_send_and_sync::<Container>();
    is_send_and_sync::<Record<'static>>();
    is_send_and_sync::<RecordView>();
    is_send_and_sync::<TensorTable>();
    is_send_and_sync::<TensorView>();
    is_send_and_sync::<Device>();
    is_send_and_sync::<Model>();
    is_send_and_sync::<Session>();
    is_send_and_sync::<OpenOptions>();
    is_send_and_sync::<ModelOptions>();
    is_send_and_sync::<PackRecord<'static>>();
    is_send_and_sync::<Error>();
    is_send::<Packer>();
    is_send::<Appender>();
}

#[test]
fn eight_threads_see_the_same_bytes_at_the_same_address() {
    let folder = TempDir::new();
    let path = folder.file("m.fatctx");
    sample(&path);
    let shared = Container::open(&path).unwrap();
    let expected = shared.acquire_name("net.x86-64-v3").unwrap();
    let rounds = AtomicUsize::new(0);

    thread::scope(|scope| {
        for number in 0..8 {
            let (path, shared, expected, rounds) = (&path, &shared, &expected, &rounds);
            scope.spawn(move || {
                for round in 0..40 {
                    let own = Container::open(path).unwrap();
                    let from = if (round + number) % 2 == 0 { &own } else { shared };
                    let view = from.acquire_name("net.x86-64-v3").unwrap();
                    assert_eq!((view.as_ptr(), view.len()), (expected.as_ptr(), 6000));
                    let weights = from.find("net.weights").unwrap().id();
                    let tensor = from.tensor(weights, "layer.weight").unwrap();
                    drop(own);
                    assert_eq!(tensor.values::<f32>().unwrap(), VALUES);
                    assert!(from_records(shared) >= 4);
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });

    assert_eq!(rounds.load(Ordering::Relaxed), 320);
    assert_eq!(&expected[..], pattern(6000, 6000u16 as u8));
}

fn from_records(container: &Container) -> usize {
    container.records().unwrap().filter(|record| record.is_ok()).count()
}

#[test]
fn sessions_are_begun_and_ended_on_different_threads() {
    let folder = TempDir::new();
    sample(&folder.file("m.fatctx"));
    let device = Device::parse("x86-64-v3").unwrap();
    let model = Model::open(folder.file("m.fatctx"), &ModelOptions::new().device(&device)).unwrap();

    let sessions: Vec<_> = (0..6)
        .map(|_| {
            let model = model.clone();
            thread::spawn(move || model.begin_session().unwrap())
        })
        .collect();
    drop(model);

    for session in sessions {
        let session = session.join().unwrap();
        let view = session.binary().unwrap();
        thread::spawn(move || session.end().unwrap()).join().unwrap();
        assert_eq!(&view[..], pattern(6000, 6000u16 as u8));
    }
}

#[test]
fn a_packer_moves_to_another_thread() {
    let folder = TempDir::new();
    let mut packer = Packer::new().unwrap();
    packer.add(PackRecord::opaque("a", b"12345")).unwrap();
    let path = folder.file("m.fatctx");

    let report = thread::spawn(move || packer.publish(path).unwrap()).join().unwrap();

    assert_eq!(report.record_count, 2); // with the description
}
