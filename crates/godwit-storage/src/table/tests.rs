use arrow_schema::DataType;
use godwit_common::MemoryTag;
use godwit_encoding::EncodingChoice;
use godwit_io::SimulatedDisk;
use godwit_memory::{BufferConfig, ObjectKind, PAGE_BYTES};
use godwit_vector::{Bitmap, Chunk, Data, Vector};
use proptest::prelude::*;

use super::*;
use crate::block::Blocks;
use crate::file::DatabaseFile;
use crate::wire::Reader;

/// A row: a number and a text, either may be NULL.
type Row = (Option<i64>, Option<String>);

fn fields() -> Vec<Field> {
    vec![Field::new("n", DataType::Int64, true), Field::new("t", DataType::Utf8View, true)]
}

fn memory(folder: &tempfile::TempDir) -> BufferManager {
    let mut config = BufferConfig::new(64 << 20);
    config.temp_directory = folder.path().to_owned();
    BufferManager::new(config).unwrap()
}

fn vectors(rows: &[Row]) -> [Vector; 2] {
    let numbers = rows.iter().map(|row| row.0.unwrap_or(0)).collect::<Vec<i64>>();
    let texts = rows.iter().map(|row| row.1.clone().unwrap_or_default());
    let texts = godwit_vector::Flat::Str(godwit_vector::StrColumn::from_strings(texts));
    [
        Vector::from_values(numbers, Some(Bitmap::from_fn(rows.len(), |row| rows[row].0.is_some()))),
        Vector::flat(texts, Some(Bitmap::from_fn(rows.len(), |row| rows[row].1.is_some()))),
    ]
}

/// Loads rows, `workers` at the same time, in chunks.
fn load(base: &Main, rows: &[Row], choice: EncodingChoice, workers: usize, blocks: &Blocks) -> Main {
    let table = blocks.memory().root_object(ObjectKind::Table, "t");
    let objects: Vec<_> = fields().iter().map(|field| table.child(ObjectKind::Column, field.name())).collect();
    let load = Load::new(&fields(), &[choice; 2], &objects, blocks.clone(), blocks.memory(), workers).unwrap();
    std::thread::scope(|scope| {
        for piece in rows.chunks(rows.len().div_ceil(workers).max(1)) {
            let mut worker = load.worker(blocks.memory()).unwrap();
            scope.spawn(move || {
                for chunk in piece.chunks(1_000) {
                    worker.append(&Chunk::new(vectors(chunk).to_vec(), chunk.len())).unwrap();
                }
                worker.finish().unwrap();
            });
        }
    });
    load.finish(base).unwrap()
}

/// All rows of a table.
fn rows_of(main: &Main, memory: &BufferManager) -> Vec<Row> {
    let mut rows = Vec::new();
    for group in &main.groups {
        let columns: Vec<Vec<Vector>> = group.segments.iter().map(|segment| decoded(main, segment, memory)).collect();
        let number = |at: usize, row: usize| {
            let vector = &columns[0][at];
            vector.is_valid(row).then(|| vector.to_flat().values::<i64>()[row])
        };
        let mut numbers = Vec::new();
        for (at, vector) in columns[0].iter().enumerate() {
            numbers.extend((0..vector.len()).map(|row| number(at, row)));
        }
        let mut texts = Vec::new();
        for vector in &columns[1] {
            let flat = vector.to_flat();
            texts.extend(
                (0..vector.len()).map(|row| {
                    vector.is_valid(row).then(|| String::from_utf8(flat.strings().get(row).to_vec()).unwrap())
                }),
            );
        }
        assert_eq!((numbers.len(), texts.len()), (group.rows as usize, group.rows as usize));
        rows.extend(numbers.into_iter().zip(texts));
    }
    rows
}

fn decoded(main: &Main, segment: &Segment, memory: &BufferManager) -> Vec<Vector> {
    let decode = |part: &StoredPart| {
        let first = part.first_row as usize;
        let open = segment.open_rows(&(first..first + part.header.rows as usize), memory).unwrap();
        let vector = open.part().unwrap().decode(0..part.header.rows as usize).unwrap();
        if !part.has_codes() {
            return vector;
        }
        let dictionary = main.columns[1].dictionary.as_ref().unwrap().load(memory).unwrap();
        let codes = vector.to_flat().values::<u32>().to_vec();
        let validity = vector.validity().map(|validity| Bitmap::clone(validity));
        Vector::dictionary(codes.into(), dictionary.shared().clone(), validity)
    };
    segment.parts.iter().map(decode).collect()
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort();
    rows
}

fn database(disk: &SimulatedDisk) -> Arc<DatabaseFile> {
    Arc::new(DatabaseFile::create(disk, std::path::Path::new("/x.godwit")).unwrap())
}

