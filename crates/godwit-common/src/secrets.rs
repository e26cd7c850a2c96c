//! Secrets in URLs, which messages must not repeat.

/// Masks the secrets in a text's URLs: users and passwords, and values after a question mark. Each character becomes
/// one asterisk, so positions in the text stay the same.
pub fn without_secrets(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, behind) = rest.split_at(at + "://".len());
        let is_end = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | ')' | ';');
        let (url, behind) = behind.split_at(behind.find(is_end).unwrap_or(behind.len()));
        shown += before;
        hide(url, &mut shown);
        rest = behind;
    }
    shown + rest
}

/// Appends what follows the scheme of a URL, masked.
fn hide(url: &str, shown: &mut String) {
    let (place, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    // A password may contain slashes that its writer didn't escape.
    let (user, place) = place.split_at(place.rfind('@').unwrap_or(0));
    shown.extend(user.chars().map(|_| '*'));
    *shown += place;
    let mut is_value = false;
    for c in query.chars() {
        match c {
            '?' | '&' => is_value = false,
            '=' if !is_value => {
                is_value = true;
                shown.push(c);
                continue;
            }
            _ => {}
        }
        shown.push(if is_value { '*' } else { c });
    }
}

#[cfg(test)]
mod tests {
    use super::without_secrets;

    #[test]
    fn users_and_values_of_urls_are_hidden() {
        for (text, shown) in [
            ("s3://key:secret@bucket/x.parquet", "s3://**********@bucket/x.parquet"),
            ("FROM 's3://k:a/b@c/x', 'http://h/y?a=b=c&d=é';", "FROM 's3://*****@c/x', 'http://h/y?a=***&d=*';"),
            ("SELECT 'a@b', x::int -- ://", "SELECT 'a@b', x::int -- ://"),
            ("https://example.com/x.csv", "https://example.com/x.csv"),
        ] {
            assert_eq!(without_secrets(text), shown);
            assert_eq!(text.chars().count(), shown.chars().count());
        }
    }
}
