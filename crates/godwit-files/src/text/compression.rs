//! Compression and encoding of text files.

use std::io::{self, Read};
use std::path::Path;

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8, UTF_16LE};
use flate2::read::MultiGzDecoder;
use godwit_common::{Error, Result};

/// The compression of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    pub(super) fn of_ending(path: &Path) -> Self {
        match path.extension().and_then(|ending| ending.to_str()).map(str::to_lowercase).as_deref() {
            Some("gz") => Compression::Gzip,
            Some("zst") => Compression::Zstd,
            _ => Compression::None,
        }
    }

    pub(super) fn of_name(name: &str) -> Result<Self> {
        match name {
            "none" | "uncompressed" => Ok(Compression::None),
            "gzip" | "gz" => Ok(Compression::Gzip),
            "zstd" | "zst" => Ok(Compression::Zstd),
            other => Err(Error::unsupported(format!("reading text compressed by '{other}'"))
                .with_hint("compressions are none, gzip and zstd")),
        }
    }
}

/// Returns the content of a file as UTF-8.
pub(super) fn text_of<'a>(
    stored: impl Read + Send + 'a,
    compression: Compression,
    encoding: &str,
) -> Result<Box<dyn Read + Send + 'a>> {
    let encoding = encoding_of(encoding)?;
    let bytes: Box<dyn Read + Send + 'a> = match compression {
        Compression::None => Box::new(stored),
        Compression::Gzip => Box::new(MultiGzDecoder::new(stored)),
        Compression::Zstd => Box::new(
            zstd::stream::read::Decoder::new(stored)
                .map_err(|error| Error::io("starting to decompress Zstandard", &error))?,
        ),
    };
    Ok(Box::new(Decoded::new(bytes, encoding)))
}

/// Returns the encoding of a name. Latin-1 is read as on Windows, UTF-16 according to its byte order mark.
fn encoding_of(name: &str) -> Result<&'static Encoding> {
    let plain: String = name.chars().filter(|character| character.is_ascii_alphanumeric()).collect();
    let known = match plain.to_lowercase().as_str() {
        "utf8" | "auto" => Some(UTF_8),
        "utf16" => Some(UTF_16LE),
        "latin1" => Some(encoding_rs::WINDOWS_1252),
        _ => Encoding::for_label(name.as_bytes()).or(Encoding::for_label(name.replace('_', "-").as_bytes())),
    };
    known.ok_or_else(|| {
        Error::user(format!("there is no encoding '{name}'"))
            .with_hint("encodings are utf-8, utf-16, latin-1, windows-1252, shift_jis, gbk and others of the web")
    })
}

/// Bytes converted at a time.
const STEP_BYTES: usize = 64 << 10;

/// Text in UTF-8, without a byte order mark. A byte order mark overrides the given encoding. Text that already is UTF-8
/// isn't checked.
struct Decoded<R> {
    bytes: R,
    encoding: &'static Encoding,
    state: State,
}

enum State {
    /// Nothing has been read.
    Beginning,
    /// The first bytes, which need no conversion, and then the others.
    Plain {
        first: Vec<u8>,
        at: usize,
    },
    Converted {
        decoder: Box<Decoder>,
        raw: Vec<u8>,
        text: Vec<u8>,
        at: usize,
        is_over: bool,
    },
}

impl<R: Read> Decoded<R> {
    fn new(bytes: R, encoding: &'static Encoding) -> Self {
        Self { bytes, encoding, state: State::Beginning }
    }

    fn begin(&mut self) -> io::Result<State> {
        let mut first = Vec::with_capacity(4);
        (&mut self.bytes).take(3).read_to_end(&mut first)?;
        let (encoding, length) = Encoding::for_bom(&first).unwrap_or((self.encoding, 0));
        first.drain(..length);
        if encoding == UTF_8 {
            return Ok(State::Plain { first, at: 0 });
        }
        let decoder = Box::new(encoding.new_decoder_without_bom_handling());
        Ok(State::Converted { decoder, raw: first, text: Vec::new(), at: 0, is_over: false })
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if matches!(self.state, State::Beginning) {
            self.state = self.begin()?;
        }
        let source = &mut self.bytes;
        match &mut self.state {
            State::Beginning => unreachable!("it has begun"),
            State::Plain { first, at } if *at < first.len() => {
                let read = (&first[*at..]).read(buffer)?;
                *at += read;
                Ok(read)
            }
            State::Plain { .. } => source.read(buffer),
            State::Converted { decoder, raw, text, at, is_over } => {
                while *at == text.len() && !*is_over {
                    let room = STEP_BYTES - raw.len().min(STEP_BYTES);
                    *is_over = source.take(room as u64).read_to_end(raw)? < room;
                    text.clear();
                    text.resize(STEP_BYTES * 3 + 16, 0);
                    let (result, read, written, _) = decoder.decode_to_utf8(raw, text, *is_over);
                    debug_assert_eq!(result, CoderResult::InputEmpty, "each byte becomes at most three");
                    raw.drain(..read);
                    text.truncate(written);
                    *at = 0;
                }
                let read = (&text[*at..]).read(buffer)?;
                *at += read;
                Ok(read)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], encoding: &str) -> String {
        let mut text = String::new();
        text_of(bytes, Compression::None, encoding).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn encodings_become_utf8() {
        assert_eq!(decoded(b"\xef\xbb\xbfa", "utf-8"), "a");
        assert_eq!(decoded(b"a", "utf-8"), "a");
        assert_eq!(decoded(b"", "latin-1"), "");
        assert_eq!(decoded(b"\xe9t\xe9", "latin-1"), "été");
        assert_eq!(decoded(b"\xff\xfeh\0\xe4\0", "utf-8"), "hä");
        assert_eq!(decoded(b"\xfe\xff\0h\0\xe4", "utf-16"), "hä");
        let long: Vec<u8> = "äb€".repeat(100_000).encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decoded(&long, "utf-16"), "äb€".repeat(100_000));
        assert!(text_of(&b""[..], Compression::None, "klingon").err().unwrap().to_string().contains("no encoding"));
    }
}
