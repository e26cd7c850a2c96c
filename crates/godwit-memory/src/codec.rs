//! Encodings of spilled pages, and the choice of the cheapest one.
//!
//! Compression costs processor time and saves disk time. Processor time always counts. Disk time counts only to the
//! extent that workers wait for it, whether for a page to be written or to be read back:
//!
//! ```text
//!   cost of a byte = encoding + decoding + waiting share × (write + read back) × size after / size before
//! ```
//!
//! All of it is measured on the actual work: the encodings now and then on a page of the running query, the disk by its
//! batches, the waiting share since the last decision. The cheapest encoding wins, until the next decision. With a fast
//! disk, or with workers that never wait, that is no compression.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use godwit_common::{Error, Named, Result};
use godwit_io::ALIGNMENT_BYTES;
use parking_lot::Mutex;

/// Level 1 of zstd: higher levels cost more than they save on any disk.
const ZSTD_LEVEL: i32 = 1;

/// Sampling step: every n-th page is encoded in a different way, to measure the cost and the saving.
const SAMPLE_PAGES: u64 = 64;

/// How often the encoding is reconsidered: rarely enough that the waiting share is meaningful.
const DECISION_INTERVAL: Duration = Duration::from_millis(100);

/// A change of codec must promise to save one n-th of the cost: less is noise.
const GAIN_SHARE_MIN: f64 = 8.0;

/// Weight of a new measurement in the running average.
const NEW_WEIGHT: f64 = 0.25;

/// Whether and how spilled pages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpillCompression {
    /// Whichever is cheapest, by measurement.
    #[default]
    Auto,
    /// Never compressed.
    None,
    /// Compressed with LZ4.
    Lz4,
    /// Compressed with zstd at level 1.
    Zstd,
}

impl Named for SpillCompression {
    const NAMES: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("none", Self::None), ("lz4", Self::Lz4), ("zstd", Self::Zstd)];
}

/// How the copy of a page is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// As it is.
    Plain,
    /// With LZ4.
    Lz4,
    /// With zstd at level 1.
    Zstd,
}

const CODECS: [Codec; 3] = [Codec::Plain, Codec::Lz4, Codec::Zstd];

impl Codec {
    fn name(self) -> &'static str {
        match self {
            Codec::Plain => "none",
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
        }
    }

    /// Upper bound of LZ4's output for `bytes` bytes, reached for incompressible input.
    pub const fn encoded_bytes_max(bytes: usize) -> usize {
        bytes + bytes / 8 + ALIGNMENT_BYTES
    }

    /// Encodes `content` into `target`, which has [`encoded_bytes_max`](Self::encoded_bytes_max); returns the size, or
    /// `None` if this codec can't encode it.
    pub fn encode(self, content: &[u8], target: &mut [u8]) -> Option<usize> {
        match self {
            Codec::Plain => None,
            Codec::Lz4 => lz4_flex::block::compress_into(content, target).ok(),
            Codec::Zstd => zstd::bulk::compress_to_buffer(content, target, ZSTD_LEVEL).ok(),
        }
    }

    /// Decodes the output of [`encode`](Self::encode) into `content`, which has the original length.
    pub fn decode(self, encoded: &[u8], content: &mut [u8]) -> Result<()> {
        let decoded = match self {
            Codec::Plain => unreachable!("plain bytes are read in place"),
            Codec::Lz4 => lz4_flex::block::decompress_into(encoded, content).ok(),
            Codec::Zstd => zstd::bulk::decompress_to_buffer(encoded, content).ok(),
        };
        if decoded != Some(content.len()) {
            return Err(Error::corrupt(format!("a page isn't what {} made of it", self.name())));
        }
        Ok(())
    }
}

/// The cost and saving of a codec, per byte of a page.
#[derive(Clone, Copy, Debug, Default)]
struct Measure {
    encode_nanos: f64,
    decode_nanos: f64,
    /// Size after divided by size before.
    ratio: f64,
    is_known: bool,
}

