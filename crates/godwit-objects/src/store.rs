//! Stores: connecting to each kind, and requests to it.

use std::env;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::StreamExt;
use godwit_common::MemoryTag;
use godwit_memory::{BufferManager, Reservation};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::list::PaginatedListStore;
use object_store::path::Path as ObjectPath;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore};
use tokio::sync::Semaphore;

use crate::config::{REQUESTS_AHEAD_MAX, RETRIES_MAX, WHOLE_BYTES_MAX};
use crate::failure::{Failure, Seen};
use crate::location::{Location, StoreKind};
use crate::settings::{ObjectSetting, ObjectSettings};
use crate::transport::{Network, Transport, retries};

/// Environment variables for credentials, by kind of store. If none of them is set, requests aren't signed: public
/// objects can be read, and there is no wait for a metadata server that may not exist.
const CREDENTIALS: [(StoreKind, &[&str]); 3] = [
    (
        StoreKind::S3,
        &[
            "AWS_ACCESS_KEY_ID",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "AWS_METADATA_ENDPOINT",
        ],
    ),
    (
        StoreKind::Google,
        &[
            "GOOGLE_SERVICE_ACCOUNT",
            "GOOGLE_SERVICE_ACCOUNT_PATH",
            "GOOGLE_SERVICE_ACCOUNT_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "SERVICE_ACCOUNT",
        ],
    ),
    (
        StoreKind::Azure,
        &[
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_ACCESS_KEY",
            "AZURE_STORAGE_SAS_KEY",
            "AZURE_STORAGE_SAS_TOKEN",
            "AZURE_STORAGE_TOKEN",
            "AZURE_STORAGE_USE_EMULATOR",
            "AZURE_CLIENT_ID",
            "AZURE_CLIENT_SECRET",
            "AZURE_FEDERATED_TOKEN_FILE",
            "AZURE_USE_AZURE_CLI",
            "AZURE_MSI_ENDPOINT",
            "IDENTITY_ENDPOINT",
        ],
    ),
];

/// A bucket, a container or a web server.
#[derive(Debug)]
pub(crate) struct Store {
    kind: StoreKind,
    objects: Arc<dyn ObjectStore>,
    /// `None`: it can't be listed.
    lister: Option<Lister>,
    /// Permits for read-ahead requests in flight.
    pub(crate) slots: Arc<Semaphore>,
}

/// The interface for listing a store page by page.
#[derive(Clone)]
pub(crate) struct Lister(pub(crate) Arc<dyn PaginatedListStore>);

impl std::fmt::Debug for Lister {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lister")
    }
}

/// An object at the time it was looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) bytes: u64,
    pub(crate) modified: Option<SystemTime>,
    /// The store's tag for this content; different contents never share one.
    pub(crate) etag: Option<String>,
}

impl Version {
    pub(crate) fn of(meta: &ObjectMeta) -> Self {
        let modified = Some(SystemTime::from(meta.last_modified)).filter(|&time| time > SystemTime::UNIX_EPOCH);
        Self { bytes: meta.size, modified, etag: meta.e_tag.clone() }
    }

    /// Returns the tag if a server can compare it: contents with the same weak tag, `W/"…"`, may differ.
    fn strong_etag(&self) -> Option<String> {
        self.etag.clone().filter(|etag| !etag.starts_with("W/"))
    }
}

/// Bytes of an object, and its version.
pub(crate) struct Got {
    pub(crate) version: Version,
    pub(crate) start: u64,
    pub(crate) bytes: Vec<u8>,
}

/// Receives the bytes of an answer as they arrive.
type Taker<'a> = &'a mut (dyn FnMut(&[u8]) + Send);

