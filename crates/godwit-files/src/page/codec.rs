//! Decompression of pages and buffers.

use std::io::Read;

use arrow_ipc::CompressionType;
use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::read::MultiGzDecoder;
use godwit_common::{Error, Result};
use godwit_vector::kernels::snappy::decompress_together;
use lz4_flex::frame::FrameDecoder;
use parquet::basic::Compression;

use super::{PAGES_TOGETHER, PageHeader};
use crate::config::LARGE_PAGE_BYTES;

/// The codec of a column chunk, with its state between pages.
pub(crate) enum Codec {
    /// Pages are stored uncompressed.
    None,
    /// Snappy, raw format.
    Snappy(Box<snap::raw::Decoder>),
    /// Gzip, possibly of several members.
    Gzip,
    /// Brotli.
    Brotli,
    /// LZ4, raw blocks.
    Lz4Raw,
    /// LZ4 with Hadoop's framing, or raw blocks, as some writers use instead.
    Lz4Hadoop,
    /// LZ4, frames.
    Lz4Frame,
    /// Zstandard.
    Zstd(zstd::bulk::Decompressor<'static>),
}

fn unsupported(codec: &str) -> Error {
    Error::unsupported(format!("pages are compressed with {codec}"))
        .with_hint("write the file with zstd, snappy, gzip, brotli, lz4 or without compression")
}

impl Codec {
    /// Creates the decoder for a codec.
    pub(crate) fn new(compression: Compression) -> Result<Self> {
        Ok(match compression {
            Compression::UNCOMPRESSED => Codec::None,
            Compression::SNAPPY => Codec::Snappy(Box::default()),
            Compression::GZIP(_) => Codec::Gzip,
            Compression::LZ4_RAW => Codec::Lz4Raw,
            Compression::LZ4 => Codec::Lz4Hadoop,
            Compression::ZSTD(_) => Codec::zstd()?,
            Compression::BROTLI(_) => Codec::Brotli,
            Compression::LZO => return Err(unsupported("LZO")),
        })
    }

    /// Returns true if decompressing several pages at once is faster than in sequence.
    pub(crate) fn is_faster_together(compression: Compression) -> bool {
        matches!(compression, Compression::SNAPPY)
    }

    /// Returns true if decompressing a page takes much longer than touching new memory for it.
    pub(crate) fn is_slow(&self) -> bool {
        match self {
            Codec::Gzip | Codec::Brotli | Codec::Zstd(_) => true,
            Codec::None | Codec::Snappy(_) | Codec::Lz4Raw | Codec::Lz4Hadoop | Codec::Lz4Frame => false,
        }
    }

    /// Returns true if decompressing a page is hardly more than copying it into a buffer that is there already. A page
    /// that is hardly any smaller compressed, as most pages of dictionary codes are, consists of a few long literals,
    /// which takes a twentieth of the time of touching new memory for it.
    pub(crate) fn copies(&self, header: &PageHeader) -> bool {
        let is_fast = match self {
            Codec::Snappy(_) | Codec::Lz4Raw | Codec::Lz4Hadoop | Codec::Lz4Frame => true,
            // Without a codec, everything would be read again, and texts be checked again.
            Codec::None | Codec::Gzip | Codec::Brotli | Codec::Zstd(_) => false,
        };
        is_fast
            && header.uncompressed_bytes < LARGE_PAGE_BYTES
            && header.compressed_bytes > header.uncompressed_bytes / 16 * 15
    }

    /// Decompresses two or three pages at once, each into all of its output; `None` if one of them is invalid.
    /// [`decompress`](Self::decompress) tells which, and why.
    pub(crate) fn decompress_together(&self, inputs: &[&[u8]], outputs: Vec<&mut [u8]>) -> Option<()> {
        assert!(matches!(self, Codec::Snappy(_)), "only blocks of Snappy are faster together");
        assert_eq!(inputs.len(), outputs.len(), "each page has its room");
        fn exactly<const PAGES: usize>(inputs: &[&[u8]], outputs: Vec<&mut [u8]>) -> Option<()> {
            let (Ok(inputs), Ok(outputs)) = (inputs.try_into(), outputs.try_into()) else {
                unreachable!("the number of pages was looked at")
            };
            decompress_together::<PAGES>(inputs, outputs)
        }
        const { assert!(PAGES_TOGETHER == 3, "there is an arm for each number of pages") };
        match inputs.len() {
            2 => exactly::<2>(inputs, outputs),
            PAGES_TOGETHER => exactly::<PAGES_TOGETHER>(inputs, outputs),
            pages => unreachable!("{pages} pages are never decompressed together"),
        }
    }

    /// Creates the decoder for buffers of Arrow files.
    pub(crate) fn of_arrow(compression: Option<CompressionType>) -> Result<Self> {
        Ok(match compression {
            None => Codec::None,
            Some(CompressionType::LZ4_FRAME) => Codec::Lz4Frame,
            Some(CompressionType::ZSTD) => Codec::zstd()?,
            Some(other) => return Err(Error::unsupported(format!("the compression {other:?} of Arrow files"))),
        })
    }

