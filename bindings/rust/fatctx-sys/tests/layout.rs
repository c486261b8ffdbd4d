//! A C compiler with the headers agrees with every struct, constant and function of this crate, so they cannot drift.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fatctx_sys::*;

const DECLARATIONS: &str = include_str!("../src/declarations.rs");

/// Writes one assertion for the size of each struct, and one for the place and the size of each field. The pattern
/// without `..` does not compile if a field is missing.
macro_rules! layout {
    ($($name:ident { $($field:ident),* })*) => {
        fn assert_layout(c: &mut String) -> usize {
            let mut structs = 0;
            $(
                let made = $name::default();
                let base = std::ptr::addr_of!(made) as usize;
                $(
                    let offset = std::ptr::addr_of!(made.$field) as usize - base;
                    let field = stringify!($field).trim_start_matches("r#");
                    same(c, &format!("offsetof({}, {field})", stringify!($name)), offset);
                    same(c, &format!("sizeof((({}*)0)->{field})", stringify!($name)), std::mem::size_of_val(&made.$field));
                )*
                same(c, &format!("sizeof({})", stringify!($name)), std::mem::size_of::<$name>());
                same(c, &format!("_Alignof({})", stringify!($name)), std::mem::align_of::<$name>());
                #[allow(clippy::unneeded_field_pattern)]
                let $name { $($field: _),* } = made;
                structs += 1;
            )*
            structs
        }
    };
}

macro_rules! constants {
    ($($name:ident,)*) => {
        fn assert_constants(c: &mut String) -> usize {
            let mut constants = 0;
            $(
                same(c, &format!("(long long){}", stringify!($name)), $name as usize);
                constants += 1;
            )*
            constants
        }
    };
}

include!("layout/fields.rs");

fn same(c: &mut String, expression: &str, value: usize) {
    writeln!(c, "_Static_assert({expression} == {value}, \"{}: {value}\");", expression.replace('"', "")).unwrap();
}

/// Returns the C spelling of a Rust type: `*const *mut c_char` is `char* const*`.
fn c_type(rust: &str) -> String {
    if let Some(function) = rust.strip_prefix("Option<unsafe extern \"C\" fn") {
        let (result, parameters) = c_signature(function.strip_suffix('>').unwrap());
        return format!("{result} (*)({parameters})");
    }
    if let Some((element, count)) = rust.strip_prefix('[').and_then(|array| array.strip_suffix(']')?.split_once("; ")) {
        return format!("{}[{count}]", c_type(element));
    }
    let words: Vec<&str> = rust.split(' ').collect();
    let (base, pointers) = words.split_last().unwrap();
    let base = match *base {
        "c_void" => "void",
        "c_char" => "char",
        "c_int" => "int",
        "usize" => "size_t",
        "i32" => "int32_t",
        "i64" => "int64_t",
        "u8" => "uint8_t",
        "u16" => "uint16_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        other => other,
    };
    let mut c = base.to_string();
    for pointer in pointers.iter().rev() {
        c += if *pointer == "*const" { " const*" } else { "*" };
    }
    c
}

/// Returns result and parameters in C of `(a: T, b: U) -> R`.
fn c_signature(rust: &str) -> (String, String) {
    let (parameters, result) = rust.strip_prefix('(').unwrap().rsplit_once(')').unwrap();
    let parameters: Vec<String> = parameters
        .split(", ")
        .filter_map(|parameter| parameter.split_once(": "))
        .map(|(_, kind)| c_type(kind))
        .collect();
    let result = result.strip_prefix(" -> ").map_or_else(|| "void".to_string(), c_type);
    (result, if parameters.is_empty() { "void".to_string() } else { parameters.join(", ") })
}

/// Declares every function again, by its Rust types. A compiler refuses a second declaration that differs.
fn declare_functions(c: &mut String) -> usize {
    let mut functions = 0;
    for line in DECLARATIONS.lines() {
        if let Some(function) = line.strip_prefix("    pub fn ") {
            let function = function.strip_suffix(';').unwrap();
            let (result, parameters) = c_signature(&function[function.find('(').unwrap()..]);
            writeln!(c, "{result} {}({parameters});", function.split_once('(').unwrap().0).unwrap();
            functions += 1;
        }
    }
    functions
}

