//! What is packed comes back: as records, views, tensors, streams and files.

mod support;

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use fatctx::*;
use support::{add_sample, floats, pattern, sample, TempDir, VALUES};

#[test]
fn records_come_back_with_their_facts() {
    let folder = TempDir::new();
    sample(&folder.file("m.fatctx"));

    let container = Container::open(folder.file("m.fatctx")).unwrap();

    let records: Vec<Record> = container.records().unwrap().collect::<Result<_>>().unwrap();
    assert_eq!(container.records().unwrap().len(), records.len());
    let v3 = records.iter().find(|record| record.name() == "net.x86-64-v3").unwrap();
    let weights = container.find("net.weights").unwrap();
    assert_eq!(v3.record_type(), RecordType::ContextBinary);
    assert_eq!((v3.size(), v3.codec()), (6000, Codec::None));
    assert_eq!(v3.weights(), [weights.id()]);
    assert_eq!((v3.target().backend, v3.target().arch), ("cpu", "x86-64-v3"));
    assert_eq!(v3.target_text().unwrap(), "cpu x86-64-v3");
    assert_eq!(v3.hash(), content_hash(&pattern(6000, 6000u16 as u8)).unwrap());
    assert!(v3.is_supported() && !v3.is_recipe() && v3.file_offset() > 0);
    assert_eq!(container.record(v3.id()).unwrap().name(), v3.name());
    let backwards: Vec<u32> = container.records().unwrap().rev().map(|record| record.unwrap().id()).collect();
    assert!(backwards.windows(2).all(|pair| pair[0] > pair[1]) && backwards.len() == records.len());
}

#[test]
fn views_have_the_bytes_and_outlive_the_container() {
    let folder = TempDir::new();
    sample(&folder.file("m.fatctx"));
    let container = Container::open(folder.file("m.fatctx")).unwrap();

    let view = container.acquire_name("net.x86-64-v2").unwrap();
    let same = container.find("net.x86-64-v2").unwrap().acquire().unwrap();
    let copy = view.clone();
    drop(container);
    drop(view);
    fs::remove_file(folder.file("m.fatctx")).unwrap();

    assert_eq!(&copy[..], pattern(5000, 5000u16 as u8));
    assert_eq!(copy.as_ptr(), same.as_ptr());
    assert_eq!((copy.access_path(), copy.copied_bytes(), copy.record_id()), ("direct", 0, same.record_id()));
}

#[test]
fn tensors_are_found_by_name_with_type_and_shape() {
    let folder = TempDir::new();
    sample(&folder.file("m.fatctx"));
    let container = Container::open(folder.file("m.fatctx")).unwrap();
    let weights = container.find("net.weights").unwrap();

    let table = weights.tensors().unwrap();
    let tensor = container.tensor(weights.id(), "layer.weight").unwrap();
    let by_index = table.view_at(1).unwrap();

    let listed: Vec<TensorInfo> = table.iter().collect::<Result<_>>().unwrap();
    assert_eq!((listed.len(), table.weights_id()), (2, weights.id()));
    assert_eq!(listed[0].name, "layer.weight");
    assert_eq!((listed[0].dtype, listed[0].shape, listed[0].size), (DType::F32, &[2u64, 3][..], 24));
    assert_eq!((listed[1].offset_in_blob, listed[1].is_alias), (24, false));
    drop(container);
    assert_eq!(tensor.values::<f32>().unwrap(), VALUES);
    assert_eq!((tensor.shape(), tensor.strides_bytes()), (&[2u64, 3][..], &[12u64, 4][..]));
    assert_eq!((by_index.name(), &by_index[..]), ("layer.zero_point", &[7u8, 8, 9, 10][..]));
    assert_eq!(table.view("layer.weight").unwrap().as_ptr(), tensor.as_ptr());
    assert_eq!(tensor.values::<i32>().unwrap_err().code(), ErrorCode::InvalidArgument);
}