fn many(rows: usize, values: usize) -> Vec<Row> {
    let row = |at: usize| {
        let text = format!("value {} of the column", at * 7919 % values);
        ((!at.is_multiple_of(11)).then_some(at as i64 / 3), (!at.is_multiple_of(5)).then_some(text))
    };
    (0..rows).map(row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Successive loads preserve all rows, in whatever encoding, in memory and in a file.
    #[test]
    fn loads_keep_all_rows(
        pieces in prop::collection::vec(prop::collection::vec((any::<Option<i64>>(), "[a-c]{0,3}|[x-z]{20}"), 0..60), 1..4),
        choice in prop::sample::select(vec![
            EncodingChoice::Auto, EncodingChoice::Plain, EncodingChoice::Packed, EncodingChoice::RunLength,
            EncodingChoice::Symbols, EncodingChoice::Dictionary,
        ]),
        in_file in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let memory = memory(&folder);
        let disk = SimulatedDisk::new();
        let blocks = match in_file {
            true => Blocks::of_file(database(&disk), memory.clone()),
            false => Blocks::of_pool(memory.clone(), MemoryTag::Table),
        };
        let mut main = Main::empty(&fields()).unwrap();
        let mut expected: Vec<Row> = Vec::new();
        for piece in pieces {
            let rows: Vec<Row> =
                piece.into_iter().map(|(n, t)| (n, Some(t).filter(|t| t != "b"))).collect();
            main = load(&main, &rows, choice, 1, &blocks);
            expected.extend(rows);
            prop_assert_eq!(rows_of(&main, &memory), expected.clone());
        }
        if in_file {
            let mut bytes = Vec::new();
            main.write(&mut bytes).unwrap();
            main.blocks().iter().for_each(|block| block.mark_saved());
            blocks.file().unwrap().begin().unwrap().commit(None).unwrap();
            drop((main, blocks));
            let file = DatabaseFile::open(&disk, std::path::Path::new("/x.godwit"), false).unwrap();
            let blocks = Blocks::of_file(Arc::new(file), memory.clone());
            let main = Main::read(&mut Reader(&bytes), &blocks).unwrap();
            prop_assert_eq!(rows_of(&main, &memory), expected);
            // Damage yields an error or some other table, but never a crash.
            for at in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << (at % 8);
                let file = DatabaseFile::open(&disk, std::path::Path::new("/x.godwit"), true).unwrap();
                let _ = Main::read(&mut Reader(&damaged), &Blocks::of_file(Arc::new(file), memory.clone()));
            }
        }
    }
}

#[test]
fn few_values_become_codes_and_many_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(&folder);
    let blocks = Blocks::of_pool(memory.clone(), MemoryTag::Table);
    let empty = Main::empty(&fields()).unwrap();
    let rows = many(150_000, 3_000);
    let main = load(&empty, &rows, EncodingChoice::Auto, 2, &blocks);
    assert_eq!(sorted(rows_of(&main, &memory)), sorted(rows));
    assert!(main.has_only_codes(1));
    assert_eq!(main.columns[1].summary.distinct, 2_400);
    assert_eq!(main.columns[1].summary.nulls, 30_000);
    assert_eq!(main.columns[0].summary.range, Some(ValueRange { min: 0, max: 49_999 }));

    let rows = many(600_000, 599_999);
    let main = load(&empty, &rows, EncodingChoice::Auto, 2, &blocks);
    assert_eq!(sorted(rows_of(&main, &memory)), sorted(rows));
    assert!(!main.has_only_codes(1) && main.columns[1].dictionary.is_none());
}

#[test]
fn a_load_is_bounded_in_memory_and_a_dropped_table_frees_its_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(&folder);
    let disk = SimulatedDisk::new();
    let file = database(&disk);
    let blocks = Blocks::of_file(file.clone(), memory.clone());
    let rows = many(300_000, 10);
    let main = load(&Main::empty(&fields()).unwrap(), &rows, EncodingChoice::Plain, 1, &blocks);
    let (used, _) = file.block_counts();
    assert!(used > 20, "{used} blocks");
    let vector = decoded(&main, &main.groups[0].segments[0], &memory);
    assert!(matches!(vector[0].data(), Data::Flat(_)));
    drop((main, vector));
    let (blocks, free) = file.block_counts();
    assert_eq!(free + 1, blocks, "all but the first block are free");
}

#[test]
fn windows_that_cannot_have_a_number_are_known_from_the_second_time_on() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(&folder);
    let blocks = Blocks::of_pool(memory.clone(), MemoryTag::Table);
    let rows = many(100_000, 90_000);
    let main = load(&Main::empty(&fields()).unwrap(), &rows, EncodingChoice::Auto, 1, &blocks);
    let segment = &main.groups[0].segments[0];
    let has = |rows: &[Row], wanted: ValueRange| {
        rows.iter().filter_map(|row| row.0).any(|n| wanted.min <= n.into() && i128::from(n) <= wanted.max)
    };
    let all = 0..rows.len();
    let one = ValueRange { min: 20_000, max: 20_000 };
    assert!(segment.window_ranges(&memory).unwrap().is_none(), "nothing is read for the first time");
    for (min, max) in
        [(20_000, 20_000), (0, 0), (33_333, 33_333), (100, 5_000), (-5, -1), (40_000, 50_000), (-9, 99_999)]
    {
        let wanted = ValueRange { min, max };
        let within = segment.window_ranges(&memory).unwrap().unwrap().rows_within(all.clone(), wanted);
        assert!(!has(&rows[..within.start], wanted) && !has(&rows[within.end..], wanted), "{wanted:?}: {within:?}");
        let tight = (max - min) as usize * 3 + 2 * WINDOW_ROWS;
        assert!(within.len() <= tight.min(rows.len()), "{wanted:?}: {within:?}");
    }
    // Strings have no bounds, codes do.
    let text = &main.groups[0].segments[1];
    let ranges =
        [(); 2].map(|()| text.window_ranges(&memory).unwrap().map(|ranges| ranges.rows_within(all.clone(), one)));
    assert!(ranges[0].is_none());
    assert!(ranges[1].as_ref().is_none_or(|within| *within == all), "{ranges:?}");
}