/// Asserts the type of every field and of every callback.
fn assert_types(c: &mut String) -> usize {
    let (mut types, mut of_struct) = (0, None);
    for line in DECLARATIONS.lines() {
        let (expression, rust) = if let Some(callback) = line.strip_prefix("pub type ") {
            let (name, rust) = callback.split_once(" = ").unwrap();
            (name.to_string(), rust.strip_suffix(';').unwrap())
        } else if let Some(name) = line.strip_prefix("pub struct ") {
            of_struct = Some(name.trim_end_matches(" {"));
            continue;
        } else if let (Some(name), Some(field)) = (of_struct, line.strip_prefix("    pub ")) {
            let (field, rust) = field.split_once(": ").unwrap();
            (format!("__typeof__((({name}*)0)->{})", field.trim_start_matches("r#")), rust.strip_suffix(',').unwrap())
        } else {
            if line == "}" {
                of_struct = None;
            }
            continue;
        };
        writeln!(c, "_Static_assert(__builtin_types_compatible_p({expression}, {}), \"{expression}\");", c_type(rust))
            .unwrap();
        types += 1;
    }
    types
}

fn include_folder() -> Option<PathBuf> {
    let of_sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../include");
    let of_prefix = env::var_os("FATCTX_DIR").map(|prefix| Path::new(&prefix).join("include"));
    [Some(of_sources), of_prefix].into_iter().flatten().find(|folder| folder.join("fatctx/fatctx.h").is_file())
}

fn compile(name: &str, program: &str) -> Result<(), String> {
    let include = include_folder().ok_or("fatctx/fatctx.h was not found: run in a checkout, or set FATCTX_DIR")?;
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&file, program).unwrap();
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let done = Command::new(compiler)
        .args(["-std=c11", "-fsyntax-only", "-I"])
        .args([&include, &file])
        .output()
        .map_err(|error| format!("no C compiler: {error}"))?;
    if done.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&done.stderr).into_owned())
    }
}

const HEAD: &str = "#include <stddef.h>\n#include \"fatctx/fatctx.h\"\n";

#[test]
fn a_c_compiler_agrees_with_structs_and_constants() {
    let mut c = HEAD.to_string();

    assert!(assert_layout(&mut c) >= 70);
    assert!(assert_constants(&mut c) >= 100);

    compile("layout.c", &c).unwrap();
}

#[test]
fn a_c_compiler_agrees_with_functions() {
    let mut c = HEAD.to_string();

    assert!(declare_functions(&mut c) >= 150);

    compile("functions.c", &c).unwrap();
}

#[test]
fn a_c_compiler_agrees_with_the_types_of_fields_and_callbacks() {
    let mut c = HEAD.to_string();

    assert!(assert_types(&mut c) >= 500);

    compile("types.c", &c).unwrap();
}

#[test]
fn the_compiler_refuses_what_differs() {
    let mut wrong = HEAD.to_string();
    same(&mut wrong, "sizeof(fatctx_view)", 25);
    assert!(compile("wrong_size.c", &wrong).unwrap_err().contains("sizeof(fatctx_view)"));
    let wrong = format!("{HEAD}int32_t fatctx_view_close(fatctx_view, uint32_t);\n");
    assert!(compile("wrong_function.c", &wrong).unwrap_err().contains("fatctx_view_close"));
}

#[test]
fn the_library_has_the_version_of_these_declarations() {
    assert_eq!(unsafe { fatctx_abi_version() }, FATCTX_ABI_VERSION);
}

#[test]
fn the_defaults_of_the_library_fit_into_the_structs() {
    let mut options = fatctx_rewrite_options::default();
    assert_eq!(options.struct_size as usize, std::mem::size_of::<fatctx_rewrite_options>());
    assert_eq!(options.max_pieces, 0);

    unsafe { fatctx_rewrite_options_init(&mut options, std::mem::size_of::<fatctx_rewrite_options>()) };

    assert_eq!((options.max_pieces, options.sharing), (4096, FATCTX_SHARING_AS_SOURCE));
}
