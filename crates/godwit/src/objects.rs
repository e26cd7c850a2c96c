//! Files in object stores: access to them and their settings, if the program was built with the feature `objects`.

use std::sync::Arc;

use godwit_io::{DiskSystem, Files};
use godwit_memory::BufferManager;

#[cfg(feature = "objects")]
use crate::settings::Setting;

/// Settings for access to object stores.
#[derive(Default)]
pub(crate) struct Objects {
    #[cfg(feature = "objects")]
    settings: Arc<godwit_objects::ObjectSettings>,
}

impl Objects {
    /// Returns the implementation of [`Files`] for a database. `local` has the local files; `None`: those on the real
    /// disk.
    pub(crate) fn files(&self, local: Option<Arc<dyn Files>>, memory: &BufferManager) -> Arc<dyn Files> {
        let local = local.unwrap_or_else(|| Arc::new(DiskSystem));
        #[cfg(feature = "objects")]
        return Arc::new(godwit_objects::ObjectFiles::new(local, self.settings.clone(), memory));
        #[cfg(not(feature = "objects"))]
        {
            let _ = memory;
            local
        }
    }
}

/// Defines a text setting whose default comes from the environment.
#[cfg(feature = "objects")]
macro_rules! object_setting {
    ($name:literal, $setting:ident, $description:literal, $check:expr) => {
        Setting {
            name: $name,
            description: $description,
            default: String::new,
            get: |session| {
                let settings = &session.shared.objects.settings;
                settings.shown(godwit_objects::ObjectSetting::$setting).unwrap_or_default()
            },
            set: |session, value| {
                let value: String = $check(value)?;
                session.shared.objects.settings.set(godwit_objects::ObjectSetting::$setting, Some(value));
                Ok(())
            },
            reset: |session| {
                session.shared.objects.settings.set(godwit_objects::ObjectSetting::$setting, None);
                Ok(())
            },
        }
    };
}

/// The settings of object stores.
#[cfg(not(feature = "objects"))]
pub(crate) const SETTINGS: &[crate::settings::Setting] = &[];

/// The settings of object stores.
#[cfg(feature = "objects")]
pub(crate) const SETTINGS: &[Setting] = &[
    object_setting!(
        "http_bearer_token",
        HttpBearerToken,
        "What web servers are shown as the right to read, by https or on this machine; never shown here",
        any
    ),
    object_setting!(
        "s3_access_key_id",
        S3AccessKeyId,
        "The user of s3:// files; else that of the environment, AWS_ACCESS_KEY_ID, or nobody",
        any
    ),
    object_setting!(
        "s3_endpoint",
        S3Endpoint,
        "Another server than Amazon's for s3:// files, as 'https://host:port'; else AWS_ENDPOINT_URL",
        any
    ),
    object_setting!("s3_region", S3Region, "The region of s3:// files; else AWS_REGION, or 'us-east-1'", any),
    object_setting!(
        "s3_secret_access_key",
        S3SecretAccessKey,
        "The secret of s3_access_key_id; else AWS_SECRET_ACCESS_KEY; never shown here",
        any
    ),
    object_setting!(
        "s3_session_token",
        S3SessionToken,
        "What temporary users of s3:// files have besides; else AWS_SESSION_TOKEN; never shown here",
        any
    ),
    object_setting!(
        "s3_url_style",
        S3UrlStyle,
        "Where requests name the bucket: 'path' (host/bucket) or 'vhost' (bucket.host)",
        url_style
    ),
    object_setting!(
        "s3_use_ssl",
        S3UseSsl,
        "Whether an s3_endpoint without http:// or https:// is reached by the latter: true or false",
        truth
    ),
];

#[cfg(feature = "objects")]
fn any(value: &str) -> godwit_common::Result<String> {
    Ok(value.to_owned())
}

#[cfg(feature = "objects")]
fn truth(value: &str) -> godwit_common::Result<String> {
    crate::settings::parse_bool("s3_use_ssl", value).map(|is_true| is_true.to_string())
}

#[cfg(feature = "objects")]
fn url_style(value: &str) -> godwit_common::Result<String> {
    match value.to_lowercase().as_str() {
        style @ ("path" | "vhost") => Ok(style.to_owned()),
        _ => {
            Err(godwit_common::Error::user(format!("s3_url_style can't be '{value}'"))
                .with_hint("use 'path' or 'vhost'"))
        }
    }
}
