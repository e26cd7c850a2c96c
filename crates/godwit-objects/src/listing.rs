//! Listing of a folder in a store: the names up to the next slash, page by page.

use std::sync::Arc;

use godwit_common::MemoryTag;
use godwit_memory::BufferManager;
use object_store::list::{PaginatedListOptions, PaginatedListResult};

use crate::config::{ENTRIES_MAX, ENTRY_BYTES};
use crate::failure::{Failure, Seen};
use crate::store::{Lister, Version};

/// An entry of a folder.
#[derive(Debug)]
pub(crate) enum Entry {
    /// An object, by its name in the folder.
    File(String, Version),
    /// A common prefix of further names.
    Folder(String),
}

impl Entry {
    /// Its name in the folder.
    pub(crate) fn name(&self) -> &str {
        match self {
            Entry::File(name, _) | Entry::Folder(name) => name,
        }
    }
}

/// Returns true if there are names with the prefix.
pub(crate) async fn has_entries(lister: &Lister, prefix: Option<String>) -> Result<bool, Failure> {
    let page = page(lister, prefix.as_deref(), None, Some(1)).await?;
    Ok(!page.result.objects.is_empty() || !page.result.common_prefixes.is_empty())
}

/// Returns all entries below the prefix, ordered by name. Their memory is accounted for while they are collected.
pub(crate) async fn entries(
    lister: &Lister,
    prefix: Option<String>,
    memory: &BufferManager,
) -> Result<Vec<Entry>, Failure> {
    let no_room = |error: godwit_common::Error| Failure::Memory(error.message().to_owned());
    let mut room = memory.reserve(0, MemoryTag::Reader).map_err(no_room)?;
    let (mut entries, mut token) = (Vec::new(), None);
    loop {
        let PaginatedListResult { result, page_token } = page(lister, prefix.as_deref(), token, None).await?;
        let known = prefix.as_deref().map_or(0, str::len);
        // Some tools create an object with the folder's own name.
        let name = |path: &object_store::path::Path| path.as_ref().get(known..).map(str::to_owned);
        let files =
            result.objects.iter().filter_map(|meta| Some(Entry::File(name(&meta.location)?, Version::of(meta))));
        let folders = result.common_prefixes.iter().filter_map(|path| Some(Entry::Folder(name(path)?)));
        entries.extend(files.chain(folders).filter(|entry| !entry.name().is_empty()));
        if entries.len() > ENTRIES_MAX {
            let what = format!("there are more than {ENTRIES_MAX} entries in the folder");
            return Err(Failure::Other(std::io::ErrorKind::Other, what));
        }
        room.resize(entries.len() * ENTRY_BYTES).map_err(no_room)?;
        match page_token {
            Some(next) => token = Some(next),
            None => break,
        }
    }
    entries.sort_unstable_by(|a, b| a.name().cmp(b.name()));
    Ok(entries)
}

async fn page(
    lister: &Lister,
    prefix: Option<&str>,
    page_token: Option<String>,
    max_keys: Option<usize>,
) -> Result<PaginatedListResult, Failure> {
    let seen = Arc::<Seen>::default();
    let mut options =
        PaginatedListOptions { delimiter: Some("/".into()), max_keys, page_token, ..PaginatedListOptions::default() };
    options.extensions.insert(seen.clone());
    lister.0.list_paginated(prefix, options).await.map_err(|error| Failure::of(&error, &seen))
}