/// Whatever form segments are in, and whatever the pool drops meanwhile, readers see the same rows, even those that
/// have opened parts in earlier forms.
#[test]
fn forms_change_nothing_that_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(&folder);
    let disk = SimulatedDisk::new();
    let mut formed = [0; 3];
    for blocks in [Blocks::of_file(database(&disk), memory.clone()), Blocks::of_pool(memory.clone(), MemoryTag::Table)]
    {
        for choice in [EncodingChoice::Auto, EncodingChoice::Symbols, EncodingChoice::Plain, EncodingChoice::RunLength]
        {
            let main = load(&Main::empty(&fields()).unwrap(), &many(60_000, 977), choice, 1, &blocks);
            let expected = rows_of(&main, &memory);
            let segments: Vec<&Segment> = main.groups.iter().flat_map(|group| &group.segments).collect();
            for step in 0..40usize {
                let segment = segments[step % segments.len()];
                let held = segment.open_rows(&(0..WINDOW_ROWS), &memory).unwrap();
                let before = held.part().unwrap().decode(0..WINDOW_ROWS).unwrap();
                match step * 7 % 5 {
                    0 | 1 => _ = segment.make_hot(&memory).unwrap(),
                    2 => _ = segment.make_compact(),
                    3 => segment.blocks().iter().for_each(|block| _ = block.freeze(&memory).unwrap()),
                    _ => segment.blocks().iter().for_each(|block| match step % 2 {
                        0 => block.thaw(&memory).unwrap(),
                        _ => _ = block.forget(),
                    }),
                }
                formed[segment.form() as usize] += 1;
                let after = held.part().unwrap().decode(0..WINDOW_ROWS).unwrap();
                assert!(before.to_flat().len() == after.to_flat().len());
                if step % 5 == 0 {
                    assert_eq!(rows_of(&main, &memory), expected, "{choice:?}, step {step}");
                }
                if step == 20 {
                    // The pool needs all its room: copies are dropped, and pages stored only in the pool are spilled.
                    drop((held, before, after));
                    memory.set_memory_limit(PAGE_BYTES as u64).unwrap();
                    memory.set_memory_limit(64 << 20).unwrap();
                    assert_eq!(segment.memory_bytes().hot, 0);
                }
            }
            assert_eq!(rows_of(&main, &memory), expected, "{choice:?}");
        }
    }
    assert!(formed.iter().all(|&times| times > 0), "every form was there: {formed:?}");
}

#[test]
fn a_frozen_segment_takes_less_memory_and_a_hot_one_more() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(&folder);
    let disk = SimulatedDisk::new();
    for blocks in [Blocks::of_file(database(&disk), memory.clone()), Blocks::of_pool(memory.clone(), MemoryTag::Table)]
    {
        let main = load(&Main::empty(&fields()).unwrap(), &many(120_000, 20), EncodingChoice::Plain, 1, &blocks);
        let texts = &main.groups[0].segments[1];
        decoded(&main, texts, &memory);
        let compact = texts.memory_bytes();
        assert_eq!((texts.form(), compact.hot, compact.frozen), (Form::Compact, 0, 0));
        assert!(texts.make_hot(&memory).unwrap().is_none(), "it is stored flat");
        texts.blocks().iter().for_each(|block| _ = block.freeze(&memory).unwrap());
        let frozen = texts.memory_bytes();
        assert_eq!((texts.form(), frozen.compact), (Form::Frozen, 0));
        assert!(0 < frozen.frozen && frozen.frozen * 2 < compact.compact, "{frozen:?} of {compact:?}");
        decoded(&main, texts, &memory);
        assert!(texts.memory_bytes().compact > 0, "who reads it keeps a copy");
        texts.blocks().iter().for_each(|block| block.thaw(&memory).unwrap());
        assert_eq!((texts.form(), texts.memory_bytes().frozen), (Form::Compact, 0));
        let packed = load(&Main::empty(&fields()).unwrap(), &many(120_000, 20), EncodingChoice::Packed, 1, &blocks);
        let numbers = &packed.groups[0].segments[0];
        assert!(numbers.make_hot(&memory).unwrap().is_some());
        let hot = numbers.memory_bytes();
        assert_eq!(numbers.form(), Form::Hot);
        assert!(hot.hot >= 120_000 * 8 && hot.hot < 120_000 * 9, "{hot:?}");
        assert!(numbers.make_compact() && numbers.form() == Form::Compact);
    }
}
