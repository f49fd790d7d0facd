//! Reading Rust source for the repository tests: code without comments, literals and test modules.

/// `source` with comments, string and character literals blanked, line by line as before.
pub(crate) fn code(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let word_before = at > 0 && is_word(bytes[at - 1]);
        let length = if rest.starts_with(b"//") {
            rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
        } else if rest.starts_with(b"/*") {
            block_comment(rest)
        } else if let (Some(hashes), false) = (raw_string(rest), word_before) {
            let close = format!("\"{}", "#".repeat(hashes));
            let body = rest.iter().position(|b| *b == b'"').unwrap_or(0) + 1;
            find(&rest[body..], close.as_bytes()).map_or(rest.len(), |end| body + end + close.len())
        } else if rest[0] == b'"' {
            quoted(rest, b'"')
        } else if rest[0] == b'\'' && (rest.get(1) == Some(&b'\\') || char_literal(source, at)) {
            quoted(rest, b'\'')
        } else {
            at += 1;
            continue;
        };
        for byte in &mut out[at..at + length] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at += length;
    }
    String::from_utf8(out).unwrap()
}

/// `code` without the bodies of `#[cfg(test)]` modules.
pub(crate) fn without_tests(code: &str) -> String {
    let mut out = String::new();
    let mut rest = code;
    while let Some(start) = rest.find("#[cfg(test)]") {
        let (before, after) = rest.split_at(start);
        out.push_str(before);
        let end = match (after.find('{'), after.find(';')) {
            (Some(open), semicolon) if semicolon.is_none_or(|s| open < s) => closing(after, open),
            (_, Some(semicolon)) => semicolon + 1,
            _ => after.len(),
        };
        rest = &after[end..];
    }
    out + rest
}

/// Whether `word` stands in `code` as a whole identifier or path prefix (`naga::`), and where, in lines from 1.
pub(crate) fn lines_with(code: &str, word: &str) -> Vec<usize> {
    let open_end = word.bytes().last().is_some_and(|b| !is_word(b));
    let hits = code.match_indices(word).filter(|(at, _)| {
        let before = at.checked_sub(1).is_none_or(|i| !is_word(code.as_bytes()[i]));
        before && (open_end || code.as_bytes().get(at + word.len()).is_none_or(|b| !is_word(*b)))
    });
    hits.map(|(at, _)| code[..at].matches('\n').count() + 1).collect()
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    rest.len()
}

/// The number of `#` when `rest` opens a raw string.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let rest = rest.strip_prefix(b"b").unwrap_or(rest).strip_prefix(b"r")?;
    let hashes = rest.iter().take_while(|b| **b == b'#').count();
    (rest.get(hashes) == Some(&b'"')).then_some(hashes)
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// Whether the `'` at `at` opens a character and not a lifetime.
fn char_literal(source: &str, at: usize) -> bool {
    source[at + 1..].chars().nth(1) == Some('\'')
}

fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return at + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_no_code() {
        let source = "a // naga::x\n/* naga::y /* deep */ naga:: */ b \"naga::\\\"z\" r#\"naga::\"w\"# 'n' '\\'' c<'n> d";
        let code = code(source);
        assert_eq!(code.len(), source.len());
        assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a", "b", "c<'n>", "d"]);
    }

    #[test]
    fn test_modules_are_no_product() {
        let source = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { { } } }\nfn c() {}\n#[cfg(test)]\nmod t;\nfn d() {}";
        assert_eq!(without_tests(source).split_whitespace().collect::<String>(), "fna(){}fnc(){}fnd(){}");
    }

    #[test]
    fn words_are_whole() {
        let code = "use naga::Module;\nvyre_emit_naga::emit();\nwgpu::naga::x; unsafe_code";
        assert_eq!(lines_with(code, "naga::"), [1, 3]);
        assert_eq!(lines_with(code, "unsafe"), [0; 0]);
        assert_eq!(lines_with("unsafe {", "unsafe"), [1]);
    }
}
