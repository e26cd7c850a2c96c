//! The arguments of a command.

use godwit::{Error, Result};

/// Splits at white space outside quotes. Within quotes of either kind, a doubled quote stands for one.
pub(super) fn words(text: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut characters = text.chars().peekable();
    while let Some(&first) = characters.peek() {
        if first.is_whitespace() {
            characters.next();
            continue;
        }
        let mut word = String::new();
        if matches!(first, '\'' | '"') {
            characters.next();
            loop {
                match characters.next() {
                    Some(character) if character == first && characters.next_if_eq(&first).is_some() => {
                        word.push(first);
                    }
                    Some(character) if character == first => break,
                    Some(character) => word.push(character),
                    None => {
                        let hint = format!("close it with {first}");
                        return Err(Error::user(format!("{first}{word} has no end")).with_hint(hint));
                    }
                }
            }
        } else {
            while let Some(character) = characters.next_if(|character| !character.is_whitespace()) {
                word.push(character);
            }
        }
        words.push(word);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn quotes_hold_words_together() {
        assert_eq!(words(" a  'b c' \"d''e\" 'it''s' ").unwrap(), ["a", "b c", "d''e", "it's"]);
        assert_eq!(words("'' it's").unwrap(), ["", "it's"]);
        assert!(words("").unwrap().is_empty());
        assert!(words("'open").is_err());
    }
}