    fn zstd() -> Result<Self> {
        let decompressor = zstd::bulk::Decompressor::new();
        Ok(Codec::Zstd(decompressor.map_err(|error| Error::resource(format!("starting zstd: {error}")))?))
    }

    /// Decompresses `input` into all of `output`, whose length was promised by the page header.
    pub(crate) fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Result<()> {
        if output.is_empty() {
            return Ok(());
        }
        let written = match self {
            Codec::None => {
                if input.len() != output.len() {
                    return Err(Error::corrupt("an uncompressed page has two different sizes"));
                }
                output.copy_from_slice(input);
                Ok(output.len())
            }
            Codec::Snappy(decoder) => decoder.decompress(input, output).map_err(|error| error.to_string()),
            Codec::Gzip => read_all(MultiGzDecoder::new(input), output).map_err(|error| error.to_string()),
            Codec::Brotli => brotli(input, output).map_err(str::to_owned),
            Codec::Lz4Raw => lz4_flex::block::decompress_into(input, output).map_err(|error| error.to_string()),
            Codec::Lz4Hadoop => match lz4_hadoop(input, output) {
                Some(written) => Ok(written),
                None => lz4_flex::block::decompress_into(input, output).map_err(|error| error.to_string()),
            },
            Codec::Lz4Frame => read_all(FrameDecoder::new(input), output).map_err(|error| error.to_string()),
            Codec::Zstd(decompressor) => {
                decompressor.decompress_to_buffer(input, output).map_err(|error| error.to_string())
            }
        };
        match written {
            Ok(bytes) if bytes == output.len() => Ok(()),
            Ok(bytes) => Err(Error::corrupt(format!("data of {} bytes decompresses to {bytes}", output.len()))),
            Err(error) => Err(Error::corrupt(format!("data can't be decompressed: {error}"))),
        }
    }
}

fn read_all(mut decoder: impl Read, output: &mut [u8]) -> std::io::Result<usize> {
    let mut written = 0;
    while written < output.len() {
        match decoder.read(&mut output[written..])? {
            0 => break,
            bytes => written += bytes,
        }
    }
    // The trailer's checksum is read with the end of the stream.
    if decoder.read(&mut [0u8; 1])? != 0 {
        return Err(std::io::Error::other("it is longer than its header says"));
    }
    Ok(written)
}

/// Decompresses Brotli with the standard's windows of up to 16 MiB: with large windows, a file could ask for a
/// gibibyte.
fn brotli(input: &[u8], output: &mut [u8]) -> std::result::Result<usize, &'static str> {
    let allocator = StandardAlloc::default;
    let mut state = BrotliState::new_strict(allocator(), allocator(), allocator());
    let (mut left, mut room) = ([input.len(), 0], [output.len(), 0]);
    let ([input_left, input_at], [output_left, output_at]) = (&mut left, &mut room);
    let mut written = 0;
    let outcome =
        BrotliDecompressStream(input_left, input_at, input, output_left, output_at, output, &mut written, &mut state);
    match outcome {
        BrotliResult::ResultSuccess => Ok(written),
        BrotliResult::NeedsMoreOutput => Err("it is longer than its header says"),
        BrotliResult::NeedsMoreInput => Err("it is cut off"),
        BrotliResult::ResultFailure => Err("it isn't Brotli"),
    }
}

/// Decompresses blocks of (decompressed size, compressed size, data), sizes big-endian; `None` if the input isn't
/// framed this way.
fn lz4_hadoop(mut input: &[u8], output: &mut [u8]) -> Option<usize> {
    let mut written = 0usize;
    while !input.is_empty() {
        let (decompressed, rest) = input.split_first_chunk::<4>()?;
        let (compressed, rest) = rest.split_first_chunk::<4>()?;
        let (block, rest) = rest.split_at_checked(u32::from_be_bytes(*compressed) as usize)?;
        let end = written.checked_add(u32::from_be_bytes(*decompressed) as usize)?;
        let target = output.get_mut(written..end)?;
        if lz4_flex::block::decompress_into(block, target).ok()? != target.len() {
            return None;
        }
        written = end;
        input = rest;
    }
    Some(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::header::{PageKind, ValueEncoding};

    #[test]
    fn pages_that_are_hardly_smaller_are_copied_by_fast_codecs() {
        let copies = |compression, uncompressed_bytes, compressed_bytes| {
            let (kind, encoding) = (PageKind::DataV1, ValueEncoding::Plain);
            let header = PageHeader { kind, values: 1, encoding, compressed_bytes, uncompressed_bytes };
            Codec::new(compression).unwrap().copies(&header)
        };
        assert!(copies(Compression::SNAPPY, 100_000, 99_000) && copies(Compression::LZ4_RAW, 100_000, 99_000));
        assert!(!copies(Compression::SNAPPY, 100_000, 90_000), "it is compressed");
        assert!(!copies(Compression::SNAPPY, LARGE_PAGE_BYTES, LARGE_PAGE_BYTES), "no buffer is reused for it");
        assert!(!copies(Compression::ZSTD(Default::default()), 100_000, 99_000), "slow even so");
        assert!(!copies(Compression::UNCOMPRESSED, 100_000, 100_000));
    }
}
