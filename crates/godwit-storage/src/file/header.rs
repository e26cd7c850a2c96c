//! The file header, which points to the root of the newest checkpoint.

use std::path::Path;

use godwit_common::{Error, Result};

use super::blocks::{BlockNumber, BlockPointer};
use super::stream::StreamPointer;
use crate::{CheckpointNumber, checksum};

/// Bytes of a header, which disks write atomically. Only the first [`USED_BYTES`] are used.
pub(super) const HEADER_BYTES: usize = 4096;

/// "Godwit", and bytes that don't occur in text files or don't survive a conversion of line ends.
const MAGIC: [u8; 12] = *b"GODWIT\r\n\x1a\n\0\xff";

/// The format that this version writes, and the newest one that it reads. 1: the first. 2: rules and deleted rows of
/// tables. 3: everything that log records can say is in the root, too: deltas, schemas. 4: columns of nested types. 5:
/// SQL types of columns that Arrow's types can't express. 6: whether parts have codes; encodings 8 to 13. 7: encoding 14.
const FORMAT_VERSION: u32 = 7;

/// Magic, version, checkpoint, blocks, root flag, root pointer, root bytes, checksum.
const USED_BYTES: usize = 12 + 4 + 8 + 4 + 4 + 12 + 8 + 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileHeader {
    pub checkpoint: CheckpointNumber,
    pub root: Option<StreamPointer>,
    /// Number of blocks in the file, including the first.
    pub blocks: u32,
}

impl FileHeader {
    pub(super) fn to_bytes(self, slot: u64) -> [u8; HEADER_BYTES] {
        let root =
            self.root.unwrap_or(StreamPointer { index: BlockPointer { block: BlockNumber(0), checksum: 0 }, bytes: 0 });
        let mut used = Vec::with_capacity(USED_BYTES);
        used.extend(MAGIC);
        used.extend(FORMAT_VERSION.to_le_bytes());
        used.extend(self.checkpoint.0.to_le_bytes());
        used.extend(self.blocks.to_le_bytes());
        used.extend((self.root.is_some() as u32).to_le_bytes());
        used.extend(root.index.to_bytes());
        used.extend(root.bytes.to_le_bytes());
        used.extend(checksum(&used, slot).to_le_bytes());
        let mut bytes = [0; HEADER_BYTES];
        bytes[..USED_BYTES].copy_from_slice(&used);
        bytes
    }

    /// The header in a slot; `None` if the bytes aren't a header of a Godwit database.
    pub(super) fn from_bytes(bytes: &[u8; HEADER_BYTES], slot: u64, path: &Path) -> Result<Option<Self>> {
        let path = path.display();
        let mut rest = &bytes[..USED_BYTES];
        if take::<12>(&mut rest) != MAGIC {
            return Ok(None);
        }
        let version = u32::from_le_bytes(take(&mut rest));
        if version > FORMAT_VERSION {
            let message = format!("{path} has format {version}; this version of Godwit reads up to {FORMAT_VERSION}");
            return Err(Error::user(message).with_hint("open it with a newer version of Godwit"));
        }
        let checkpoint = CheckpointNumber(u64::from_le_bytes(take(&mut rest)));
        let blocks = u32::from_le_bytes(take(&mut rest));
        let has_root = u32::from_le_bytes(take(&mut rest)) == 1;
        let index = BlockPointer::from_bytes(take(&mut rest));
        let root = StreamPointer { index, bytes: u64::from_le_bytes(take(&mut rest)) };
        if u64::from_le_bytes(take(&mut rest)) != checksum(&bytes[..USED_BYTES - 8], slot) {
            return Err(
                Error::corrupt(format!("{path}: the header is damaged")).with_hint("restore the file from a backup")
            );
        }
        Ok(Some(Self { checkpoint, root: has_root.then_some(root), blocks }))
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
    let (head, tail) = bytes.split_first_chunk::<N>().expect("the header has all its fields");
    *bytes = tail;
    *head
}
