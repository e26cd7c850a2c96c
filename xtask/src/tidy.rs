//! House rules that the compiler doesn't check: the order of the crates, where `unsafe` is allowed, the length of
//! files, and the existence of what the documents name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Crates that may contain `unsafe`; all others forbid it.
const UNSAFE_CRATES: [&str; 7] = [
    "godwit-allocator",
    "godwit-trace",
    "godwit-io",
    "godwit-memory",
    "godwit-vector",
    "godwit-encoding",
    "godwit-rows",
];

/// Crates on the same level: none depends on another.
const SIBLINGS: [&str; 3] = ["godwit-exec", "godwit-tables", "godwit-files"];

/// Number of lines, without tests, above which a file should be split.
const FILE_LINES_MAX: usize = 800;

/// Documents in which `code spans` that look like paths must name existing files.
const DOCUMENTS: [&str; 3] = ["README.md", "ARCHITECTURE.md", "GLOSSARY.md"];

pub(crate) fn run(root: &Path) -> ExitCode {
    let mut complaints = Vec::new();
    check_crate_order(root, &mut complaints);
    check_sources(root, &mut complaints);
    check_documents(root, &mut complaints);
    for complaint in &complaints {
        eprintln!("tidy: {complaint}");
    }
    if complaints.is_empty() {
        println!("tidy: all in order");
        ExitCode::SUCCESS
    } else {
        eprintln!("tidy: {} complaints", complaints.len());
        ExitCode::FAILURE
    }
}

/// Returns the crates in the order of the table in ARCHITECTURE.md: a crate depends only on crates above it.
fn crate_order(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();
    text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).map(str::to_owned).collect()
}

fn check_crate_order(root: &Path, complaints: &mut Vec<String>) {
    let order = crate_order(root);
    let position = |name: &str| order.iter().position(|known| known == name);
    for manifest in manifests(root) {
        let name = manifest.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        let Some(own) = position(&name) else {
            complaints.push(format!("{name} is missing in the table of ARCHITECTURE.md"));
            continue;
        };
        for dependency in godwit_dependencies(&fs::read_to_string(&manifest).unwrap_or_default()) {
            if SIBLINGS.contains(&name.as_str()) && SIBLINGS.contains(&dependency.as_str()) {
                complaints.push(format!("{name} depends on {dependency}, which stands beside it"));
            }
            match position(&dependency) {
                Some(other) if other < own => {}
                Some(_) => complaints.push(format!("{name} depends on {dependency}, which is not above it")),
                None => complaints.push(format!("{name} depends on {dependency}, which ARCHITECTURE.md doesn't know")),
            }
        }
    }
}

fn manifests(root: &Path) -> Vec<PathBuf> {
    let mut manifests: Vec<PathBuf> = fs::read_dir(root.join("crates"))
        .map(|entries| entries.flatten().map(|entry| entry.path().join("Cargo.toml")).collect())
        .unwrap_or_default();
    manifests.push(root.join("xtask/Cargo.toml"));
    manifests.retain(|manifest| manifest.is_file());
    manifests
}

/// Returns the workspace crates among the normal dependencies of a manifest.
fn godwit_dependencies(manifest: &str) -> Vec<String> {
    let mut section = String::new();
    let mut dependencies = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.to_owned();
        } else if section == "[dependencies]" && line.starts_with("godwit") {
            dependencies.push(line.split(['.', ' ', '=']).next().unwrap_or_default().to_owned());
        }
    }
    dependencies
}

fn check_sources(root: &Path, complaints: &mut Vec<String>) {
    for manifest in manifests(root) {
        let Some(folder) = manifest.parent() else { continue };
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let entry = ["src/lib.rs", "src/main.rs"].map(|file| folder.join(file)).into_iter().find(|file| file.is_file());
        let entry_text = entry.map(|file| fs::read_to_string(file).unwrap_or_default()).unwrap_or_default();
        if !UNSAFE_CRATES.contains(&name.as_str()) && !entry_text.contains("#![forbid(unsafe_code)]") {
            complaints.push(format!("{name} lacks #![forbid(unsafe_code)]"));
        }
        let mut files = Vec::new();
        rust_files(&folder.join("src"), &mut files);
        for file in files {
            let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            let text = fs::read_to_string(&file).unwrap_or_default();
            if !text.starts_with("//!") && !shown.ends_with("tests.rs") {
                complaints.push(format!("{shown} lacks a module doc"));
            }
            let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
            if lines > FILE_LINES_MAX && !shown.ends_with("tests.rs") {
                complaints.push(format!("{shown} has {lines} lines: what is its second subject?"));
            }
        }
    }
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Checks that paths in code spans (`crates/x/src/y.rs`, `bench/run.py`) exist.
fn check_documents(root: &Path, complaints: &mut Vec<String>) {
    for document in DOCUMENTS {
        let Ok(text) = fs::read_to_string(root.join(document)) else {
            complaints.push(format!("{document} is missing"));
            continue;
        };
        for span in text.split('`').skip(1).step_by(2) {
            let top = span.split('/').next().unwrap_or_default();
            let is_path = span.contains('/') && ["crates", "bench", "tests", "xtask", "docs", ".ci"].contains(&top);
            if is_path && !span.contains([' ', '*', '<', '{']) && !root.join(span).exists() {
                complaints.push(format!("{document} names {span}, which doesn't exist"));
            }
        }
    }
}