#[test]
fn a_tensor_that_is_not_aligned_has_bytes_and_no_values() {
    let folder = TempDir::new();
    let mut blob = vec![9u8];
    blob.extend(floats(&[2.5]));
    let mut packer = Packer::new().unwrap();
    let tensor = PackTensor::new("odd", DType::F32, [1]).offset(1);
    packer.add(PackRecord::weight_blob("w", &blob).tensors([tensor])).unwrap();
    packer.publish(folder.file("m.fatctx")).unwrap();
    let container = Container::open(folder.file("m.fatctx")).unwrap();

    let odd = container.tensor(container.find("w").unwrap().id(), "odd").unwrap();

    assert_eq!(&odd[..], floats(&[2.5]));
    let error = odd.values::<f32>().unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unsupported);
    assert!(error.to_string().contains("not aligned to 4 bytes"), "{error}");
}

#[test]
fn the_choice_comes_with_its_reasons() {
    let folder = TempDir::new();
    sample(&folder.file("m.fatctx"));
    let device = Device::parse("x86-64-v2").unwrap();
    let options = ModelOptions::new().device(&device);

    let model = Model::open(folder.file("m.fatctx"), &options).unwrap();
    let session = model.begin_session().unwrap();

    let container = model.container().unwrap();
    let v2 = container.find("net.x86-64-v2").unwrap();
    assert_eq!(&session.binary().unwrap()[..], v2.read_bytes().unwrap());
    assert_eq!(session.weights().unwrap().len(), 1);
    assert_eq!(session.weight_names().unwrap(), ["net.weights"]);
    assert_eq!(session.tensor("layer.weight").unwrap().values::<f32>().unwrap(), VALUES);
    let selection = model.selection().unwrap();
    assert_eq!((selection.level, &selection.chosen[..]), (Level::Optimal, &[v2.id()][..]));
    let verdicts = model.verdicts().unwrap();
    assert_eq!(verdicts.len(), 2);
    for verdict in verdicts {
        let is_v2 = verdict.record_id == v2.id();
        assert_eq!((verdict.chosen, verdict.axis.is_none(), verdict.tier.is_some()), (is_v2, is_v2, is_v2));
    }
    let text = model.explain().unwrap();
    assert!(text.contains("net.x86-64-v2") && text.contains("net.x86-64-v3"), "{text}");
    assert!(model.explain_json().unwrap().contains("\"fatctx.selection/1\""));
    assert!(container.explain(&options).unwrap().contains("net.x86-64-v3"));
    assert!(session.json().unwrap().contains("\"fatctx.session/1\""));
    assert!(model.device().unwrap().json().unwrap().contains("x86-64-v2"));
    assert_eq!(session.model().unwrap().selection().unwrap(), selection);
    let view = session.binary().unwrap();
    session.end().unwrap();
    assert_eq!(view.len(), 5000);
}

#[test]
fn units_have_binaries_of_their_own() {
    let folder = TempDir::new();
    let mut packer = Packer::new().unwrap();
    for unit in ["prefill", "decode"] {
        let record = PackRecord::context_binary(unit, unit.as_bytes()).unit(unit).backend("cpu").arch("x86-64-v2");
        packer.add(record).unwrap();
    }
    packer.publish(folder.file("m.fatctx")).unwrap();
    let device = Device::parse("x86-64-v2").unwrap();
    let options = ModelOptions::new().device(&device);

    let session = Model::open(folder.file("m.fatctx"), &options).unwrap().begin_session().unwrap();

    assert_eq!(session.units().unwrap(), ["decode", "prefill"]);
    assert_eq!(&session.binary_of("prefill").unwrap()[..], b"prefill");
    assert_eq!(&open_view(folder.file("m.fatctx"), &options, Some("decode")).unwrap()[..], b"decode");
    let error = session.binary().unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotFound);
    assert!(error.to_string().contains("prefill"), "{error}");
}

#[test]
fn a_container_is_opened_as_a_part_of_a_file() {
    let folder = TempDir::new();
    sample(&folder.file("m.fatctx"));
    let mut package = File::create(folder.file("package")).unwrap();
    package.seek(SeekFrom::Start(8192)).unwrap();
    let inside = fs::read(folder.file("m.fatctx")).unwrap();
    package.write_all(&inside).unwrap();
    package.write_all(b"something else").unwrap();
    let package = File::open(folder.file("package")).unwrap();

    let container = Container::open_file(&package, 8192, inside.len() as u64).unwrap();
    drop(package);

    assert_eq!(container.acquire_name("net.x86-64-v3").unwrap().len(), 6000);
}

