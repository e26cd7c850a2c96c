//! Positions of characters in texts. ASCII is counted in bytes.

use godwit_vector::kernels::string::byte_of_char;

/// Returns the byte where the character after the first `count` starts; the end if there are fewer.
pub(super) fn after(text: &str, count: usize) -> usize {
    match text.as_bytes().get(..count) {
        None => text.len(),
        Some(start) if start.is_ascii() => count,
        Some(_) => byte_of_char(text.as_bytes(), count),
    }
}

/// Returns the byte where the last `count` characters start; 0 if there are fewer.
pub(super) fn before(text: &str, count: usize) -> usize {
    let Some(start) = text.len().checked_sub(count) else { return 0 };
    if text.as_bytes()[start..].is_ascii() {
        return start;
    }
    match count.checked_sub(1) {
        None => text.len(),
        Some(others) => text.char_indices().rev().nth(others).map_or(0, |(at, _)| at),
    }
}

/// Converts a count; all counts beyond the length of any text are equivalent.
pub(super) fn size(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Converts a number of characters or bytes: texts are shorter than 2 GiB, wherever they come from.
pub(super) fn number(count: usize) -> i32 {
    i32::try_from(count).expect("texts are shorter than 2 GiB")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_are_between_characters(text in "[aé€😀z]{0,12}", count in 0_usize..15) {
            let characters: Vec<char> = text.chars().collect();
            let (length, count) = (characters.len(), count.min(characters.len() + 3));
            let first: String = characters[..count.min(length)].iter().collect();
            let last: String = characters[length.saturating_sub(count)..].iter().collect();
            prop_assert_eq!(&text[..after(&text, count)], first);
            prop_assert_eq!(&text[before(&text, count)..], last);
        }
    }

    #[test]
    fn counts_beyond_all_texts() {
        assert_eq!(after("aé", usize::MAX), 3);
        assert_eq!(before("aé", usize::MAX), 0);
        assert_eq!(size(u64::MAX), usize::MAX);
    }
}
