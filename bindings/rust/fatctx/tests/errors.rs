//! Errors have codes, places and lines; panics and breaks of closures come back.

mod support;

use std::error::Error as _;
use std::fs;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};

use fatctx::*;
use support::{add_sample, sample, TempDir};

#[test]
fn every_code_of_the_library_has_a_variant() {
    let mut known = 0;
    for number in 1.. {
        let code = ErrorCode::from_number(number);
        if matches!(code, ErrorCode::Other(_)) {
            assert_eq!((code.name(), code.number()), ("unknown", number));
            break;
        }
        assert_eq!(code.number(), number);
        let words: String = code.name().split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
        assert_eq!(format!("{code:?}"), words);
        known += 1;
    }
    assert!(known >= 36);
    let types = [
        (RecordType::ContextBinary, "context_binary"),
        (RecordType::WeightBlob, "weight_blob"),
        (RecordType::TensorTable, "tensor_table"),
        (RecordType::SourceModel, "source_model"),
        (RecordType::WrapperModel, "wrapper_model"),
        (RecordType::Description, "description"),
        (RecordType::Opaque, "opaque"),
        (RecordType::Other(99), "unknown"),
    ];
    assert!(types.iter().all(|(record_type, name)| record_type.name() == *name));
    for number in 1..=15 {
        let dtype = DType::from_number(number);
        assert!(!matches!(dtype, DType::Other(_)) && dtype.bits() > 0 && dtype.number() == number);
    }
    assert_eq!((DType::Bf16.name(), DType::U4.bits(), DType::Other(77).bits()), ("bfloat16", 4, 0));
}

#[test]
fn an_error_names_the_file_and_what_is_wrong() {
    let folder = TempDir::new();
    let path = folder.file("none.fatctx");

    let error = Container::open(&path).unwrap_err();

    assert_eq!((error.code(), error.code().number()), (ErrorCode::NotFound, sys::FATCTX_ERROR_NOT_FOUND));
    assert_eq!(error.os_error(), Some(2));
    assert!(error.to_string().starts_with(path.to_str().unwrap()), "{error}");
    assert!(error.to_string().contains("not_found") && !error.message().contains("not_found"), "{error}");
    assert!(error.source().is_none() && format!("{error:?}").contains("NotFound"));
    let boxed: Box<dyn std::error::Error + Send + Sync> = Box::new(error.clone());
    assert_eq!(boxed.to_string(), error.to_string());
    let of_std = std::io::Error::from(error);
    assert_eq!(of_std.kind(), std::io::ErrorKind::NotFound);
    let inner = of_std.get_ref().unwrap().downcast_ref::<Error>().unwrap();
    assert_eq!(inner.code(), ErrorCode::NotFound);
}

#[test]
fn damage_names_record_rule_and_byte() {
    let folder = TempDir::new();
    let path = folder.file("m.fatctx");
    sample(&path);
    let container = Container::open(&path).unwrap();
    let record = container.find("net.x86-64-v3").unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[record.file_offset() as usize + 100] ^= 1;
    let damaged = folder.file("damaged.fatctx");
    fs::write(&damaged, bytes).unwrap();

    let opened = Container::open(&damaged).unwrap();
    let error = opened.acquire(record.id()).unwrap_err();
    let report = opened.verify(&VerifyOptions::new()).unwrap();

    assert_eq!(error.code(), ErrorCode::ChecksumMismatch);
    assert_eq!(error.record_id(), Some(record.id()));
    let offset = error.file_offset().unwrap();
    assert!((record.file_offset()..record.file_offset() + 6000).contains(&offset), "{error}");
    assert!(error.rule().map_or(false, |rule| rule.starts_with('F')), "{error}");
    assert!(!report.is_whole() && report.checked_bytes > 6000);
    assert!(report.findings.iter().all(|finding| finding.code() == ErrorCode::ChecksumMismatch));
    let other = opened.find("net.x86-64-v2").unwrap().id();
    assert!(opened.verify(&VerifyOptions::new().record(other)).unwrap().is_whole());
    assert!(!verify_file(&damaged, &VerifyOptions::new().threads(1)).unwrap().is_whole());
    assert!(verify_file(&path, &VerifyOptions::new().strict(true)).unwrap().is_whole());
    let range = 0..opened.report().unwrap().file_size;
    assert!(!opened.verify(&VerifyOptions::new().range(range)).unwrap().is_whole());
    let device = Device::parse("x86-64-v3").unwrap();
    let next = ModelOptions::new().device(&device).on_damage(OnDamage::Next).allow_lower_arch(true);
    let model = Model::open(&damaged, &next).unwrap();
    assert_eq!(model.damaged().unwrap()[0].record_id(), Some(record.id()));
    assert_eq!(model.begin_session().unwrap().binary().unwrap().len(), 5000);
}

#[test]
fn a_file_of_another_format_is_refused() {
    let folder = TempDir::new();
    let path = folder.file("m.fatctx");
    sample(&path);
    let whole = fs::read(&path).unwrap();
    fs::write(folder.file("other"), vec![b'x'; 70_000]).unwrap();
    fs::write(folder.file("short"), &whole[..whole.len() / 2]).unwrap();

    let other = Container::open(folder.file("other")).unwrap_err();
    let short = Container::open(folder.file("short")).unwrap_err();

    assert_eq!((other.code(), short.code()), (ErrorCode::BadMagic, ErrorCode::Truncated));
    assert!(!verify_file(folder.file("short"), &VerifyOptions::new()).unwrap().is_whole());
}

