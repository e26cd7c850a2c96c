use std::path::Path;

use godwit_common::ErrorKind;
use godwit_io::{DiskFault, DiskSystem, FileSystem, SimulatedDisk};
use proptest::prelude::*;

use super::*;

const PATH: &str = "/db/x.godwit";

fn path() -> &'static Path {
    Path::new(PATH)
}

fn content(seed: u64, bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|at| (at.wrapping_mul(seed | 1) >> 3) as u8).collect()
}

/// Replaces the content of the file with a stream; returns the new checkpoint.
fn replace(file: &DatabaseFile, bytes: &[u8]) -> Result<CheckpointNumber> {
    let (_, old) = file.newest();
    let mut checkpoint = file.begin()?;
    if let Some(old) = old {
        checkpoint.release_stream(&old)?;
    }
    let root = checkpoint.write_stream(bytes)?;
    checkpoint.commit(Some(root))
}

/// Opens a file and reads its content.
fn reopen(disk: &dyn FileSystem) -> Result<(DatabaseFile, CheckpointNumber, Vec<u8>)> {
    let file = DatabaseFile::open(disk, path(), false)?;
    let (number, root) = file.newest();
    let content = match root {
        None => Vec::new(),
        Some(root) => {
            file.mark_stream_used(&root)?;
            file.read_stream(&root)?
        }
    };
    Ok((file, number, content))
}

#[test]
fn checkpoints_replace_each_other_in_bounded_space() {
    let folder = std::env::temp_dir().join(format!("godwit-storage-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("x.godwit");
    let file = DatabaseFile::create(&DiskSystem, &path).unwrap();
    for round in 0..10 {
        let bytes = content(round, BLOCK_BYTES * 2 + 17);
        assert_eq!(replace(&file, &bytes).unwrap(), CheckpointNumber(round + 2));
        assert_eq!(file.read_stream(&file.newest().1.unwrap()).unwrap(), bytes);
    }
    // Header, old and new state side by side.
    assert!(file.block_counts().0 <= 1 + 2 * 4, "{:?}", file.block_counts());
    let error = DatabaseFile::open(&DiskSystem, &path, true).err().unwrap();
    assert!(error.message().contains("another process"), "{error}");
    drop(file);
    let readers = [(); 2].map(|()| DatabaseFile::open(&DiskSystem, &path, true).unwrap());
    assert_eq!(readers[1].newest().0, CheckpointNumber(11));
    assert!(readers[0].begin().is_err());
    drop(readers);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_no_database_is_refused_in_words() {
    let disk = SimulatedDisk::new();
    let missing = DatabaseFile::open(&disk, path(), false).err().unwrap();
    assert_eq!(missing.kind(), ErrorKind::User);
    let file = disk.open(path(), OpenMode::Create).unwrap();
    file.write_at(b"short", 0).unwrap();
    assert!(DatabaseFile::open(&disk, path(), false).err().unwrap().message().contains("not a Godwit database"));
    file.write_at(&content(1, 3 * HEADER_BYTES), 0).unwrap();
    assert!(DatabaseFile::open(&disk, path(), false).err().unwrap().message().contains("not a Godwit database"));
    disk.remove(path()).unwrap();
    DatabaseFile::create(&disk, path()).unwrap();
    assert!(DatabaseFile::create(&disk, path()).is_err());
    // A newer format: the version follows the magic.
    disk.flip_bit(path(), 12, 7);
    assert!(DatabaseFile::open(&disk, path(), false).err().unwrap().message().contains("format"));
}

#[test]
fn an_abandoned_checkpoint_leaves_no_trace() {
    let disk = SimulatedDisk::new();
    let file = DatabaseFile::create(&disk, path()).unwrap();
    replace(&file, &content(5, 1000)).unwrap();
    let before = file.block_counts();
    let mut checkpoint = file.begin().unwrap();
    checkpoint.write_stream(&content(6, BLOCK_BYTES * 3)).unwrap();
    drop(checkpoint);
    let after = file.block_counts();
    assert_eq!(before.0 - before.1, after.0 - after.1);
    assert_eq!(file.read_stream(&file.newest().1.unwrap()).unwrap(), content(5, 1000));
}

#[test]
fn a_full_or_broken_disk_fails_one_checkpoint_only() {
    for fault in [DiskFault::Full, DiskFault::Broken] {
        for at in 1..=6 {
            let disk = SimulatedDisk::new();
            let file = DatabaseFile::create(&disk, path()).unwrap();
            replace(&file, &content(1, 5000)).unwrap();
            disk.fail(at, fault);
            let failed = replace(&file, &content(2, BLOCK_BYTES + 1));
            // Steps after the header switch may fail without harm.
            if let Err(error) = &failed {
                let expected = if fault == DiskFault::Full { ErrorKind::Resource } else { ErrorKind::Io };
                assert_eq!(error.kind(), expected, "{error}");
            }
            let file = if file.is_uncertain() {
                assert!(file.begin().is_err());
                drop(file);
                reopen(&disk).unwrap().0
            } else {
                file
            };
            replace(&file, &content(3, 100)).unwrap();
            drop(file);
            assert_eq!(reopen(&disk).unwrap().2, content(3, 100));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The plug is pulled anywhere in a series of checkpoints: the last acknowledged one is there, or the one that was
    /// being written.
    #[test]
    fn a_power_failure_loses_no_checkpoint(
        lengths in prop::collection::vec(0usize..3 * BLOCK_BYTES, 1..6),
        at in 1u64..40,
        seed in any::<u64>(),
    ) {
        let disk = SimulatedDisk::new();
        let file = DatabaseFile::create(&disk, path()).unwrap();
        disk.fail(at, DiskFault::Crash);
        let mut acknowledged = Vec::new();
        let mut tried = Vec::new();
        for (round, &length) in lengths.iter().enumerate() {
            tried = content(round as u64, length);
            if replace(&file, &tried).is_err() {
                break;
            }
            acknowledged = tried.clone();
        }
        drop(file);
        let disk = disk.restart(seed);
        let (file, _, found) = reopen(&disk).unwrap();
        prop_assert!(found == acknowledged || found == tried, "{} bytes found", found.len());
        // The database can still be used.
        replace(&file, b"next").unwrap();
        drop(file);
        prop_assert_eq!(reopen(&disk).unwrap().2, b"next");
    }

    #[test]
    fn a_flipped_bit_is_found(at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let disk = SimulatedDisk::new();
        let file = DatabaseFile::create(&disk, path()).unwrap();
        replace(&file, &content(1, 3000)).unwrap();
        replace(&file, &content(2, BLOCK_BYTES + 9)).unwrap();
        drop(file);
        let bytes = disk.content(path()).unwrap().len();
        disk.flip_bit(path(), at.index(bytes), bit);
        match reopen(&disk) {
            // The bit was in an unused part of the file, or in a header: then the other one counts, whose blocks may
            // have been reused since.
            Ok((_, CheckpointNumber(3), found)) => prop_assert_eq!(found, content(2, BLOCK_BYTES + 9)),
            Ok((_, _, found)) => prop_assert_eq!(found, content(1, 3000)),
            Err(error) => prop_assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::User), "{}", error),
        }
    }
}
