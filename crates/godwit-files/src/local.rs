//! Paths that are no paths of this machine.

use godwit_common::{Error, Result, without_secrets};

/// An error if a path is a URL: nothing is read from or written to other machines.
pub fn check_local(path: &str) -> Result<()> {
    match path.split_once("://") {
        Some((scheme, _)) if scheme != "file" && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            Err(Error::unsupported(format!("files on other machines, such as {}", without_secrets(path)))
                .with_hint("copy the file to this machine first"))
        }
        _ => Ok(()),
    }
}
