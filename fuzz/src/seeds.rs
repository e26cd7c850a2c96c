//! Writes what fuzzing begins with: `seeds FOLDER` makes a folder for each target, with sound bytes in files.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("the folder is an argument"));
    // No change, one of the first header, one in each half of file and log.
    let changes = [&[][..], &[16, 0, 0, 0, 1], &[0, 0, 16, 0, 255], &[1, 1, 0, 0, 4]];
    write(&folder.join("file"), changes.map(<[u8]>::to_vec));
    write(&folder.join("root"), [godwit_fuzz::sound_root()]);
    write(&folder.join("log"), godwit_fuzz::sound_records());
    write(&folder.join("segment"), godwit_fuzz::sound_parts());
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/sql");
    write(&folder.join("sql"), statements(&corpus).into_iter().map(String::into_bytes));
}

fn write(folder: &Path, seeds: impl IntoIterator<Item = Vec<u8>>) {
    fs::create_dir_all(folder).expect("the folder is writable");
    for (number, seed) in seeds.into_iter().enumerate() {
        fs::write(folder.join(format!("seed-{number}")), seed).expect("the disk has room");
    }
}

/// The statements of all SQL tests below a folder.
fn statements(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the SQL tests are there") {
        let path = entry.expect("the folder is readable").path();
        if path.is_dir() {
            found.extend(statements(&path));
            continue;
        }
        let text = fs::read_to_string(&path).expect("SQL tests are text");
        for record in text.split("\n\n") {
            let lines = record.lines().skip_while(|line| !line.starts_with("query") && !line.starts_with("statement"));
            let sql: Vec<&str> = lines.skip(1).take_while(|line| *line != "----").collect();
            if !sql.is_empty() {
                found.push(sql.join("\n"));
            }
        }
    }
    found
}