/// Chooses the codec of a pool.
pub(crate) struct CodecChooser {
    setting: AtomicU8,
    current: AtomicU8,
    pages: AtomicU64,
    /// Total time that workers have waited for spilled pages to be written or read.
    waited_nanos: AtomicU64,
    measured: Mutex<Measured>,
}

struct Measured {
    codecs: [Measure; CODECS.len()],
    /// Disk time per byte written.
    disk_nanos: f64,
    decided_at: Instant,
    waited_nanos: u64,
}

impl CodecChooser {
    pub(crate) fn new(setting: SpillCompression) -> Self {
        let measured = Measured {
            codecs: [
                Measure { ratio: 1.0, is_known: true, ..Measure::default() },
                Measure::default(),
                Measure::default(),
            ],
            disk_nanos: 0.0,
            decided_at: Instant::now(),
            waited_nanos: 0,
        };
        Self {
            setting: AtomicU8::new(setting as u8),
            current: AtomicU8::new(Codec::Plain as u8),
            pages: AtomicU64::new(0),
            waited_nanos: AtomicU64::new(0),
            measured: Mutex::new(measured),
        }
    }

    pub(crate) fn setting(&self) -> SpillCompression {
        SpillCompression::NAMES[usize::from(self.setting.load(Relaxed))].1
    }

    pub(crate) fn set(&self, setting: SpillCompression) {
        self.setting.store(setting as u8, Relaxed);
    }

    /// The name of the codec that most pages are currently encoded with.
    pub(crate) fn current_name(&self) -> &'static str {
        self.current().name()
    }

    fn current(&self) -> Codec {
        match self.setting() {
            SpillCompression::Auto => CODECS[usize::from(self.current.load(Relaxed))],
            SpillCompression::None => Codec::Plain,
            SpillCompression::Lz4 => Codec::Lz4,
            SpillCompression::Zstd => Codec::Zstd,
        }
    }

    /// The codec for the next page: the current one, or every now and then another one, to measure it.
    pub(crate) fn next(&self) -> Codec {
        let page = self.pages.fetch_add(1, Relaxed);
        if self.setting() == SpillCompression::Auto && page % SAMPLE_PAGES == SAMPLE_PAGES - 1 {
            return CODECS[1 + (page / SAMPLE_PAGES) as usize % (CODECS.len() - 1)];
        }
        self.current()
    }

    /// Records that a page of `bytes` was encoded into `encoded_bytes`.
    pub(crate) fn note_encoded(&self, codec: Codec, bytes: usize, encoded_bytes: usize, took: Duration) {
        self.measure(codec, |measure| {
            average(&mut measure.encode_nanos, took.as_nanos() as f64 / bytes as f64);
            average(&mut measure.ratio, (encoded_bytes as f64 / bytes as f64).min(1.0));
            measure.is_known = true;
        });
    }

    /// Records that a page of `bytes` was decoded.
    pub(crate) fn note_decoded(&self, codec: Codec, bytes: usize, took: Duration) {
        self.measure(codec, |measure| average(&mut measure.decode_nanos, took.as_nanos() as f64 / bytes as f64));
    }

    fn measure(&self, codec: Codec, note: impl FnOnce(&mut Measure)) {
        note(&mut self.measured.lock().codecs[codec as usize]);
    }

    /// Records that a worker waited for a spilled page.
    pub(crate) fn note_waited(&self, took: Duration) {
        self.waited_nanos.fetch_add(took.as_nanos() as u64, Relaxed);
    }

    /// Records that a batch of `bytes` was written while `batches` were in flight. Reconsiders the codec if it is time.
    pub(crate) fn note_written(&self, bytes: usize, took: Duration, batches: usize) {
        let mut measured = self.measured.lock();
        average(&mut measured.disk_nanos, took.as_nanos() as f64 / bytes as f64 / batches as f64);
        let elapsed = measured.decided_at.elapsed();
        if elapsed < DECISION_INTERVAL {
            return;
        }
        let waited = self.waited_nanos.load(Relaxed);
        let waiting_share = ((waited - measured.waited_nanos) as f64 / elapsed.as_nanos() as f64).min(1.0);
        measured.decided_at = Instant::now();
        measured.waited_nanos = waited;
        let current = CODECS[usize::from(self.current.load(Relaxed))];
        let chosen = cheapest(&measured.codecs, measured.disk_nanos, waiting_share, current);
        self.current.store(chosen as u8, Relaxed);
    }
}

