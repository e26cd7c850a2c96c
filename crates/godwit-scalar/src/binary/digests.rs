//! Digests and checksums.

use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ArgumentType, NoFunction};
use godwit_types::SqlType;
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::{PhysicalType, Vector, nested_to_bytes};
use md5::digest::Output;
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};

use super::hex;
use crate::function::{Category, Form, Function, function};
use crate::kernel::{Kernel, Work};
use crate::list::types::settled_as_text;
use crate::rows::{Blob, Pace, Text, Writer, byte_pieces, scalar_checked, text};

pub(super) fn functions() -> Vec<Function> {
    let digest = of_algorithm();
    vec![
        of_bytes::<Md5>(&["md5"], "The MD5 digest in hexadecimal digits", DigestOfBlob::Digits)
            .example("md5('godwit')", "8dc2b2be9603e2115b4369d7b86a7058"),
        of_bytes::<Sha1>(&["sha1"], "The SHA-1 digest in hexadecimal digits", DigestOfBlob::Digits)
            .example("sha1('a')", "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),
        of_bytes::<Sha224>(&["sha224"], "The SHA-224 digest: of a text in hexadecimal digits", DigestOfBlob::Bytes)
            .example("sha224('a')", "abd37534c7d9a2efb9465de931cd7055ffdb8879563ae98078d6d6d5"),
        of_bytes::<Sha256>(&["sha256"], "The SHA-256 digest: of a text in hexadecimal digits", DigestOfBlob::Bytes)
            .example("sha256('a')", "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"),
        of_bytes::<Sha384>(&["sha384"], "The SHA-384 digest: of a text in hexadecimal digits", DigestOfBlob::Bytes)
            .example("length(sha384('a'))", "96"),
        of_bytes::<Sha512>(&["sha512"], "The SHA-512 digest: of a text in hexadecimal digits", DigestOfBlob::Bytes)
            .example("length(sha512('a'))", "128"),
        function(
            Category::Binary,
            &["digest"],
            "The digest by an algorithm: md5, sha1, sha224, sha256, sha384, sha512",
        )
        .example("encode(digest('godwit', 'md5'), 'hex')", "8dc2b2be9603e2115b4369d7b86a7058")
        .form(digest.clone().with_types([SqlType::Varchar, SqlType::Varchar], SqlType::Blob))
        .form(digest),
        checksum(),
        function(
            Category::Value,
            &["hash"],
            "A number of 64 bits that is equal for equal values; not that of other systems",
        )
        .example("hash('a', 1) = hash('a', 1)", "true")
        .chosen("hash(value, …)", hash),
    ]
}

/// The result for a BLOB: PostgreSQL's `md5` returns digits, its newer functions bytes.
enum DigestOfBlob {
    Digits,
    Bytes,
}

fn of_bytes<D: Digest + 'static>(
    names: &'static [&'static str],
    description: &'static str,
    of_blob: DigestOfBlob,
) -> Function {
    let digits = text::<(Blob,), Text, _>(|(bytes,), out| {
        let digest = digest_of::<D>(bytes, out)?;
        hex::write(&digest, hex::LOWER, out)
    });
    // Digests are short: there is always room for them.
    let digits = Form { may_fail: false, ..digits };
    let bytes = match of_blob {
        DigestOfBlob::Digits => digits.clone(),
        DigestOfBlob::Bytes => text::<(Blob,), Blob, _>(|(bytes,), out| push_digest::<D>(bytes, out)),
    };
    function(Category::Binary, names, description)
        .form(digits.with_types([SqlType::Varchar], SqlType::Varchar))
        .form(bytes)
}

