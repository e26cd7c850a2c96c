//! Paths that aren't local.

use std::path::Path;

use godwit_common::{Error, Result, without_secrets};
use godwit_io::{Files, url_scheme};

/// Returns the part of a path that ends with the file extension, without a URL's question mark and what follows.
pub(crate) fn name_of(path: &Path) -> &Path {
    match path.to_str().filter(|text| url_scheme(text).is_some()).and_then(|text| text.split_once('?')) {
        Some((name, _)) => Path::new(name),
        None => path,
    }
}

/// Fails if a path is a URL, since files that are opened in place have to be local.
pub fn check_local(path: &str) -> Result<()> {
    match url_scheme(path) {
        Some(scheme) if scheme != "file" => {
            Err(Error::unsupported(format!("databases on other machines, such as {}", without_secrets(path)))
                .with_hint("copy the file to this machine first"))
        }
        _ => Ok(()),
    }
}

/// Fails if a path is a URL that can't be reached.
pub fn check_reachable(files: &dyn Files, path: &str) -> Result<()> {
    match url_scheme(path) {
        Some(scheme) if scheme != "file" && !files.reaches(scheme) => {
            let what = format!("URLs that begin with {scheme}://, such as {}", without_secrets(path));
            Err(Error::unsupported(what).with_hint(match files.reaches("s3") {
                true => "s3, gs, az, abfss, http and https are read; or copy the file to this machine first",
                false => "this program was built without object stores; copy the file to this machine first",
            }))
        }
        _ => Ok(()),
    }
}