fn average(average: &mut f64, new: f64) {
    *average = if *average == 0.0 { new } else { *average + NEW_WEIGHT * (new - *average) };
}

/// The codec with the lowest cost per byte; `current` unless another is clearly cheaper.
fn cheapest(codecs: &[Measure; CODECS.len()], disk_nanos: f64, waiting_share: f64, current: Codec) -> Codec {
    let cost = |codec: Codec| {
        let Measure { encode_nanos, decode_nanos, ratio, is_known } = codecs[codec as usize];
        // Assumes that a written page is read back once, about as fast.
        let disk = 2.0 * disk_nanos * ratio * waiting_share;
        if is_known { encode_nanos + decode_nanos + disk } else { f64::INFINITY }
    };
    let best = CODECS.into_iter().min_by(|&a, &b| cost(a).total_cmp(&cost(b))).expect("there are codecs");
    if cost(current) - cost(best) > cost(current) / GAIN_SHARE_MIN { best } else { current }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PAGE_BYTES;

    fn measures() -> [Measure; 3] {
        let measure = |encode_nanos, decode_nanos, ratio| Measure { encode_nanos, decode_nanos, ratio, is_known: true };
        [measure(0.0, 0.0, 1.0), measure(2.0, 0.5, 0.5), measure(4.0, 1.0, 0.3)]
    }

    #[test]
    fn a_slow_disk_that_is_waited_for_makes_compression_pay() {
        let codecs = measures();
        let chosen = |disk, share, current| cheapest(&codecs, disk, share, current);
        assert_eq!(chosen(1.0, 1.0, Codec::Plain), Codec::Plain, "the disk is faster than any codec");
        assert_eq!(chosen(4.0, 1.0, Codec::Plain), Codec::Lz4);
        assert_eq!(chosen(20.0, 1.0, Codec::Plain), Codec::Zstd);
        assert_eq!(chosen(20.0, 0.0, Codec::Zstd), Codec::Plain, "nobody waits for the disk");
        assert_eq!(chosen(2.55, 1.0, Codec::Plain), Codec::Plain, "a little gain isn't worth a change");
        assert_eq!(chosen(2.45, 1.0, Codec::Lz4), Codec::Lz4);
    }

    #[test]
    fn unknown_codecs_are_not_chosen_but_sampled() {
        let chooser = CodecChooser::new(SpillCompression::Auto);
        let codecs: Vec<_> = (0..4 * SAMPLE_PAGES).map(|_| chooser.next()).collect();
        assert_eq!(codecs.iter().filter(|&&codec| codec == Codec::Lz4).count(), 2);
        assert_eq!(codecs.iter().filter(|&&codec| codec == Codec::Zstd).count(), 2);
        assert_eq!(
            cheapest(&CodecChooser::new(SpillCompression::Auto).measured.lock().codecs, 99.0, 1.0, Codec::Plain),
            Codec::Plain
        );
    }

    #[test]
    fn pages_come_back_from_every_codec() {
        let patterns: [fn(usize) -> u8; 3] = [
            |_| 0,
            |index| (index / 7) as u8,
            |index| (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0],
        ];
        for codec in [Codec::Lz4, Codec::Zstd] {
            for pattern in patterns {
                let content: Vec<u8> = (0..PAGE_BYTES).map(pattern).collect();
                let mut encoded = vec![0; Codec::encoded_bytes_max(PAGE_BYTES)];
                let bytes = codec.encode(&content, &mut encoded).expect("there is room for what can't be compressed");
                let mut decoded = vec![1; PAGE_BYTES];
                codec.decode(&encoded[..bytes], &mut decoded).unwrap();
                assert!(decoded == content);
                assert!(codec.decode(&encoded[..bytes / 2], &mut decoded).is_err());
            }
        }
    }
}