#[test]
fn a_device_that_no_record_fits_gets_the_reason_for_each() {
    let folder = TempDir::new();
    sample(&folder.file("m.fatctx"));
    let container = Container::open(folder.file("m.fatctx")).unwrap();
    let phone = Device::parse("v75").unwrap();
    let options = ModelOptions::new().device(&phone);

    let error = container.select(&options).unwrap_err();

    assert_eq!(error.code(), ErrorCode::NoMatch);
    assert!(error.to_string().contains("net.x86-64-v3"), "{error}");
    assert!(container.explain(&options).unwrap().contains("net.x86-64-v2"));
    let forced = ModelOptions::new().device(&phone).record("net.x86-64-v2", true);
    assert_eq!(container.select(&forced).unwrap().begin_session().unwrap().binary().unwrap().len(), 5000);
    let absent = container.select(&ModelOptions::new().device(&phone).group("none")).unwrap_err();
    assert_eq!(absent.code(), ErrorCode::InvalidArgument);
}

#[test]
fn arguments_that_c_cannot_take_are_invalid() {
    let folder = TempDir::new();
    sample(&folder.file("m.fatctx"));
    let container = Container::open(folder.file("m.fatctx")).unwrap();

    assert_eq!(container.find("a\0b").unwrap_err().code(), ErrorCode::InvalidArgument);
    assert_eq!(Container::open("a\0b").unwrap_err().code(), ErrorCode::InvalidArgument);
    assert_eq!(Device::parse("toaster").unwrap_err().code(), ErrorCode::InvalidArgument);
    assert_eq!("2.x".parse::<Version>().unwrap_err().code(), ErrorCode::InvalidArgument);
    let mut packer = Packer::new().unwrap();
    assert_eq!(packer.add(PackRecord::opaque("a/b", b"1")).unwrap_err().code(), ErrorCode::InvalidArgument);
    packer.add(PackRecord::opaque("a", b"1")).unwrap();
    assert_eq!(packer.add(PackRecord::opaque("a", b"2")).unwrap_err().code(), ErrorCode::Exists);
    let refused = container.find("net.weight").unwrap_err();
    assert_eq!(refused.code(), ErrorCode::NotFound);
    let weights = container.find("net.weights").unwrap().id();
    let misspelt = container.tensor(weights, "layer.weigh").unwrap_err();
    assert!(misspelt.to_string().contains("layer.weight"), "{misspelt}");
}

#[test]
fn a_closure_stops_the_work() {
    let folder = TempDir::new();
    let path = folder.file("m.fatctx");
    sample(&path);
    let container = Container::open(&path).unwrap();
    let id = container.find("net.x86-64-v3").unwrap().id();
    let stop = |_: u64, _: u64| ControlFlow::Break(());

    assert_eq!(container.stream(id, |_| ControlFlow::Break(())).unwrap_err().code(), ErrorCode::Cancelled);
    let verified = container.verify_with_progress(&VerifyOptions::new(), stop);
    assert_eq!(verified.unwrap_err().code(), ErrorCode::Cancelled);
    let extracted = container.extract_with_progress(id, folder.file("x"), false, stop);
    assert_eq!(extracted.unwrap_err().code(), ErrorCode::Cancelled);
    assert!(!folder.file("x").exists());
    let mut packer = Packer::with_options(PackOptions::new().progress(stop)).unwrap();
    add_sample(&mut packer);
    assert_eq!(packer.publish(folder.file("y")).unwrap_err().code(), ErrorCode::Cancelled);
    assert!(!folder.file("y").exists());
    let mut appender = Appender::open(&path, AppendOptions::new().progress(stop)).unwrap();
    appender.add(PackRecord::opaque("more", &[1, 2, 3])).unwrap();
    assert_eq!(appender.commit().unwrap_err().code(), ErrorCode::Cancelled);
}

#[test]
fn a_panic_in_a_closure_comes_back_to_the_caller() {
    let folder = TempDir::new();
    sample(&folder.file("m.fatctx"));
    let container = Container::open(folder.file("m.fatctx")).unwrap();
    let id = container.find("note").unwrap().id();
    let mut packer = Packer::with_options(PackOptions::new().progress(|_, _| panic!("in progress"))).unwrap();
    add_sample(&mut packer);

    let streamed = catch_unwind(AssertUnwindSafe(|| container.stream(id, |_| panic!("in a stream"))));
    let options = VerifyOptions::new();
    let verified =
        catch_unwind(AssertUnwindSafe(|| container.verify_with_progress(&options, |_, _| panic!("in a check"))));
    let published = catch_unwind(AssertUnwindSafe(|| packer.publish(folder.file("y"))));

    assert_eq!(*streamed.unwrap_err().downcast_ref::<&str>().unwrap(), "in a stream");
    assert_eq!(*verified.unwrap_err().downcast_ref::<&str>().unwrap(), "in a check");
    assert_eq!(*published.unwrap_err().downcast_ref::<&str>().unwrap(), "in progress");
    assert!(!folder.file("y").exists());
    assert_eq!(container.read(id).unwrap().len() as u64, container.find("note").unwrap().size());
}

#[test]
fn a_signature_that_is_required_and_missing_is_an_error() {
    let folder = TempDir::new();
    sample(&folder.file("m.fatctx"));

    let error = OpenOptions::new().trusted_keys([[7; 32]]).open(folder.file("m.fatctx")).unwrap_err();
    let old = OpenOptions::new().minimum_generation(50).open(folder.file("m.fatctx")).unwrap_err();

    assert_eq!((error.code(), old.code()), (ErrorCode::SignatureMissing, ErrorCode::Rollback));
    fs::write(folder.file("no.pub"), "no key").unwrap();
    assert_eq!(read_public_key(folder.file("no.pub")).unwrap_err().code(), ErrorCode::InvalidArgument);
}
