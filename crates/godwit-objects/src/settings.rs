//! Settings for access to stores, with the environment as fallback.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_common::without_secrets;
use parking_lot::RwLock;

/// A setting of object stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ObjectSetting {
    /// The region of S3 buckets.
    S3Region,
    /// The endpoint of another server that speaks S3, as `https://host:port`.
    S3Endpoint,
    /// The access key ID for S3.
    S3AccessKeyId,
    /// The secret access key for S3.
    S3SecretAccessKey,
    /// The session token of temporary credentials.
    S3SessionToken,
    /// Whether buckets are part of the path or of the server's name.
    S3UrlStyle,
    /// Whether an endpoint without `http://` or `https://` is reached by HTTPS.
    S3UseSsl,
    /// The bearer token sent to web servers.
    HttpBearerToken,
}

impl ObjectSetting {
    const COUNT: usize = 8;

    /// Returns true if its value must not be shown.
    pub fn is_secret(self) -> bool {
        matches!(self, Self::S3SecretAccessKey | Self::S3SessionToken | Self::HttpBearerToken)
    }
}

/// The settings of all stores of a database. Changes apply to files that are opened later.
#[derive(Default)]
pub struct ObjectSettings {
    values: RwLock<[Option<String>; ObjectSetting::COUNT]>,
    changes: AtomicU64,
}

impl ObjectSettings {
    /// Returns the value that was set.
    pub(crate) fn get(&self, setting: ObjectSetting) -> Option<String> {
        self.values.read()[setting as usize].clone()
    }

    /// Returns the value that was set, in a form that may be shown: for secrets only that there is one; URLs without
    /// users and passwords.
    pub fn shown(&self, setting: ObjectSetting) -> Option<String> {
        let value = self.get(setting)?;
        Some(if setting.is_secret() { "(set, not shown)".to_owned() } else { without_secrets(&value) })
    }

    /// Sets a value; `None`: use the environment.
    pub fn set(&self, setting: ObjectSetting, value: Option<String>) {
        self.values.write()[setting as usize] = value;
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// Number of changes of settings.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Returns the S3 endpoint, if it isn't the region's.
    pub(crate) fn s3_endpoint(&self) -> Option<String> {
        let endpoint = self.get(ObjectSetting::S3Endpoint)?;
        if endpoint.contains("://") {
            return Some(endpoint);
        }
        let is_plain = self.get(ObjectSetting::S3UseSsl).as_deref() == Some("false");
        Some(format!("{}://{endpoint}", if is_plain { "http" } else { "https" }))
    }
}

impl fmt::Debug for ObjectSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObjectSettings { .. }")
    }
}