impl Store {
    /// Connects to the store of a location.
    pub(crate) fn connect(location: &Location, settings: &ObjectSettings, network: &Network) -> io::Result<Self> {
        let (token, url) = match location.kind {
            StoreKind::Web => (bearer_token(location, settings), location.url.clone()),
            _ => (None, format!("{}/", location.root)),
        };
        let transport = Transport::new(network.client()?, token);
        let connected = match location.kind {
            StoreKind::S3 => s3(&url, settings).with_http_connector(transport).build().map(Self::listed(location.kind)),
            StoreKind::Google => {
                let builder = GoogleCloudStorageBuilder::from_env().with_url(url).with_retry(retries());
                let builder = builder.with_skip_signature(!has_credentials(location.kind));
                builder.with_http_connector(transport).build().map(Self::listed(location.kind))
            }
            StoreKind::Azure => {
                let builder = MicrosoftAzureBuilder::from_env().with_url(url).with_retry(retries());
                let builder = builder.with_skip_signature(!has_credentials(location.kind));
                builder.with_http_connector(transport).build().map(Self::listed(location.kind))
            }
            StoreKind::Web => {
                let builder = HttpBuilder::new().with_url(url).with_retry(retries());
                builder
                    .with_http_connector(transport)
                    .build()
                    .map(|store| Self::new(location.kind, Arc::new(store), None))
            }
        };
        let invalid = |error: object_store::Error| {
            let what = godwit_common::without_secrets(&error.to_string());
            io::Error::new(io::ErrorKind::InvalidInput, what)
        };
        connected.map_err(invalid)
    }

    fn new(kind: StoreKind, objects: Arc<dyn ObjectStore>, lister: Option<Lister>) -> Self {
        Self { kind, objects, lister, slots: Arc::new(Semaphore::new(REQUESTS_AHEAD_MAX)) }
    }

    fn listed<S: ObjectStore + PaginatedListStore>(kind: StoreKind) -> impl FnOnce(S) -> Self {
        move |store| {
            let store = Arc::new(store);
            Self::new(kind, store.clone(), Some(Lister(store)))
        }
    }

    /// Returns the same store, sharing the limit on requests.
    pub(crate) fn sharing_slots(&self) -> Self {
        Self { kind: self.kind, objects: self.objects.clone(), lister: None, slots: self.slots.clone() }
    }

    pub(crate) fn objects(&self) -> &Arc<dyn ObjectStore> {
        &self.objects
    }

    pub(crate) fn lister(&self) -> Option<Lister> {
        self.lister.clone()
    }

    /// Returns the first or the last bytes of an object in any version except the `known` one.
    pub(crate) async fn look(
        &self,
        path: &ObjectPath,
        part: Part,
        bytes: u64,
        known: Option<&Version>,
    ) -> Result<Got, Failure> {
        let if_none_match = known.and_then(Version::strong_etag);
        let options = GetOptions { if_none_match, ..GetOptions::default() };
        let range = match part {
            Part::Start => GetRange::Bounded(0..bytes),
            Part::End if self.kind.has_suffix_ranges() => GetRange::Suffix(bytes),
            Part::End => return self.head(path, options).await,
        };
        let mut bytes = Vec::new();
        let mut take = |piece: &[u8]| bytes.extend_from_slice(piece);
        match self.get(path, GetOptions { range: Some(range), ..options.clone() }, None, &mut take).await {
            // An empty object has no range that can be requested.
            Err(Failure::NoSuchRange) => self.head(path, options).await,
            Ok((version, start)) => Ok(Got { version, start, bytes }),
            Err(failure) => Err(failure),
        }
    }

    /// Returns an object from a server that only sends whole files, with the memory for it.
    pub(crate) async fn whole(&self, path: &ObjectPath, memory: &BufferManager) -> Result<(Got, Reservation), Failure> {
        let no_room = |error: godwit_common::Error| Failure::Memory(error.message().to_owned());
        let mut room = memory.reserve(0, MemoryTag::Reader).map_err(no_room)?;
        let head = self.head(path, GetOptions::default()).await?;
        if head.version.bytes > WHOLE_BYTES_MAX {
            return Err(Failure::NoRanges);
        }
        room.resize(head.version.bytes as usize).map_err(no_room)?;
        let mut bytes = Vec::with_capacity(head.version.bytes as usize);
        // A longer one isn't the version that was looked up.
        let mut take =
            |piece: &[u8]| bytes.extend_from_slice(&piece[..piece.len().min(bytes.capacity() - bytes.len())]);
        let (version, start) = self.get(path, GetOptions::default(), Some(&head.version), &mut take).await?;
        match bytes.len() as u64 == version.bytes {
            true => Ok((Got { version, start, bytes }, room)),
            false => Err(Failure::Changed),
        }
    }

    async fn head(&self, path: &ObjectPath, options: GetOptions) -> Result<Got, Failure> {
        let (version, start) = self.get(path, GetOptions { head: true, ..options }, None, &mut |_| {}).await?;
        Ok(Got { version, start, bytes: Vec::new() })
    }

