//! Rust source as the repository tests read it: tokens, without comments and literals.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The tokens of `source`, on the lines where they stand, with a space only between words. Literals become `""`.
/// Without `tests`, items under `#[cfg(test)]` are left out.
pub(crate) fn code(source: &str, tests: bool) -> String {
    let mut out = String::new();
    let stream = source.parse().unwrap_or_else(|e| panic!("no Rust source: {e}: {source}"));
    write(stream, tests, &mut out, &mut 1);
    out
}

fn write(stream: TokenStream, tests: bool, out: &mut String, line: &mut usize) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        if !tests && tree.to_string() == "#" && trees.peek().is_some_and(|t| t.to_string() == "[cfg (test)]")
        {
            // The item ends with its block or its semicolon.
            let ends = |t: &TokenTree| match t {
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                other => other.to_string() == ";",
            };
            trees.find(ends);
            continue;
        }
        advance(&tree, out, line);
        match &tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::None => ("", ""),
                };
                out.push_str(open);
                write(group.stream(), tests, out, line);
                out.push_str(close);
            }
            TokenTree::Ident(word) => {
                out.push_str(if out.bytes().last().is_some_and(is_word) { " " } else { "" });
                out.push_str(&word.to_string());
            }
            TokenTree::Punct(mark) => out.push(mark.as_char()),
            TokenTree::Literal(_) => out.push_str("\"\""),
        }
    }
}

/// Goes to the line where `tree` begins.
fn advance(tree: &TokenTree, out: &mut String, line: &mut usize) {
    let begins = tree.span().start().line;
    out.push_str(&"\n".repeat(begins.saturating_sub(*line)));
    *line = begins.max(*line);
}

/// The lines, from 1, where `word` stands in `code` as a whole identifier or as the start of a path (`naga::`).
pub(crate) fn lines_with(code: &str, word: &str) -> Vec<usize> {
    let byte = |at: usize| code.as_bytes().get(at).copied().is_some_and(is_word);
    let open = !word.bytes().last().is_some_and(is_word);
    let whole = |at: usize| (at == 0 || !byte(at - 1)) && (open || !byte(at + word.len()));
    let hits = code.match_indices(word).filter(|(at, _)| whole(*at));
    hits.map(|(at, _)| code[..at].matches('\n').count() + 1).collect()
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_no_code() {
        let source = "/* naga::y /* deep */ */ let b = \"naga::\\\"z\"; // naga::\nr#\"naga::\"w\"#; 'n';\n\nx(c::<'n>)";
        assert_eq!(code(source, true), "let b=\"\";\n\"\";\"\";\n\nx(c::<'n>)");
    }

    #[test]
    fn test_modules_are_no_product() {
        let source = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { { } } }\nfn c() {}\n#[cfg(test)]\nmod t;\nfn d() {}";
        assert_eq!(code(source, false).replace('\n', ""), "fn a(){}fn c(){}fn d(){}");
    }

    #[test]
    fn words_are_whole() {
        let code = "use naga::Module;\nvyre_emit_naga::emit();\nwgpu::naga::x; unsafe_code";
        assert_eq!(lines_with(code, "naga::"), [1, 3]);
        assert_eq!(lines_with(code, "unsafe"), [0; 0]);
        assert_eq!(lines_with("unsafe{", "unsafe"), [1]);
    }
}