/// Counts how often it is dropped.
struct Counted {
    bytes: Vec<u8>,
    dropped: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn bytes_in_memory_live_as_long_as_their_last_view() {
    let folder = TempDir::new();
    sample(&folder.file("m.fatctx"));
    let dropped = Arc::new(AtomicUsize::new(0));
    let bytes = fs::read(folder.file("m.fatctx")).unwrap();
    let owner = Counted { bytes: bytes.clone(), dropped: Arc::clone(&dropped) };

    let container = Container::open_bytes(owner).unwrap();
    let view = container.acquire_name("net.x86-64-v3").unwrap();
    drop(container);

    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    assert_eq!(&view[..], pattern(6000, 6000u16 as u8));
    drop(view);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);

    let refused = Counted { bytes: bytes[..100].to_vec(), dropped: Arc::clone(&dropped) };
    assert!(Container::open_bytes(refused).is_err());
    assert_eq!(dropped.load(Ordering::SeqCst), 2);
}

#[test]
fn compressed_records_are_streamed_read_written_and_extracted() {
    let folder = TempDir::new();
    sample(&folder.file("m.fatctx"));
    let container = Container::open(folder.file("m.fatctx")).unwrap();
    let note = container.find("note").unwrap();
    let expected = "what the model is for. ".repeat(500);

    let mut pieces = Vec::new();
    let streamed = container.stream(note.id(), |piece| {
        pieces.extend_from_slice(piece);
        ControlFlow::Continue(())
    });
    let mut written = Vec::new();

    streamed.unwrap();
    assert_eq!((note.codec(), note.stored_bytes() < note.size()), (Codec::Lz4, true));
    assert_eq!(note.acquire().unwrap_err().code(), ErrorCode::Unsupported);
    assert_eq!(pieces, expected.as_bytes());
    assert_eq!(container.read(note.id()).unwrap(), expected.as_bytes());
    assert_eq!(container.write_to(note.id(), &mut written).unwrap(), expected.len() as u64);
    assert_eq!(written, expected.as_bytes());
    container.extract(note.id(), folder.file("note.txt"), false).unwrap();
    assert_eq!(fs::read(folder.file("note.txt")).unwrap(), expected.as_bytes());
    let again = container.extract(note.id(), folder.file("note.txt"), false).unwrap_err();
    assert_eq!(again.code(), ErrorCode::Exists);
    container.extract(note.id(), folder.file("note.txt"), true).unwrap();
}

#[test]
fn a_writer_that_refuses_ends_the_stream_with_its_error() {
    let folder = TempDir::new();
    sample(&folder.file("m.fatctx"));
    let container = Container::open(folder.file("m.fatctx")).unwrap();
    let mut small = [0u8; 10];

    let error = container.write_to(container.find("note").unwrap().id(), &mut &mut small[..]).unwrap_err();

    assert_eq!(error.kind(), std::io::ErrorKind::WriteZero);
}

#[test]
fn the_same_input_gives_the_same_file() {
    let folder = TempDir::new();
    for name in ["a.fatctx", "b.fatctx"] {
        sample(&folder.file(name));
    }

    let (first, second) = (fs::read(folder.file("a.fatctx")).unwrap(), fs::read(folder.file("b.fatctx")).unwrap());

    assert!(first == second);
}

#[test]
fn the_report_of_a_pack_counts_bytes_and_progress_sees_them() {
    let folder = TempDir::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let options = PackOptions::new().seal(true).sha256(true).progress(move |done, total| {
        assert!(done <= total);
        counter.fetch_add(1, Ordering::SeqCst);
        ControlFlow::Continue(())
    });
    let mut packer = Packer::with_options(options).unwrap();
    add_sample(&mut packer);

    let report = packer.publish(folder.file("m.fatctx")).unwrap();

    assert!(calls.load(Ordering::SeqCst) > 0);
    assert!(report.sealed && report.file_size == fs::metadata(folder.file("m.fatctx")).unwrap().len());
    assert_eq!(report.uuid.len(), 36);
    assert!(packer.report_json().unwrap().contains("\"fatctx.packed/1\""));
    let opened = Container::open(folder.file("m.fatctx")).unwrap().report().unwrap();
    assert_eq!((opened.sealed, opened.uuid, opened.file_size), (true, report.uuid, report.file_size));
    assert_eq!((opened.path, opened.mapped), (folder.file("m.fatctx"), true));
    assert_eq!(opened.format_version, format_version());
}