    /// Passes on all bytes of a range as they arrive; the object must be unchanged.
    pub(crate) async fn read(
        &self,
        path: &ObjectPath,
        version: &Version,
        range: Range<u64>,
        take: Taker<'_>,
    ) -> Result<(), Failure> {
        let mut at = range.start;
        for _ in 0..=RETRIES_MAX {
            let options = GetOptions {
                if_match: version.strong_etag(),
                range: Some(GetRange::Bounded(at..range.end)),
                ..GetOptions::default()
            };
            let mut count = |piece: &[u8]| {
                at += piece.len() as u64;
                take(piece);
            };
            match self.get(path, options, Some(version), &mut count).await {
                // The object is longer, so the answer was cut short.
                Ok(_) if at < range.end => {}
                Ok(_) => return Ok(()),
                // The object was longer when it was opened.
                Err(Failure::NoSuchRange) => return Err(Failure::Changed),
                Err(failure) => return Err(failure),
            }
        }
        let what = format!("the answers of the server were cut short, {} times", RETRIES_MAX + 1);
        Err(Failure::Other(io::ErrorKind::Other, what))
    }

    /// Requests an object, in the version `known` if given. Returns its version, and where the bytes begin.
    async fn get(
        &self,
        path: &ObjectPath,
        mut options: GetOptions,
        known: Option<&Version>,
        take: Taker<'_>,
    ) -> Result<(Version, u64), Failure> {
        let seen = Arc::<Seen>::default();
        options.extensions.insert(seen.clone());
        let is_head = options.head;
        let failed = |error: object_store::Error| Failure::of(&error, &seen);
        let result = self.objects.get_opts(path, options).await.map_err(failed)?;
        let (version, start) = (Version::of(&result.meta), result.range.start);
        if known.is_some_and(|known| known.etag != version.etag || known.bytes != version.bytes) {
            return Err(Failure::Changed);
        }
        if !is_head {
            let mut stream = result.into_stream();
            while let Some(piece) = stream.next().await {
                take(&piece.map_err(failed)?);
            }
        }
        Ok((version, start))
    }
}

/// The part of an object that comes with the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Start,
    End,
}

fn has_credentials(kind: StoreKind) -> bool {
    let known = CREDENTIALS.iter().filter(|(of, _)| *of == kind).flat_map(|(_, names)| names.iter());
    known.into_iter().any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()))
}

fn s3(url: &str, settings: &ObjectSettings) -> AmazonS3Builder {
    use ObjectSetting as S;
    let mut builder = AmazonS3Builder::from_env().with_url(url).with_retry(retries());
    if let Some(region) = settings.get(S::S3Region) {
        builder = builder.with_region(region);
    }
    let bucket = url.split("://").nth(1).unwrap_or_default().trim_end_matches('/');
    let is_virtual = settings.get(S::S3UrlStyle).map(|style| style == "vhost");
    if let Some(endpoint) = settings.s3_endpoint() {
        builder = match (is_virtual, endpoint.split_once("://")) {
            (Some(true), Some((scheme, host))) => builder.with_endpoint(format!("{scheme}://{bucket}.{host}")),
            _ => builder.with_endpoint(&endpoint),
        };
        builder = builder.with_allow_http(endpoint.starts_with("http://"));
    }
    if let Some(is_virtual) = is_virtual {
        builder = builder.with_virtual_hosted_style_request(is_virtual);
    }
    let mut is_known = has_credentials(StoreKind::S3);
    if let (Some(key), Some(secret)) = (settings.get(S::S3AccessKeyId), settings.get(S::S3SecretAccessKey)) {
        builder = builder.with_access_key_id(key).with_secret_access_key(secret);
        is_known = true;
    }
    if let Some(token) = settings.get(S::S3SessionToken) {
        builder = builder.with_token(token);
    }
    builder.with_skip_signature(!is_known)
}

/// Returns the bearer token of web servers. It isn't sent where others could read it.
fn bearer_token(location: &Location, settings: &ObjectSettings) -> Option<String> {
    let server = location.root.split("://").nth(1).unwrap_or_default();
    let host = server.rsplit_once(':').map_or(server, |(host, _)| host);
    let is_safe = location.root.starts_with("https://") || matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    settings.get(ObjectSetting::HttpBearerToken).filter(|_| is_safe)
}
