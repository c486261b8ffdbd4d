//! What must not compile: each file in tests/lifetimes breaks a rule in the one line that ends with `//~ CODE`.
//!
//! Without that line the file compiles. With it the compiler gives exactly this error, in this line or at the borrow that
//! the line makes wrong.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MARK: &str = "//~ ";

/// Returns the newest build of the crate. It is beside this program, and at least as new as the sources.
fn crate_file(folder: &Path) -> PathBuf {
    let is_crate = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("libfatctx-") && name.ends_with(".rlib")
    };
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let newest = paths.filter(is_crate).max_by_key(|path| path.metadata().unwrap().modified().unwrap());
    newest.unwrap_or_else(|| panic!("{folder:?} has no libfatctx-*.rlib"))
}

/// Compiles a program, and returns what the compiler says if it refuses it.
fn compile(name: &str, source: &str) -> Result<(), String> {
    let program = env::current_exe().unwrap();
    let folder = program.parent().unwrap();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&file, source).unwrap();
    let done = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition=2021", "--crate-type=bin", "--emit=metadata", "--color=never"])
        .arg(format!("--extern=fatctx={}", crate_file(folder).display()))
        .arg(format!("-Ldependency={}", folder.display()))
        .arg("-o")
        .arg(file.with_extension("rmeta"))
        .arg(&file)
        .output()
        .unwrap();
    if done.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&done.stderr).into_owned())
    }
}

fn errors(said: &str) -> Vec<&str> {
    said.lines().filter_map(|line| line.strip_prefix("error[")?.split_once(']')).map(|(code, _)| code).collect()
}

#[test]
fn each_marked_line_is_refused_for_its_reason_and_the_rest_compiles() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lifetimes");
    let (mut cases, mut without) = (0, String::new());
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let source = fs::read_to_string(&path).unwrap();
        let marked: Vec<&str> = source.lines().filter(|line| line.contains(MARK)).collect();
        assert_eq!(marked.len(), 1, "{name}: one line is marked");
        let code = marked[0].split_once(MARK).unwrap().1;

        let with = compile(&name, &source);

        let said = with.expect_err(&format!("{name} compiles"));
        assert_eq!(errors(&said), [code], "{name}: {said}");
        assert!(said.contains(marked[0].trim()), "{name}: the line is not blamed: {said}");
        let module = path.file_stem().unwrap().to_string_lossy();
        writeln!(without, "mod {module} {{\n{}\n}}", source.replace(marked[0], "").replace("fn main", "pub fn main"))
            .unwrap();
        cases += 1;
    }
    assert_eq!(compile("without_marked_lines.rs", &format!("{without}\nfn main() {{}}\n")), Ok(()));
    assert!(cases >= 8, "{cases} cases");
}