type PushDigest = fn(&[u8], &mut Writer<'_>) -> Result<()>;

const ALGORITHMS: [(&str, PushDigest); 6] = [
    ("md5", push_digest::<Md5>),
    ("sha1", push_digest::<Sha1>),
    ("sha224", push_digest::<Sha224>),
    ("sha256", push_digest::<Sha256>),
    ("sha384", push_digest::<Sha384>),
    ("sha512", push_digest::<Sha512>),
];

fn of_algorithm() -> Form {
    text::<(Blob, Text), Blob, _>(|(bytes, algorithm), out| {
        match ALGORITHMS.iter().find(|(name, _)| algorithm.eq_ignore_ascii_case(name)) {
            Some((_, push_digest)) => push_digest(bytes, out),
            None => Err(Error::user(format!("'{algorithm}' is no known digest"))
                .with_code(SqlState::INVALID_PARAMETER_VALUE)
                .with_hint("digests are md5, sha1, sha224, sha256, sha384 and sha512")),
        }
    })
}

fn digest_of<D: Digest>(bytes: &[u8], out: &Writer<'_>) -> Result<Output<D>> {
    let (mut digest, mut pace) = (D::new(), out.pace());
    for piece in byte_pieces(bytes) {
        digest.update(piece);
        pace.go(piece.len())?;
    }
    Ok(digest.finalize())
}

fn push_digest<D: Digest>(bytes: &[u8], out: &mut Writer<'_>) -> Result<()> {
    let digest = digest_of::<D>(bytes, out)?;
    out.push_bytes(&digest);
    Ok(())
}

fn checksum() -> Function {
    let form = scalar_checked::<(Blob,), i64, _>(|(bytes,), work| {
        let (mut crc, mut pace) = (u32::MAX, Pace::new(work));
        for piece in byte_pieces(bytes) {
            crc = crc32(crc, piece);
            pace.go(piece.len())?;
        }
        Ok(i64::from(!crc))
    })
    .total();
    function(Category::Binary, &["crc32"], "The CRC-32 checksum of the bytes")
        .example("crc32('123456789')", "3421780262")
        .form(form.clone().with_types([SqlType::Varchar], SqlType::BigInt))
        .form(form)
}

/// Bytes of the checksum that are looked up together.
const SLICES: usize = 8;

/// For each position in a slice and each byte there: its contribution to the checksum of the bytes after it.
static CRC_TABLES: [[u32; 256]; SLICES] = {
    const POLYNOMIAL: u32 = 0xEDB8_8320;
    let mut tables = [[0; 256]; SLICES];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut slice = 1;
    while slice < SLICES {
        let mut byte = 0;
        while byte < 256 {
            let crc = tables[slice - 1][byte];
            tables[slice][byte] = crc >> 8 ^ tables[0][(crc & 255) as usize];
            byte += 1;
        }
        slice += 1;
    }
    tables
};

/// Returns the checksum's register after some more bytes.
fn crc32(before: u32, bytes: &[u8]) -> u32 {
    let (slices, rest) = bytes.as_chunks::<SLICES>();
    let mut crc = before;
    for slice in slices {
        let word = u64::from_le_bytes(*slice) ^ u64::from(crc);
        let added = |at: usize| CRC_TABLES[SLICES - 1 - at][(word >> (8 * at) & 255) as usize];
        crc = (0..SLICES).fold(0, |crc, at| crc ^ added(at));
    }
    let last = |crc: u32, byte: &u8| crc >> 8 ^ CRC_TABLES[0][usize::from(crc as u8 ^ byte)];
    rest.iter().fold(crc, last)
}

/// Any number of arguments of any type, at least one.
fn hash(arguments: &[ArgumentType<'_>]) -> Option<std::result::Result<Form, NoFunction>> {
    if arguments.is_empty() || arguments.iter().any(|argument| argument.lambda_parameters.is_some()) {
        return None;
    }
    let types = arguments.iter().map(|argument| settled_as_text(argument.ty)).collect();
    let form = Form::strict(types, SqlType::UBigInt, false, false, Arc::new(HashKernel));
    Some(Ok(Form { strict: false, ..form }))
}

/// The hash of joins and groups, over all arguments; NULL is a value like any other.
struct HashKernel;

impl Kernel for HashKernel {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        work.check()?;
        let plain = |vector: &Vector| match vector.physical() {
            PhysicalType::Nested => nested_to_bytes(&vector.flattened()),
            _ => Ok(vector.clone()),
        };
        let plain = arguments.iter().map(plain).collect::<Result<Vec<Vector>>>()?;
        let mut hashes = Vec::new();
        hash_vectors(&plain, rows, &mut hashes);
        Ok(Vector::from_values(hashes, None))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, error_of, shown};

    #[test]
    fn digests_are_known() {
        assert_eq!(shown("md5", &["''"]), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(shown("md5", &["BLOB 'a'"]), "0cc175b9c0f1b6a831c399e269772661");
        assert_eq!(shown("md5", &["NULL"]), "NULL");
        assert_eq!(shown("sha1", &["BLOB 'a'"]), "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8");
        assert_eq!(shown("sha224", &["BLOB 'a'"]), "\\xabd37534c7d9a2efb9465de931cd7055ffdb8879563ae98078d6d6d5");
        assert_eq!(shown("sha256", &["'a'"]), "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb");
        assert!(shown("sha384", &["'a'"]).starts_with("54a59b9f22b0b808"));
        assert!(shown("sha512", &["BLOB 'a'"]).starts_with("\\x1f40fc92da241694"));
        assert_eq!(shown("digest", &["'a'", "'MD5'"]), "\\x0cc175b9c0f1b6a831c399e269772661");
        assert_eq!(shown("digest", &["BLOB 'a'", "'sha256'"]), shown("sha256", &["BLOB 'a'"]));
        assert!(error_of("digest", &["'a'", "'crc'"]).contains("'crc' is no known digest"));
    }

    #[test]
    fn checksums_are_those_of_one_byte_after_the_other() {
        assert_eq!(shown("crc32", &["'123456789'"]), "3421780262");
        assert_eq!(shown("crc32", &["BLOB ''"]), "0");
        for length in 0..40u8 {
            let bytes: Vec<u8> = (0..length).map(|at| at.wrapping_mul(37)).collect();
            let mut crc = u32::MAX;
            for byte in &bytes {
                crc ^= u32::from(*byte);
                (0..8).for_each(|_| crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 });
            }
            assert_eq!(super::crc32(u32::MAX, &bytes), crc);
        }
    }

    #[test]
    fn equal_values_have_equal_hashes() {
        let hash = |arguments: &[&str]| call("hash", arguments).unwrap().0;
        assert_eq!(hash(&["1"]), hash(&["BIGINT '1'"]));
        assert_ne!(hash(&["'a'", "'b'"]), hash(&["'b'", "'a'"]));
        assert_ne!(hash(&["NULL"]), hash(&["''"]));
        assert_eq!(hash(&["INTEGER[] '[1, 2]'"]), hash(&["INTEGER[] '[1,2]'"]));
        assert_ne!(hash(&["INTEGER[] '[1, 2]'"]), hash(&["INTEGER[] '[2, 1]'"]));
        assert_ne!(hash(&["INTERVAL '1 day'"]), hash(&["INTERVAL '2 days'"]));
    }
}