#[test]
fn everything_that_a_record_states_is_in_the_description() {
    let folder = TempDir::new();
    fs::write(folder.file("code.bin"), b"....the code of v75....").unwrap();
    let graph = Graph {
        name: "main".into(),
        inputs: vec![GraphTensor { name: "ids".into(), dtype: DType::I64, shape: vec![1, -1] }],
        outputs: vec![GraphTensor { name: "logits".into(), dtype: DType::F16, shape: vec![1, 384] }],
    };
    let mut packer =
        Packer::with_options(PackOptions::new().model_name("net").option("key", "value", Some("QNN"))).unwrap();
    let record = PackRecord::new(RecordType::ContextBinary, "net.v75")
        .part_of_file(folder.file("code.bin"), 4, 15)
        .group("g")
        .unit("u")
        .backend("htp")
        .arch("SM8650")
        .variant("fast")
        .sdk("2.31".parse().unwrap())
        .format("qnn-context")
        .graph(graph)
        .option("o1", "3", None);
    packer.add(record).unwrap();
    packer.add(PackRecord::opaque("whole", b"").file(folder.file("code.bin")).own_extent(true)).unwrap();
    packer.publish(folder.file("m.fatctx")).unwrap();

    let container = Container::open(folder.file("m.fatctx")).unwrap();

    let record = container.find("net.v75").unwrap();
    let target = *record.target();
    assert_eq!(record.read_bytes().unwrap(), b"the code of v75");
    assert_eq!(container.acquire_name("whole").unwrap().len(), 23);
    assert_eq!((target.group, target.unit, target.part, target.arch), ("g", "u", "SM8650", "v75"));
    assert_eq!((target.qnn_soc, target.vtcm_mb, target.variant), (Some(57), Some(8), "fast"));
    assert_eq!(target.sdk.to_string(), "2.31");
    let info = container.info_json(InfoParts { graphs: true, options: true, ..InfoParts::default() }).unwrap();
    for word in ["\"fatctx.info/1\"", "\"ids\"", "\"logits\"", "\"float16\"", "\"o1\"", "\"key\"", "qnn-context"] {
        assert!(info.contains(word), "{word}: {info}");
    }
}

#[test]
fn a_record_of_another_file_is_copied_and_equal_bytes_are_stored_once() {
    let folder = TempDir::new();
    sample(&folder.file("m.fatctx"));
    let view = Container::open(folder.file("m.fatctx")).unwrap().acquire_name("net.x86-64-v3").unwrap();
    let mut packer = Packer::new().unwrap();
    packer.add(PackRecord::opaque("one", b"").copy_of(&view).own_extent(true)).unwrap();
    packer.add(PackRecord::opaque("two", &view).own_extent(true)).unwrap();

    let report = packer.publish(folder.file("copy.fatctx")).unwrap();

    let container = Container::open(folder.file("copy.fatctx")).unwrap();
    let (one, two) = (container.find("one").unwrap().id(), container.find("two").unwrap().id());
    assert_eq!((report.shared_records, container.same_bytes(one).unwrap()), (1, vec![two]));
    assert_eq!(&container.acquire(two).unwrap()[..], &view[..]);
}

