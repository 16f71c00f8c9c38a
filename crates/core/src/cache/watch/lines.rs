//! Cuts a stream of chunks into lines without copying them twice.

use bytes::{Bytes, BytesMut};

/// The longest line that is still taken for an event. The largest object that a server stores is about 3 MiB as JSON.
const LONGEST: usize = 32 * 1024 * 1024;

/// The part of a stream that is not yet cut.
#[derive(Debug, Default)]
pub(super) struct Lines {
    rest: BytesMut,
    /// How much of `rest` is known to hold no line break.
    searched: usize,
}

/// A line grew beyond every sensible length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line of the stream is longer than {LONGEST} bytes")]
pub(super) struct TooLong;

impl Lines {
    /// Adds a chunk.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Result<(), TooLong> {
        if self.rest.len().saturating_add(chunk.len()) > LONGEST && !chunk.contains(&b'\n') {
            return Err(TooLong);
        }
        self.rest.extend_from_slice(chunk);
        Ok(())
    }

    /// The next complete line without its line break; blank lines are skipped. What stays at the end of a stream is a line
    /// that was cut off and means nothing.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        loop {
            let unsearched = self.rest.get(self.searched..)?;
            let Some(at) = unsearched.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.rest.len();
                return None;
            };
            let line = self.rest.split_to(self.searched + at + 1).freeze();
            self.searched = 0;
            let line = line.slice(..line.len() - 1);
            if !line.trim_ascii().is_empty() {
                return Some(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_they_were_chunked(lines in prop::collection::vec("[a-z]{1,9}", 0..8), size in 1_usize..7) {
            let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect::<String>() + "cut off";
            let mut cutter = Lines::default();
            let mut found = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                cutter.push(chunk).unwrap();
                while let Some(line) = cutter.next() {
                    found.push(String::from_utf8(line.to_vec()).unwrap());
                }
            }
            prop_assert_eq!(found, lines);
        }
    }

    #[test]
    fn a_line_without_an_end_is_given_up() {
        let mut cutter = Lines::default();
        let mebibyte = vec![b'x'; 1024 * 1024];
        let pushed = (0..64).take_while(|_| cutter.push(&mebibyte).is_ok()).count();
        assert_eq!(pushed, 32);
    }
}
