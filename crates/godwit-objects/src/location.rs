//! URLs of objects.

use std::fmt;
use std::io;
use std::path::Path;

use godwit_common::without_secrets;
use godwit_io::url_scheme;
use object_store::path::Path as ObjectPath;

/// The kinds of stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum StoreKind {
    S3,
    Google,
    Azure,
    /// A web server: files that are named individually, read-only.
    Web,
}

impl StoreKind {
    /// Returns the kind for a scheme.
    pub(crate) fn of_scheme(scheme: &str) -> Option<Self> {
        match scheme {
            "s3" | "s3a" => Some(Self::S3),
            "gs" | "gcs" => Some(Self::Google),
            "az" | "azure" | "abfs" | "abfss" => Some(Self::Azure),
            "http" | "https" => Some(Self::Web),
            _ => None,
        }
    }

    /// Returns true if the last bytes of an object can be requested without knowing its length.
    pub(crate) fn has_suffix_ranges(self) -> bool {
        self != Self::Azure
    }
}

/// The location of an object, or of objects below a common prefix. Shown without secrets.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Location {
    pub(crate) kind: StoreKind,
    /// The URL as written; also used for web servers, where names may continue after a question mark.
    pub(crate) url: String,
    /// Scheme and bucket, container or server: the unit of connections and credentials.
    pub(crate) root: String,
    /// The name in the store; empty for the whole store and for web servers, where the URL is the name.
    pub(crate) path: ObjectPath,
}

impl Location {
    /// Returns the location of a path that is a URL of a known scheme.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what.to_owned());
        let url = path.to_str().ok_or_else(|| invalid("the URL is not UTF-8"))?;
        let scheme = url_scheme(url).ok_or_else(|| invalid("it is not a URL"))?;
        let kind = StoreKind::of_scheme(scheme).ok_or_else(|| invalid("nothing is known of URLs like it"))?;
        let rest = &url[scheme.len() + "://".len()..];
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        if authority.is_empty() {
            return Err(invalid("the URL names no bucket and no server"));
        }
        // Containers are where other URLs have users: abfss://container@account.dfs.core.windows.net/path.
        if authority.contains('@') && kind != StoreKind::Azure {
            return Err(invalid("users and keys don't belong into URLs: SET them, or name them in the environment"));
        }
        let root = format!("{scheme}://{authority}");
        let name = match kind {
            StoreKind::Web => "",
            _ => rest[authority.len()..].trim_matches('/'),
        };
        let path = ObjectPath::parse(name).map_err(|_| invalid("no object can have a name like that"))?;
        Ok(Self { kind, url: url.to_owned(), root, path })
    }

    /// Returns the prefix of names in the folder; `None`: the whole store.
    pub(crate) fn prefix(&self) -> Option<String> {
        let name = self.path.as_ref();
        (!name.is_empty()).then(|| format!("{name}/"))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_secrets(&self.url))
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_a_store_and_an_object() {
        let of = |url: &str| Location::of(Path::new(url)).unwrap();
        let parts = |url: &str| (of(url).kind, of(url).root, of(url).path.to_string());
        assert_eq!(parts("s3://b/x/y.parquet"), (StoreKind::S3, "s3://b".into(), "x/y.parquet".into()));
        assert_eq!(parts("gs://b/x/"), (StoreKind::Google, "gs://b".into(), "x".into()));
        assert_eq!(parts("az://c"), (StoreKind::Azure, "az://c".into(), String::new()));
        let hadoop = "abfss://c@a.dfs.core.windows.net/x";
        assert_eq!(parts(hadoop), (StoreKind::Azure, "abfss://c@a.dfs.core.windows.net".into(), "x".into()));
        assert_eq!(parts("https://h:1/x?y=z"), (StoreKind::Web, "https://h:1".into(), String::new()));
        assert_eq!(of("s3://b/x").prefix().as_deref(), Some("x/"));
        assert_eq!(of("s3://b").prefix(), None);
    }

    #[test]
    fn wrong_urls_are_errors_and_secrets_are_not_shown() {
        for url in ["s3://", "s3:///x", "s3://k:s@b/x", "https://u:p@h/x", "s3://b/x//y", "x.parquet", "ftp://h/x"] {
            assert_eq!(Location::of(Path::new(url)).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{url}");
        }
        let location = Location::of(Path::new("https://h/x?X-Signature=abc")).unwrap();
        assert!(!format!("{location} {location:?}").contains("abc"));
    }
}