#[test]
fn an_append_is_seen_by_a_reopen_and_not_by_open_views() {
    let folder = TempDir::new();
    let path = folder.file("m.fatctx");
    sample(&path);
    let before = Container::open(&path).unwrap();
    let (records, generation) = (before.record_count().unwrap(), before.report().unwrap().generation);

    let mut appender = Appender::open(&path, AppendOptions::new().threads(1)).unwrap();
    let locked = Appender::open(&path, AppendOptions::new()).unwrap_err();
    let code = pattern(7000, 7);
    let record = PackRecord::context_binary("net.x86-64-v4", &code).backend("cpu").arch("x86-64-v4");
    appender.add(record.weights(["net.weights"])).unwrap();
    let note = EvidenceNote {
        device: "bench".into(),
        tool: None,
        metric: "latency_ms".into(),
        value: "3.1".into(),
        date: "2026-11-22".into(),
    };
    appender.note("net.x86-64-v3", &note).unwrap();
    let report = appender.commit().unwrap();

    assert_eq!(locked.code(), ErrorCode::Locked);
    assert_eq!((report.record_count, report.generation), (2, generation + 1)); // with the new description
    assert!(report.input_bytes > 7000 && report.stored_bytes >= 7000, "{report:?}");
    assert!(appender.report_json().unwrap().contains("\"fatctx.appended/1\""));
    assert_eq!(appender.commit().unwrap_err().code(), ErrorCode::OperationNotPermitted);
    drop(appender);
    assert_eq!(before.record_count().unwrap(), records);
    let after = before.reopen().unwrap();
    assert_eq!(after.record_count().unwrap(), records + 1);
    assert_eq!(&after.acquire_name("net.x86-64-v4").unwrap()[..], code);
    assert!(after.info_json(InfoParts::default()).unwrap().contains("latency_ms"));
    let opened = after.report().unwrap();
    assert_eq!((opened.generation, opened.earlier[0].number), (generation + 1, generation));
    let old = OpenOptions::new().generation(generation).open(&path).unwrap();
    assert_eq!(old.record_count().unwrap(), records);
}

#[test]
fn memory_is_prefetched_released_and_locked() {
    let folder = TempDir::new();
    sample(&folder.file("m.fatctx"));
    let container = Container::open(folder.file("m.fatctx")).unwrap();
    let id = container.find("net.x86-64-v3").unwrap().id();
    let view = container.acquire(id).unwrap();

    let mut steps = Vec::new();
    let prefetched = container.prefetch_with_progress(id, u64::MAX, |done, total| {
        steps.push((done, total));
        ControlFlow::Continue(())
    });
    let prefetched = prefetched.unwrap();
    let lock = container.lock(id).unwrap();

    assert_eq!((prefetched.asked_bytes, prefetched.done_bytes), (6000, 6000));
    assert_eq!(steps.last(), Some(&(6000, 6000)));
    assert_eq!(container.prefetch(id, 4096).unwrap().done_bytes, 4096);
    assert_eq!(lock.record_id(), id);
    assert_eq!(container.release(id, true).unwrap_err().code(), ErrorCode::OperationNotPermitted);
    drop(lock);
    assert_eq!(container.release(id, true).unwrap().asked_bytes, 6000);
    assert_eq!(&view[..], pattern(6000, 6000u16 as u8));
    assert_eq!(container.access_path(id).unwrap(), "direct");
}

#[test]
fn a_private_copy_does_not_see_a_file_that_is_overwritten() {
    let folder = TempDir::new();
    let path = folder.file("m.fatctx");
    sample(&path);
    let mapped = Container::open(&path).unwrap();
    let record = mapped.find("net.x86-64-v3").unwrap();
    let copies = OpenOptions::new().verify(Verify::PrivateCopy).open(&path).unwrap();
    let view = copies.acquire_name("net.x86-64-v3").unwrap();

    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(record.file_offset())).unwrap();
    file.write_all(b"overwritten").unwrap();

    assert_eq!(&view[..], pattern(6000, 6000u16 as u8));
    assert_eq!(mapped.acquire_name("net.x86-64-v3").unwrap_err().code(), ErrorCode::ChecksumMismatch);
}

#[test]
fn an_empty_record_is_an_empty_slice() {
    let folder = TempDir::new();
    let mut packer = Packer::new().unwrap();
    packer.add(PackRecord::opaque("empty", b"")).unwrap();
    packer.publish(folder.file("m.fatctx")).unwrap();

    let view = Container::open(folder.file("m.fatctx")).unwrap().acquire_name("empty").unwrap();

    assert!(view.is_empty() && view.iter().next().is_none());
}

#[test]
fn long_texts_come_whole() {
    let folder = TempDir::new();
    let mut packer = Packer::new().unwrap();
    for number in 0..60 {
        let name = format!("a-record-with-a-rather-long-name-{number:03}");
        packer.add(PackRecord::opaque(name, &[number])).unwrap();
    }
    packer.publish(folder.file("m.fatctx")).unwrap();

    let info = Container::open(folder.file("m.fatctx")).unwrap().info_json(InfoParts::default()).unwrap();

    assert!(info.len() > 3 * 4096 && info.trim_end().ends_with('}'));
    assert!((0..60).all(|number| info.contains(&format!("long-name-{number:03}"))));
}
