//! Finds the library: below FATCTX_DIR, or by pkg-config. docs.rs has no library, and its builds link nothing.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{exit, Command};

/// The oldest library that has every function of this crate.
const REQUIRED: &str = "fatctx >= 0.1.0";

fn main() {
    for name in
        ["FATCTX_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR", "DOCS_RS"]
    {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    let wants_static = env::var_os("CARGO_FEATURE_STATIC").is_some();
    match flags(wants_static) {
        Ok(flags) => link(&flags, wants_static),
        Err(reason) => {
            eprintln!("error: the library fatctx was not found: {reason}");
            eprintln!("  install it, then name its prefix in FATCTX_DIR or the folder of fatctx.pc in PKG_CONFIG_PATH");
            exit(1);
        }
    }
}

/// Returns the words that a linker would get: -L, -l, and -I for the headers.
fn flags(wants_static: bool) -> Result<Vec<String>, String> {
    let mut command = Command::new(env::var_os("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into()));
    let mut named = None;
    if let Some(prefix) = env::var_os("FATCTX_DIR") {
        let libraries = libraries_of(Path::new(&prefix))
            .ok_or_else(|| format!("FATCTX_DIR is {prefix:?}, and no lib folder there has pkgconfig/fatctx.pc"))?;
        command.env("PKG_CONFIG_PATH", libraries.join("pkgconfig"));
        named = Some((PathBuf::from(prefix), libraries));
    }
    if wants_static {
        command.arg("--static");
    }
    // A system's own folders are printed as well, because the linker of another target does not search them.
    command.env("PKG_CONFIG_ALLOW_SYSTEM_LIBS", "1").args(["--cflags", "--libs", REQUIRED]);
    match (command.output(), named) {
        (Ok(done), _) if done.status.success() => {
            Ok(String::from_utf8_lossy(&done.stdout).split_whitespace().map(String::from).collect())
        }
        (Ok(done), _) => Err(String::from_utf8_lossy(&done.stderr).trim().replace('\n', "; ")),
        // The shared library needs no other word, so a named prefix suffices without pkg-config.
        (Err(_), Some((prefix, libraries))) if !wants_static => Ok(vec![
            format!("-I{}", prefix.join("include").display()),
            format!("-L{}", libraries.display()),
            "-lfatctx".to_string(),
        ]),
        (Err(error), _) => Err(format!("{:?} does not start: {error}", command.get_program())),
    }
}

fn libraries_of(prefix: &Path) -> Option<PathBuf> {
    let multiarch = env::var("TARGET").unwrap_or_default().replace("-unknown", "");
    ["lib".to_string(), "lib64".to_string(), format!("lib/{multiarch}")]
        .iter()
        .map(|name| prefix.join(name))
        .find(|folder| folder.join("pkgconfig/fatctx.pc").is_file())
}

fn link(flags: &[String], wants_static: bool) {
    let folders: Vec<PathBuf> = flags.iter().filter_map(|flag| flag.strip_prefix("-L")).map(tidy).collect();
    for folder in &folders {
        println!("cargo:rustc-link-search=native={}", folder.display());
    }
    for flag in flags {
        if let Some(name) = flag.strip_prefix("-l") {
            let archive = format!("lib{name}.a");
            let own = name.starts_with("fatctx") && folders.iter().any(|folder| folder.join(&archive).is_file());
            println!("cargo:rustc-link-lib={}={name}", if wants_static && own { "static" } else { "dylib" });
        } else if let Some(folder) = flag.strip_prefix("-I") {
            println!("cargo:include={}", tidy(folder).display());
        }
    }
    if let Some(folder) = folders.first() {
        println!("cargo:libdir={}", folder.display());
    }
}

/// fatctx.pc names its folders relative to itself: lib/pkgconfig/../../lib.
fn tidy(folder: &str) -> PathBuf {
    Path::new(folder).canonicalize().unwrap_or_else(|_| PathBuf::from(folder))
}
